import { describe, expect, it } from 'vitest';
import { answerIn, lastSaid } from '../../../../src/tools/inspect/row-words.ts';

const said = (body: unknown) => lastSaid(Buffer.from(JSON.stringify(body)));

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
    expect(said({ input: 'x'.repeat(500) })).toBe(`${'x'.repeat(160)}…`);
  });

  it('are none where the user says nothing, and where the bytes are cut or no request', () => {
    for (const body of [
      { input: [] },
      { input: 3 },
      { input: [{ role: 'user', content: [{ type: 'input_image' }] }] },
      [],
    ])
      expect(said(body)).toBeNull();
    expect(lastSaid(Buffer.from('{"input":[{"role":"user","content":"cut'))).toBeNull();
    expect(lastSaid(Buffer.alloc(0))).toBeNull();
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
    expect(answerIn(Buffer.from(JSON.stringify(response)))).toEqual(words);
    const event = (type: string, response: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: 1, response })}\n\n`;
    const stream = event('response.created', { output: [] }) + event('response.completed', response);
    expect(answerIn(Buffer.from(stream))).toEqual(words);
    expect(answerIn(Buffer.from(stream.slice(0, 90)))).toEqual(nothing);
    expect(answerIn(Buffer.from('{"error":{"message":"no"}}'))).toEqual(nothing);
  });
});
