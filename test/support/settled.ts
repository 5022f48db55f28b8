/** Turns in a row without a change, after which nothing moves any more. */
const quietTurns = 30;

/** A turn of this process: what has arrived was read, and what that led to has begun. */
export const ownTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * A figure once it has stopped changing: it stays the same while everybody who could change it has had their turns, which a
 * busy machine makes slower but not fewer.
 *
 * @param turn gives each process that could change it a turn, such as an answer of its admin port.
 */
export async function settled(
  read: () => number | Promise<number>,
  turn: () => Promise<unknown> = ownTurn,
): Promise<number> {
  let before = Number.NaN;
  for (let same = 0; same < quietTurns; ) {
    await turn();
    const now = await read();
    same = now === before ? same + 1 : 0;
    before = now;
  }
  return before;
}
