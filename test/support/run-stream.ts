import { ApiError } from '../../src/schema/api-error.ts';
import { readSseData } from '../../src/sse/data.ts';
import { SseDecoder, SseLimitError, type SseMessage } from '../../src/sse/decode.ts';
import { DONE, encodeSseEvents, KEEPALIVE } from '../../src/sse/encode.ts';
import type { ResponseContext } from '../../src/translate/context.ts';
import { StreamTranslator } from '../../src/translate/stream.ts';

const MiB = 1024 * 1024;

/** An upstream's body, in the pieces it arrives in, as the client gets it. One buffer per piece that says something. */
export function runStream(
  pieces: Iterable<Uint8Array>,
  context: ResponseContext,
  { maxEventBytes = 8 * MiB }: { maxEventBytes?: number } = {},
): Buffer[] {
  const decoder = new SseDecoder({ maxEventBytes });
  const translator = new StreamTranslator(context);
  const writes: Buffer[] = [encodeSseEvents(translator.start())];

  function read(messages: readonly SseMessage[]): void {
    const out: Buffer[] = [];
    for (const message of messages) {
      if (translator.ended()) break;
      out.push(message.type === 'comment' ? KEEPALIVE : translate(message));
      if (translator.ended()) out.push(DONE);
    }
    writes.push(Buffer.concat(out));
  }

  /** As `exchange/response/event-stream-reader.ts` does, the short way for one more piece of text included. */
  function translate({ event, data: text }: Extract<SseMessage, { type: 'event' }>): Buffer {
    const known = event === null ? translator.pushRawJson(text) : null;
    if (known !== null) return encodeSseEvents(known);
    const data = readSseData(text);
    switch (data.type) {
      case 'values':
        if (data.values.length === 1 && !data.done)
          return encodeSseEvents(translator.push(data.values[0], event, text));
        return Buffer.concat([
          ...data.values.map((value) => encodeSseEvents(translator.push(value, event))),
          ...(data.done ? [encodeSseEvents(translator.finish('done'))] : []),
        ]);
      case 'malformed':
        return encodeSseEvents(translator.malformed());
    }
  }

  try {
    for (const piece of pieces) read(decoder.push(piece));
    read(decoder.finish());
    if (!translator.ended()) writes.push(encodeSseEvents(translator.finish('eof')), DONE);
  } catch (thrown) {
    if (!(thrown instanceof SseLimitError)) throw thrown;
    const tooLarge = { status: 502, type: 'server_error', code: 'upstream_event_too_large' } as const;
    writes.push(encodeSseEvents(translator.fail(new ApiError(thrown.message, tooLarge))), DONE);
  }
  return writes.filter((write) => write.length > 0);
}
