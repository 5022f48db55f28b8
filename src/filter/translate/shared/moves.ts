/** The legal moves of a state machine: phase → event → the phases it may lead to. */
export type Moves<Event extends string> = Readonly<Record<string, Readonly<Partial<Record<Event, readonly string[]>>>>>;

/** Throws if the table does not list the move, which is an internal error. */
export function checkMove(moves: Moves<string>, from: string, event: string, to: string): void {
  if (!(moves[from]?.[event]?.includes(to) ?? false)) throw new Error(`No move from ${from} to ${to} by ${event}.`);
}
