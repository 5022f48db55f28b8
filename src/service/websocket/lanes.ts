import type { Conversation, Conversations } from './conversations.ts';
import type { TurnError } from './errors.ts';
import type { Turn } from './turn.ts';

export interface Lane {
  readonly streamId: string | null;
  running: Turn | null;
  /** Turns, and the errors of messages that were refused meanwhile: each is answered in its place. */
  readonly waiting: (Turn | TurnError)[];
  /** The connection's last response that can be continued. */
  last: Conversation | null;
}

/** The lanes of a connection, by `stream_id`, in the order of their last turns; null is the lane without one. */
export class Lanes {
  readonly #lanes = new Map<string | null, Lane>();
  readonly #maxLanes: number;
  readonly #conversations: Conversations;

  constructor(maxLanes: number, conversations: Conversations) {
    this.#maxLanes = maxLanes;
    this.#conversations = conversations;
  }

  get(streamId: string | null): Lane | undefined {
    return this.#lanes.get(streamId);
  }

  all(): Lane[] {
    return [...this.#lanes.values()];
  }

  /** Whether a turn may enter that lane: a new one needs room, or an idle lane to replace. */
  hasRoomFor(streamId: string | null): boolean {
    return this.#lanes.has(streamId) || this.#lanes.size < this.#maxLanes || this.#idle() !== undefined;
  }

  /** Returns the lane, which is the last in order from now on; a new one may replace another, and its conversation. */
  enter(streamId: string | null): Lane {
    const lane: Lane = this.#lanes.get(streamId) ?? { streamId, running: null, waiting: [], last: null };
    this.#lanes.delete(streamId);
    const replaced = this.#lanes.size < this.#maxLanes ? undefined : this.#idle();
    if (replaced !== undefined) {
      this.setLast(replaced, null);
      this.#lanes.delete(replaced.streamId);
    }
    this.#lanes.set(streamId, lane);
    return lane;
  }

  /** The conversation that a response ended, if it is the last of its lane and still kept. */
  find(responseId: string): Conversation | null {
    const last = this.all().find((lane) => lane.last?.responseId === responseId)?.last;
    return last?.items == null ? null : last;
  }

  setLast(lane: Lane, conversation: Conversation | null): void {
    if (lane.last !== null) this.#conversations.forget(lane.last);
    lane.last = conversation;
    if (conversation !== null) this.#conversations.keep(conversation);
  }

  /** The least recently used lane without a turn. */
  #idle(): Lane | undefined {
    return this.all().find(({ running }) => running === null);
  }
}
