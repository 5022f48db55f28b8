import { describe, expect, it } from 'vitest';
import { createTestContext } from '../../support/context.ts';
import { faultsOfStream } from '../../support/invariants.ts';
import { runStream } from '../../support/run-stream.ts';

/** Reasoning, text with a citation, a call and a custom call, cut by the token limit. */
const upstream = [
  { choices: [{ index: 0, delta: { reasoning_content: 'hm' } }] },
  { choices: [{ index: 0, delta: { content: 'Hi' } }] },
  {
    choices: [{ index: 0, delta: { content: ' you', annotations: [{ type: 'url_citation', url: 'https://a.test' }] } }],
  },
  { choices: [{ index: 0, delta: { refusal: 'No' } }] },
  {
    choices: [
      { index: 0, delta: { tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{"a":1}' } }] } },
    ],
  },
  { choices: [{ index: 0, delta: { tool_calls: [{ index: 1, id: 'b', custom: { name: 'p', input: 'x' } }] } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'length' }], usage: { prompt_tokens: 3, completion_tokens: 2 } },
];

const good = runStream(
  upstream.map((chunk) => Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`)),
  createTestContext(),
).bytes.toString('utf8');

const blocks = good.split('\n\n');
const at = (type: string) => blocks.findIndex((block) => block.startsWith(`event: ${type}\n`));
const joined = (changed: readonly string[]) => changed.join('\n\n');

/** The stream with the first event of a type changed; `sequence_number`s stay as they were. */
function changed(type: string, change: (event: Record<string, unknown>) => void): string {
  const index = at(type);
  const event = JSON.parse(blocks[index]?.split('\ndata: ')[1] ?? '');
  change(event);
  return joined(blocks.with(index, `event: ${type}\ndata: ${JSON.stringify(event)}`));
}

/** The stream without the first event of a type, and counted anew. */
const without = (type: string) => counted(joined(blocks.toSpliced(at(type), 1)));

function counted(stream: string): string {
  let next = 0;
  return stream.replace(/"sequence_number":\d+\}/g, () => `"sequence_number":${next++}}`);
}

it('a good stream has no faults', () => {
  expect(faultsOfStream(good)).toEqual([]);
});

describe('the rule checker finds', () => {
  it.each<[string, string, RegExp]>([
    ['no [DONE]', good.replace('data: [DONE]\n\n', ''), /does not end with \[DONE\]/],
    ['something after [DONE]', `${good}data: [DONE]\n\n`, /not the last block/],
    ['CR LF', good.replace('\ndata', '\r\ndata'), /a block is not/],
    ['an id line', good.replace('data: {', 'id: 1\ndata: {'), /a block is not/],
    ['another type in event:', good.replace('event: response.created', 'event: message'), /carries a/],
    ['a gap in the numbers', good.replace('"sequence_number":5}', '"sequence_number":55}'), /has sequence_number 55/],
    ['no created', without('response.created'), /first event is not/],
    ['no in_progress', without('response.in_progress'), /second event is not/],
    ['no terminal event', without('response.incomplete'), /no terminal event/],
    ['no item.added', without('response.output_item.added'), /is added at/],
    ['no item.done', without('response.output_item.done'), /is never done/],
    ['no part.added', without('response.content_part.added'), /no such part is open/],
    ['no part.done', without('response.content_part.done'), /done before its part|another part is open/],
    ['no text.done', without('response.output_text.done'), /before the done of its text/],
    ['no summary done', without('response.reasoning_summary_text.done'), /before the done of its text/],
    ['no arguments.done', without('response.function_call_arguments.done'), /before its arguments/],
    ['a lost delta', without('response.output_text.delta'), /differs from its deltas/],
    ['a lost arguments delta', without('response.function_call_arguments.delta'), /differs from its deltas/],
    ['a lost input delta', without('response.custom_tool_call_input.delta'), /what is done differs from what was said/],
    ['a lost annotation', without('response.output_text.annotation.added'), /annotations differ/],
    [
      'an event no one knows',
      changed('response.output_text.delta', (event) => Object.assign(event, { type: 'response.x' })),
      /not an event of the API/,
    ],
    [
      'a missing field',
      changed('response.output_text.delta', (event) => delete event['logprobs']),
      /logprobs is missing/,
    ],
    [
      'a field too many',
      changed('response.output_text.delta', (event) => Object.assign(event, { x: 1 })),
      /x does not belong/,
    ],
    [
      'another item_id',
      changed('response.output_text.delta', (event) => Object.assign(event, { item_id: 'msg_9' })),
      /has item_id msg_9/,
    ],
    [
      'another output_index',
      changed('response.output_text.delta', (event) => Object.assign(event, { output_index: 9 })),
      /where no item is/,
    ],
    [
      'another content_index',
      changed('response.output_text.delta', (event) => Object.assign(event, { content_index: 1 })),
      /no such part is open/,
    ],
    [
      'another text',
      changed('response.output_text.done', (event) => Object.assign(event, { text: 'x' })),
      /differs from its deltas/,
    ],
    ['an id used twice', good.replaceAll('msg_1', 'rs_1'), /used twice/],
    ['an empty call_id', good.replaceAll('"call_id":"a"', '"call_id":""'), /empty or used twice/],
    [
      'a start that is not empty',
      changed('response.output_item.added', (event) =>
        Object.assign(event['item'] as object, { summary: [{ type: 'summary_text', text: 'x' }] }),
      ),
      /added with summary/,
    ],
    [
      'a finished status at the start',
      changed('response.output_item.added', (event) => Object.assign(event['item'] as object, { status: 'completed' })),
      /added with status/,
    ],
    [
      'another terminal status',
      changed('response.incomplete', (event) => Object.assign(event['response'] as object, { status: 'completed' })),
      /status is completed/,
    ],
    [
      'completed_at of what is not complete',
      changed('response.incomplete', (event) => Object.assign(event['response'] as object, { completed_at: 5 })),
      /completed_at does not fit/,
    ],
    [
      'no incomplete_details',
      changed('response.incomplete', (event) =>
        Object.assign(event['response'] as object, { incomplete_details: null }),
      ),
      /incomplete_details does not fit/,
    ],
    [
      'a missing field of the response',
      changed('response.created', (event) => delete (event['response'] as Record<string, unknown>)['truncation']),
      /truncation is missing/,
    ],
    [
      'another id of the response',
      changed('response.incomplete', (event) => Object.assign(event['response'] as object, { id: 'resp_9' })),
      /id changes/,
    ],
    [
      'an output that lacks an item',
      changed('response.incomplete', (event) => (event['response'] as { output: unknown[] }).output.pop()),
      /items, the stream/,
    ],
    [
      'an output in another order',
      changed('response.incomplete', (event) => (event['response'] as { output: unknown[] }).output.reverse()),
      /differs in the response/,
    ],
    [
      'usage that does not count',
      changed('response.incomplete', (event) =>
        Object.assign((event['response'] as { usage: object }).usage, { input_tokens: -1 }),
      ),
      /usage: -1/,
    ],
    [
      'an incomplete item that is not the last',
      good.replaceAll('"status":"completed","role"', '"status":"incomplete","role"'),
      /is incomplete, not completed/,
    ],
  ])('%s', (_, stream, fault) => {
    expect(faultsOfStream(stream).join('\n')).toMatch(fault);
  });
});

describe('what an upstream has of its own', () => {
  const event = 'event: acme:trace\ndata: {"type":"acme:trace","output_index":9,"sequence_number":0}';
  const withEvent = (place: number) => counted(joined(blocks.toSpliced(place, 0, event)));
  const withField = (type: string) => changed(type, (own) => Object.assign(own['response'] as object, { acme: 1 }));

  it('is a fault where it is not passed', () => {
    expect(faultsOfStream(withEvent(4)).join('\n')).toMatch(/acme:trace is not an event of the API/);
    expect(faultsOfStream(withField('response.incomplete')).join('\n')).toMatch(/acme does not belong there/);
  });

  it('is none where it is passed, between the first and the last event, and on the last Response', () => {
    const faults = (stream: string) => faultsOfStream(stream, { extensions: true }).join('\n');
    expect(faults(withEvent(4))).toBe('');
    expect(faults(withField('response.incomplete'))).toBe('');
    expect(faults(withEvent(0))).toMatch(/first event is not/);
    expect(faults(withEvent(at('response.incomplete') + 1))).toMatch(/is not the last event/);
    expect(faults(withField('response.created'))).toMatch(/acme does not belong there/);
  });
});
