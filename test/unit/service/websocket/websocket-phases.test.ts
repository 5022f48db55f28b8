import fc from 'fast-check';
import { expect, test } from 'vitest';
import { connectionMoves, turnMoves } from '../../../../src/service/websocket/websocket-phases.ts';
import { describeMoves } from '../../../support/moves.ts';
import { runs } from '../../../support/property-runs.ts';
import { perform, startWebSocketSession } from '../../../support/websocket-session.ts';

describeMoves('a connection', connectionMoves, 'open', ['closed']);
describeMoves('a turn', turnMoves, 'waiting', ['ended']);

/** What can happen to a connection, in any order that sockets allow. */
const deeds = fc.array(
  fc.oneof(
    fc.constantFrom(
      'client: {"type":"response.create","model":"m","input":"Hi"}',
      'client: {"type":"response.create","model":"m","input":"Hi","stream_id":"a"}',
      'client: {"type":"response.create","model":"m","input":"Hi","stream_id":"b"}',
      'client: {"type":"response.create","model":"m","previous_response_id":"resp_1","input":"Hi"}',
      'client: {"type":"response.create","model":"m","generate":false,"input":"Hi"}',
      'client: {"type":"response.steer"}',
      'client: {"type":"response.interrupt","response_id":"resp_1","mode":"discard_partial_items"}',
      'client: {',
      'ending: time_limit',
      'ending: shutdown',
      'blocked: yes',
      'blocked: no',
      'gone:',
    ),
    fc.record({
      turn: fc.integer({ min: 1, max: 6 }),
      deed: fc.constantFrom(
        'headers N: 200 | text/event-stream',
        'headers N: 400 | application/json',
        'event N: {"type":"response.output_text.delta","delta":"x"}',
        'event N: {"type":"response.completed","response":{"id":"resp_N","output":[]}}',
        'event N: {"type":"response.failed","response":{"id":"resp_N","output":[]}}',
        'body N: {"error":{"code":"c"}}',
        'end N:',
        'broken N: ECONNRESET',
      ),
    }),
  ),
  { maxLength: 40 },
);

test('whatever happens in whatever order, each turn ends once and nothing stays behind', () => {
  fc.assert(
    fc.property(deeds, (sequence) => {
      const session = startWebSocketSession({ maxLanes: 2, maxWaiting: 2 });
      const answers = new Map<number, 'open' | 'begun' | 'over'>();
      const lines: string[] = [];
      let accepted = 0;
      let gone = false;
      const act = (line: string) => {
        perform(session, line);
        for (const seen of session.take()) {
          lines.push(seen);
          const begun = /^turn (\d+):/.exec(seen)?.[1];
          if (begun !== undefined) answers.set(Number(begun), 'open');
          const aborted = /^aborted: (\d+)/.exec(seen)?.[1];
          if (aborted !== undefined) answers.set(Number(aborted), 'over');
        }
      };
      for (const deed of sequence) {
        if (typeof deed === 'string') {
          if (gone) continue;
          if (deed.includes('response.create') || deed === 'client: {') accepted += 1;
          gone ||= deed === 'gone:';
          const closed = lines.some((line) => line.startsWith('close:'));
          if (closed && deed.startsWith('client: {') && !/steer|interrupt/.test(deed)) accepted -= 1; // nobody listens
          act(deed);
          continue;
        }
        // A request has its headers once, before its body, and ends once.
        const state = answers.get(deed.turn);
        const isHeaders = deed.deed.startsWith('headers');
        const isBroken = deed.deed.startsWith('broken');
        if (state === undefined || state === 'over' || (state === 'open') !== (isHeaders || isBroken)) {
          if (!(isBroken && state === 'begun')) continue;
        }
        answers.set(deed.turn, isBroken || deed.deed.startsWith('end') ? 'over' : 'begun');
        act(deed.deed.replaceAll('N', `${deed.turn}`));
      }
      if (!gone) act('gone:');
      expect(lines.filter((line) => line.startsWith('ended:'))).toHaveLength(accepted);
      expect(session.held()).toBe(0);
      expect([...answers.values()].filter((state) => state !== 'over')).toEqual([]);
      expect(lines.filter((line) => line.startsWith('close:')).length).toBeLessThan(2);
    }),
    { numRuns: runs(2000) },
  );
});
