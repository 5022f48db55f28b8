import type { Conversation, Conversations } from './conversations.ts';
import type { TurnError } from './errors.ts';
import type { Turn } from './turn.ts';

export interface Lane {
  readonly streamId: string | null;
  running: Turn | null;
  /** Turns, and errors of messages that were refused meanwhile, which the client gets in this order. */
  readonly waiting: (Turn | TurnError)[];
  /** The conversation that the lane's next turn may continue. */
  last: Conversation | null;
}

/** The lanes of a connection by `stream_id`, or null without one. They are in the order of their last turns. */
export class Lanes extends Map<string | null, Lane> {
  readonly #maxLanes: number;
  readonly #conversations: Conversations;

  constructor(maxLanes: number, conversations: Conversations) {
    super();
    this.#maxLanes = maxLanes;
    this.#conversations = conversations;
  }

  all(): Lane[] {
    return [...this.values()];
  }

  /** Whether a turn may enter the lane. A new lane needs room, or an idle lane to replace. */
  hasRoomFor(streamId: string | null): boolean {
    return this.has(streamId) || this.size < this.#maxLanes || this.#findIdle() !== undefined;
  }

  /** Returns the lane, now the last in order. A new lane may replace an idle one, whose conversation is forgotten. */
  enter(streamId: string | null): Lane {
    const lane: Lane = this.get(streamId) ?? { streamId, running: null, waiting: [], last: null };
    this.delete(streamId);
    const replaced = this.size < this.#maxLanes ? undefined : this.#findIdle();
    if (replaced !== undefined) {
      this.setLast(replaced, null);
      this.delete(replaced.streamId);
    }
    this.set(streamId, lane);
    return lane;
  }

  /** Finds the conversation after a response. Only the last response of each lane has one, until it is evicted. */
  find(responseId: string): Conversation | null {
    const last = this.all().find((lane) => lane.last?.responseId === responseId)?.last;
    return last?.items == null ? null : last;
  }

  setLast(lane: Lane, conversation: Conversation | null): void {
    if (lane.last !== null) this.#conversations.forget(lane.last);
    lane.last = conversation;
    if (conversation !== null) this.#conversations.keep(conversation);
  }

  /** Finds the least recently used lane that has no turn. */
  #findIdle(): Lane | undefined {
    return this.all().find(({ running }) => running === null);
  }
}
