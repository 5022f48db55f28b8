import { expect, test } from 'vitest';
import { Call } from '../../../../../../src/filter/translate/chat-to-response/write/call.ts';
import { type OpenCall, toolCallMoves } from '../../../../../../src/filter/translate/chat-to-response/write/output.ts';
import { HeldBytes } from '../../../../../../src/filter/translate/shared/held-bytes.ts';
import { describeMoves } from '../../../../../support/moves.ts';

describeMoves('a tool call', toolCallMoves, 'gathering', ['repeated', 'ended']);

function openedCall(): { readonly call: Call; readonly sent: string[] } {
  const call = new Call(0, false, null, new HeldBytes());
  const sent: string[] = [];
  call.open({ add: (text: string) => sent.push(text) } as Partial<OpenCall> as OpenCall);
  return { call, sent };
}

test('a call is opened once, and one that repeats another never', () => {
  const { call } = openedCall();
  expect(() => call.markRepeated()).toThrow('No move from open to repeated');
  const repeated = new Call(0, false, null, new HeldBytes());
  repeated.markRepeated();
  expect(() => repeated.open({} as OpenCall)).toThrow('No move from repeated to open');
});

test('what comes after the end of a call is dropped, and it is closed once', () => {
  const { call, sent } = openedCall();
  call.grow('{"a":');
  expect(call.send()).toBe(true);
  call.close();
  call.close();
  call.grow('1}');
  expect(call.send()).toBe(false);
  expect(sent).toEqual(['{"a":']);
  expect(call.text.toString()).toBe('{"a":');
  expect(call.phase).toBe('ended');
});
