import { describe, expect, it } from 'vitest';
import { createExchangeStore } from '../../../../src/tools/inspect/exchange-store.ts';
import { noteWords, readAnswered, readAsked } from '../../../../src/tools/inspect/row-words.ts';
import { addBytes, recordedFacts, requestHead } from '../../../support/recorded-exchange.ts';

const asked = (body: unknown) => readAsked(Buffer.from(JSON.stringify(body)));
const said = (body: unknown) => asked(body).said;

describe('the words of a row', () => {
  it('are the last text of the user, on one line', () => {
    expect(said({ model: 'm', input: ' What is\n the weather? ' })).toBe('What is the weather?');
    const history = [
      { role: 'user', content: 'First.' },
      { role: 'assistant', content: 'Yes.' },
      {
        role: 'user',
        content: [
          { type: 'input_image', image_url: 'data:x' },
          { type: 'input_text', text: 'Löse „it“.' },
        ],
      },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'done' },
      { role: 'developer', content: 'Be brief.' },
    ];
    expect(said({ input: history })).toBe('Löse „it“.');
    expect(said({ input: 'x'.repeat(500) })).toBe(`${'x'.repeat(240)}…`);
  });

  it.each(['é', '𝄞', '"', '\\', '\u0001', 'a'])('are the beginning of a long text: %j', (character) => {
    for (const before of ['', 'a', 'ab', 'abc', 'abcd', 'abcde'])
      for (const content of [
        before + character.repeat(1e4),
        [{ type: 'input_text', text: before + character.repeat(1e4) }],
      ])
        expect(said({ input: [{ role: 'user', content }] })).toBe(
          `${[...(before + character.repeat(240))].slice(0, 240).join('')}…`,
        );
  });

  it('say what the request ends with, where that is not the user’s text', () => {
    const call = (call_id: string) => ({ type: 'function_call', call_id, name: 'f', arguments: '{}' });
    const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'done' });
    const turn = [call('a'), call('b'), output('a'), { ...output('b'), type: 'custom_tool_call_output' }];
    const user = { role: 'user', content: 'Do it.' };
    expect(asked({ input: [user, ...turn] })).toEqual({ said: 'Do it.', given: '2 tool results' });
    expect(asked({ input: [output('a')] })).toEqual({ said: null, given: '1 tool result' });
    expect(asked({ input: [...turn, user] })).toEqual({ said: 'Do it.', given: null });
    const image = { type: 'input_image', image_url: 'data:x' };
    const images = {
      role: 'user',
      content: [image, image, { type: 'input_file', file_id: 'f' }, { type: 'other' }, 3],
    };
    expect(asked({ input: [images] })).toEqual({ said: null, given: '2 images, 1 file' });
    expect(asked({ input: [user, ...turn, images] })).toEqual({ said: 'Do it.', given: '2 images, 1 file' });
  });

  it('are noted once the request is recorded, not when the head of what is sent is', () => {
    const exchange = createExchangeStore().open(1);
    exchange.setHead('client_request', requestHead);
    exchange.setHead('chat_request', requestHead);
    noteWords(exchange);
    expect(exchange.said).toBeUndefined();
    addBytes(exchange, 'client_request', 1, '{"input":"Hello"}');
    exchange.setFacts(recordedFacts);
    noteWords(exchange);
    expect(exchange.said).toBe('Hello');
  });

  it('have a bounded length: names of tools, too', () => {
    const call = { type: 'function_call', name: 'x'.repeat(1e5), arguments: '{}' };
    const other = { type: `${'y'.repeat(1e5)}_call` };
    const output = [call, other, ...Array.from({ length: 20 }, (_, index) => ({ ...call, name: `f${index}` }))];
    const { called = [] } = readAnswered(Buffer.from(JSON.stringify({ output })));
    expect(called).toHaveLength(8);
    expect(Math.max(...called.map(({ length }) => length))).toBe(241);
  });

  it('are none where the user says nothing, and where the bytes are cut or no request', () => {
    for (const body of [
      { input: [] },
      { input: 3 },
      { input: [{ role: 'user', content: [{ type: 'input_image' }] }] },
      [],
    ])
      expect(said(body)).toBeNull();
    expect(readAsked(Buffer.from('{"input":[{"role":"user","content":"cut')).said).toBeNull();
    expect(readAsked(Buffer.alloc(0))).toEqual({ said: null, given: null });
  });

  it('are the text and the tools of a Response, or of the last event of a stream', () => {
    const call = (name: string) => ({ type: 'function_call', name, arguments: '{}' });
    const said = { type: 'message', content: [{ type: 'output_text', text: 'It\nis done.' }] };
    const words = { answered: 'It is done.', called: ['ls', 'cat', 'web_search'] };
    const nothing = { answered: null, called: [] };
    const output = [
      call('ls'),
      { type: 'message', content: [] },
      said,
      call('ls'),
      call('cat'),
      { type: 'web_search_call' },
    ];
    const response = { id: 'r', object: 'response', output };
    expect(readAnswered(Buffer.from(JSON.stringify(response)))).toEqual(words);
    const event = (type: string, response: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 1, response })}\n\n`;
    const stream = event('response.created', { output: [] }) + event('response.completed', response);
    expect(readAnswered(Buffer.from(stream))).toEqual(words);
    expect(readAnswered(Buffer.from(stream.slice(0, 90)))).toEqual(nothing);
    expect(readAnswered(Buffer.from('{"error":{"message":"no"}}'))).toEqual(nothing);
  });
});

it('a message without content has no words, and no media', () => {
  expect(asked({ input: [{ type: 'message', role: 'user' }] })).toMatchObject({ said: null, given: null });
});
