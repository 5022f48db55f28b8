import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FlowEvent, type FlowPhase, flowMoves, isBlocked } from '../../../../src/service/memory/flow-phases.ts';
import { describeMoves } from '../../../support/moves.ts';
import { runs } from '../../../support/property-runs.ts';

describeMoves('the flow of a peer', flowMoves, 'open', ['over']);

const events = fc.array(fc.constantFrom<FlowEvent>('fill', 'drain', 'pause', 'resume'), { maxLength: 12 });

test('a peer is read only when neither side waits, whichever began first', () => {
  fc.assert(
    fc.property(events, (sequence) => {
      let phase: FlowPhase = 'open';
      for (const event of sequence) {
        expect(flowMoves[phase][event]).toHaveLength(1);
        [phase] = flowMoves[phase][event];
      }
      const last = (...of: readonly FlowEvent[]) => sequence.findLast((event) => of.includes(event));
      const [isFull, isPaused] = [last('fill', 'drain') === 'fill', last('pause', 'resume') === 'pause'];
      expect([isBlocked(phase), phase === 'open']).toEqual([isFull, !isFull && !isPaused]);
      expect(flowMoves[phase].end).toEqual(['over']);
    }),
    { numRuns: runs(1000) },
  );
});
