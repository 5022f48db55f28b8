import type { ServerResponse } from 'node:http';

/** Bytes on the way to one page. More is made only when it has read them. */
const maxUnreadBytes = 1024 * 1024;
/** A text of this length takes three times as many bytes at most, twice as many with the size of its chunk before it. */
const maxWriteLength = 64 * 1024;

/**
 * Writes texts from a generator, no faster than the other side reads: however long they are together, only
 * `maxUnreadBytes` wait. `done` is called with the generator's return value.
 */
export class PacedWrite<Result> {
  readonly #response: ServerResponse;
  readonly #texts: Generator<string, Result>;
  readonly #done: (result: Result) => void;

  constructor(response: ServerResponse, texts: Generator<string, Result>, done: (result: Result) => void) {
    this.#response = response;
    this.#texts = texts;
    this.#done = done;
    response.on('drain', this.#pump);
    this.#pump();
  }

  readonly #pump = (): void => {
    const response = this.#response;
    while (!response.destroyed && response.writableLength + 4 * maxWriteLength < maxUnreadBytes) {
      let text = '';
      while (text.length < maxWriteLength) {
        const next = this.#texts.next();
        if (next.done === true) {
          if (text !== '') response.write(Buffer.from(text));
          response.off('drain', this.#pump);
          this.#done(next.value);
          return;
        }
        text += next.value;
      }
      response.write(Buffer.from(text));
    }
  };
}
