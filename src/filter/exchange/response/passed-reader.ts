import { GrowingBytes } from '../../../formats/bytes/growing-bytes.ts';
import { jsonOf } from '../../../formats/json/loose.ts';
import { scanJson } from '../../../formats/json/scan.ts';
import { AnswerState, type BodyDecision, nothing, type UpstreamBodyReader } from './upstream-body-reader.ts';

/** Returns what `complete` makes of the answer to a passed operation; the answer's own bytes if that is null, or the answer exceeds a limit. */
export function createPassedReader(complete: (answer: unknown) => object | null, maxBytes: number): UpstreamBodyReader {
  const body = new GrowingBytes();
  const state = new AnswerState();

  function take(decision: BodyDecision): Buffer {
    const bytes = body.whole();
    body.clear();
    state.bufferedBytes = 0;
    state.decision = decision;
    return bytes;
  }

  return {
    push(bytes) {
      body.append(bytes);
      state.bufferedBytes = body.length;
      return body.length > maxBytes ? take('untouched') : nothing;
    },
    start: () => nothing,
    end(error) {
      state.isComplete = true;
      if (error !== undefined) take(error);
      if (state.decision !== null) return nothing;
      const bytes = take('untouched');
      const text = bytes.toString('utf8');
      const { tooDeepAt, values } = scanJson(text, { maxNesting, maxValues });
      const completed = tooDeepAt === null && values <= maxValues ? complete(jsonOf(text)) : null;
      if (completed === null) return bytes;
      state.decision = 'translated';
      return Buffer.from(JSON.stringify(completed));
    },
    state,
  };
}

/** Lists of models have four levels. Writing JSON takes stack for each level; reading it does not. */
const maxNesting = 128;
/** A gateway's list of models has some 30,000. */
const maxValues = 100_000;
