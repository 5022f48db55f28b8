import { describe, expect, it } from 'vitest';
import {
  type ChatCompletionRequest,
  type ChatContentPart,
  type ChatMessage,
  type ChatTool,
  type ChatToolCall,
  chatRequestBody,
} from '../../../../../src/filter/wire/schema/chat-request.ts';

const request: ChatCompletionRequest = { model: 'm', messages: [{ role: 'user', content: 'x' }] };

describe('a field that is never sent does not compile', () => {
  // `tsc` reports an unused `@ts-expect-error`: each line below is the test, and the assertion only uses the values.
  it('in the request, its messages, parts, tools and calls', () => {
    // @ts-expect-error
    const misspelt: ChatCompletionRequest = { ...request, service_teir: 'auto' };
    // @ts-expect-error
    const unlisted: ChatCompletionRequest['seed'] = 1;
    // @ts-expect-error
    const message: ChatMessage = { role: 'user', contents: 'x' };
    // @ts-expect-error
    const part: ChatContentPart = { type: 'image_url', image_url: { url: 'x', size: 1 } };
    // @ts-expect-error
    const unknownPart: ChatContentPart = { type: 'smell', smell: 'x' };
    // @ts-expect-error
    const tool: ChatTool = { type: 'function', function: { name: 'f', parameters: {}, params: {} } };
    // @ts-expect-error
    const call: ChatToolCall = { id: 'call_1', type: 'custom', function: { name: 'f', arguments: '{}' } };
    expect([misspelt, unlisted, message, part, unknownPart, tool, call]).toHaveLength(7);
  });
});

describe('the fields a client passes on', () => {
  it('are written after the others, with exact numbers as they came', () => {
    const seed = (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON('12345678901234567890');
    const json = JSON.stringify(chatRequestBody(request, new Map([['seed', seed]])));
    expect(json).toBe('{"model":"m","messages":[{"role":"user","content":"x"}],"seed":12345678901234567890}');
  });

  it('win over the same field written here', () => {
    const passthrough = new Map([['thinking', { type: 'disabled' }]]);
    const chat: ChatCompletionRequest = { ...request, thinking: { type: 'enabled' } };
    expect(JSON.parse(JSON.stringify(chatRequestBody(chat, passthrough))).thinking).toEqual({ type: 'disabled' });
  });

  it('cannot change the prototype of what is written', () => {
    const json = JSON.stringify(chatRequestBody(request, new Map([['__proto__', { stream: true }]])));
    expect(json).toContain('"__proto__":{"stream":true}');
    expect(JSON.parse(json).stream).toBeUndefined();
  });
});
