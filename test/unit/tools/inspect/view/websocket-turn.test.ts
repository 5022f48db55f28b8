import { expect, it } from 'vitest';
import { readWebSocketTurn } from '../../../../../src/tools/inspect/view/group-round-trips.ts';

it.each([
  ['3431e97d-c889-4cc8-bf4b-15a44e14d68b-turn-12', { connection: '3431e97d-c889-4cc8-bf4b-15a44e14d68b', number: 12 }],
  ['a-turn-1-turn-2', { connection: 'a-turn-1', number: 2 }],
  ['3431e97d-c889-4cc8-bf4b-15a44e14d68b', null],
  ['-turn-1', null],
  ['turn-1', null],
  [null, null],
])('%s is %j', (requestId, turn) => {
  expect(readWebSocketTurn(requestId)).toEqual(turn);
});
