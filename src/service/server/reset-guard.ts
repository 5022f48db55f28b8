import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';

/** Resets within a second up to which a connection is kept, though the process has had too many: they are another's. */
const keptUpTo = 100;
const windowMs = 1000;

/**
 * Bounds the calls that peers reset before they were answered, over all connections of this process: the result is to be called
 * with each of them. Node's limit is one connection's: four together would keep everybody else waiting for four times as long, and whoever is cut
 * off connects again. Beyond `limits`, a connection that resets more than a hundred calls a second is closed. Envoy resets
 * every call at its end, which is after an answer and not counted. `now` counts milliseconds.
 */
export function createResetGuard(limits: { readonly burst: number; readonly perSecond: number }, now: () => number) {
  let left = limits.burst;
  let filledAt = now();

  /** Takes one from what is left; false if there is none. */
  function take(): boolean {
    const at = now();
    left = Math.min(limits.burst, left + ((at - filledAt) * limits.perSecond) / 1000);
    filledAt = at;
    if (left < 1) return false;
    left -= 1;
    return true;
  }

  return (session: ServerHttp2Session): void => {
    let [resets, since] = [0, now()];
    const closed = ({ sentHeaders, rstCode }: ServerHttp2Stream) => {
      // A status without a message before it refuses the call.
      const isAnswered = sentHeaders !== undefined && sentHeaders['grpc-status'] === undefined;
      // The streams of a connection that has ended close with it.
      if (isAnswered || rstCode === constants.NGHTTP2_NO_ERROR || session.destroyed) return;
      const at = now();
      if (at - since > windowMs) [resets, since] = [0, at];
      resets += 1;
      if (!take() && resets > keptUpTo) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
    };
    session.on('stream', (stream) => stream.once('close', () => closed(stream)));
  };
}
