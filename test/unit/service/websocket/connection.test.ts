import { describe, expect, it } from 'vitest';
import { readOrRefuse } from '../../../../src/service/websocket/errors.ts';
import { RunningResponse } from '../../../../src/service/websocket/running-response.ts';
import { readStreamEvent } from '../../../../src/service/websocket/stream-event.ts';
import type { Turn } from '../../../../src/service/websocket/turn.ts';
import { findMediaBytes } from '../../../../src/service/websocket/turn-request.ts';
import { perform, startWebSocketSession } from '../../../support/websocket-session.ts';

const create = '{"type":"response.create","model":"m","input":"Hi"}';
/** What a message is answered with: the code of its refusal, the event's type, or the turn that it is. */
function answerTo(message: string): string {
  const session = startWebSocketSession({ maxValues: 10 });
  perform(session, `client: ${message}`);
  const [first = ''] = session.take();
  return /^refused: (\w+)|^server: \{"type":"([\w.]+)"|^(turn)/.exec(first)?.slice(1).find(Boolean) ?? first;
}

describe('a message', () => {
  const steerOf = (bytes: number) => {
    const [head, end] = ['{"type":"response.steer","input":"', '"}'];
    return head + 'x'.repeat(bytes - head.length - end.length) + end;
  };
  const laneOf = (length: number) => `{"type":"response.create","input":"Hi","stream_id":"${'x'.repeat(length)}"}`;
  const idOf = (bytes: number) =>
    `{"type":"response.create","input":"Hi","previous_response_id":"${'x'.repeat(bytes - 2)}"}`;

  it.each([
    ['that steers, of 1 MiB', steerOf(1024 * 1024), 'response.steer.failed'],
    ['that steers, of a byte more', steerOf(1024 * 1024 + 1), 'request_too_large'],
    ['of a lane whose id has 256 characters', laneOf(256), 'turn'],
    ['of a lane whose id has one more', laneOf(257), 'invalid_type'],
    ['with an id of 4096 bytes', idOf(4096), 'previous_response_not_found'],
    ['with an id of a byte more', idOf(4097), 'request_too_large'],
  ])('%s is answered with %3$s', (_, message, answer) => {
    expect(answerTo(message)).toBe(answer);
  });

  it('is found by its turn’s number until that has ended', () => {
    const session = startWebSocketSession();
    const second = create.replace('Hi', 'Ho');
    for (const message of [create, second, '{']) perform(session, `client: ${message}`);
    const messages = () => [1, 2, 3].map((number) => session.connection.findMessage(number)?.toString() ?? null);
    expect(messages()).toEqual([create, second, null]);
    perform(session, 'headers: 200 | text/event-stream');
    perform(session, 'event: {"type":"response.completed","response":{"id":"resp_1","output":[]}}');
    expect(messages()).toEqual([null, second, null]);
  });

  it('whose reading fails otherwise than by its bytes is a defect', () => {
    const defect = new TypeError('a defect');
    const read = () => {
      throw defect;
    };
    expect(() => readOrRefuse(read)).toThrow(defect);
  });
});

describe('JSON that is nested deeper than can be written', () => {
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;

  it.each([
    ['in a message that steers', `{"type":"response.steer","input":${deep}}`, 'request_too_large'],
    ['in a name that is repeated', `{"a":${deep},"a":1,"type":"response.create"}`, 'request_too_large'],
    ['in the input of a turn', `{"type":"response.create","input":${deep}}`, 'turn'],
  ])('%s is a refusal at most', (_, message, answer) => {
    const session = startWebSocketSession({ maxValues: 100_000 });
    perform(session, `client: ${message}`);
    expect(session.take()[0]).toMatch(new RegExp(`^(refused: )?${answer}`));
  });

  it.each([
    ['response.completed', `{"type":"response.completed","response":{"id":"resp_1","output":[${deep}]}}`],
    ['response.output_item.done', `{"type":"response.output_item.done","output_index":0,"item":{"a":${deep}}}`],
    ['error', `{"type":"error","a":${deep}}`],
  ])('in the event %s is no event, of a lane or a continuation neither', (_, event) => {
    const session = startWebSocketSession({ maxValues: 100_000, maxEventBytes: 100_000 });
    perform(session, `client: ${create}`);
    perform(session, 'headers: 200 | text/event-stream');
    perform(session, 'event: {"type":"response.completed","response":{"id":"resp_0","output":[]}}');
    perform(session, `client: ${create.replace('"model"', '"previous_response_id":"resp_0","stream_id":"a","model"')}`);
    perform(session, 'headers 2: 200 | text/event-stream');
    session.take();
    perform(session, `body 2: data: ${event}\n\n`);
    expect(session.take().map((line) => /"code":"(\w+)"/.exec(line)?.[1] ?? line)).toEqual([
      'aborted: 2',
      'invalid_upstream_response',
      'ended: error',
    ]);
  });

  it('in the answer with an error leaves its status', () => {
    const session = startWebSocketSession({ maxValues: 100_000, maxErrorBytes: 100_000 });
    perform(session, `client: ${create}`);
    perform(session, 'headers: 400 | application/json');
    perform(session, `body: {"error":{"a":${deep}}}`);
    perform(session, 'end:');
    expect(session.take().join()).toContain('http_400');
  });
});

describe('errors that wait for their place', () => {
  it('are counted while they wait', () => {
    const session = startWebSocketSession();
    perform(session, `client: ${create}`);
    const before = session.held();
    for (const message of ['{', '{']) perform(session, `client: ${message}`);
    expect(session.held()).toBe(before + 1024);
    perform(session, 'broken: ECONNRESET');
    expect(session.held()).toBe(0);
  });

  it('are never more than the messages that a client may have refused in a row, while other lanes are answered', () => {
    const session = startWebSocketSession({ maxUnasked: 8 });
    perform(session, `client: ${create}`);
    const isOpen = () => session.connection.findMessage(1) !== null;
    let refused = 0;
    for (let asked = 2; isOpen() && asked < 100; asked += 1) {
      perform(session, 'client: {}');
      refused += 1;
      perform(session, `client: ${create.replace('"model"', '"stream_id":"b","model"')}`);
      if (isOpen()) perform(session, `broken ${asked}: ECONNRESET`);
    }
    expect(refused).toBe(8);
    expect(session.held()).toBe(0);
  });
});

describe('a turn', () => {
  it('holds its message, its connection to the proxy, and what is kept of the answer, until it ends', () => {
    const session = startWebSocketSession();
    const holds = (line: string) => {
      perform(session, line);
      return [session.held(), session.untaken()];
    };
    const error = '{"type":"error","error":{}}';
    const asked = create.length + 40 * 1024;
    expect(holds(`client: ${create}`)).toEqual([asked, create.length]);
    expect(holds('headers: 200 | text/event-stream')).toEqual([asked, 0]);
    expect(holds('event: {"type":"response.output_text.delta","delta":"x"}')).toEqual([asked, 0]);
    expect(holds(`event: ${error}`)).toEqual([asked + error.length, 0]);
    expect(holds('end:')).toEqual([0, 0]);
  });

  it('keeps the event that begins its response, and its items', () => {
    const response = new RunningResponse();
    const kept = [
      '{"type":"response.created","response":{"id":"resp_1"}}',
      '{"type":"response.in_progress","response":{"id":"resp_1"}}',
      '{"type":"response.output_item.added","output_index":0,"item":{}}',
      '{"type":"response.output_text.delta","delta":"x"}',
      '{"type":"response.output_text.done","text":"x"}',
    ].map((data) => {
      const event = readStreamEvent(data, 100);
      return event === null ? null : [event.kind, Math.floor(response.push(event, data) / data.length)];
    });
    expect(kept).toEqual([
      ['response', 1],
      ['response', 0],
      ['item', 1],
      ['other', 0],
      ['other', 0],
    ]);
  });

  it.each<[string, readonly string[]]>([
    ['a second head', ['headers: 200 | text/event-stream', 'headers: 200 | text/event-stream']],
    ['a body without a head', ['body: x']],
    ['an end without a head', ['end:']],
  ])('whose answer has %s meets a defect', (_, lines) => {
    const session = startWebSocketSession();
    perform(session, `client: ${create}`);
    expect(() => lines.map((line) => perform(session, line))).toThrow(/requesting|streaming/);
  });

  it('begins once', () => {
    const session = startWebSocketSession();
    perform(session, `client: ${create}`);
    expect(() => (session.answer(1) as Turn).start()).toThrow(/start/);
  });
});

it('of a list that is not closed, one picture is found', () => {
  const unclosed = Buffer.from(`{"image_url":`.repeat(20_000) + '}'.repeat(20_000));
  expect(findMediaBytes(unclosed)).toHaveLength(1);
});

it('of the items of a conversation each picture, file and recording counts with its bytes, and text does not', () => {
  const parts = [
    { type: 'input_text', text: 'Hi' },
    { type: 'input_image', image_url: 'abc' },
    { type: 'input_file', filename: 'f', file_data: 'abcd' },
    { type: 'input_file', file_url: 'abcde' },
    { type: 'input_file', file_id: 'abcdef' },
    { type: 'input_audio', input_audio: { data: 'a' } },
    'a text',
  ];
  const items = [{ role: 'user', content: parts }, { type: 'function_call_output', output: parts.slice(1, 2) }, 7];
  const bytes = Buffer.from(JSON.stringify(items).slice(1, -1));
  expect(findMediaBytes(bytes)).toEqual([5, 5, 6, 7, 8, 12]);
});
