import type { ResponseResource } from '../wire/schema/response-resource.ts';
import type { ResponseStreamEvent } from '../wire/schema/stream-events.ts';
import { noUsage } from './chat/usage.ts';
import type { ResponseContext } from './context.ts';
import { Kept } from './kept.ts';
import { EventLog } from './response/event-log.ts';
import { ResponseWriter } from './response/response-writer.ts';

/** The Response to a request of which the upstream is asked nothing: complete, without output, and without cost. */
export function emptyAnswer(context: ResponseContext): {
  readonly response: ResponseResource;
  /** The whole stream for a client that asked for one; else empty. */
  readonly events: readonly ResponseStreamEvent[];
} {
  const log = new EventLog(context, context.stream);
  const writer = new ResponseWriter(context, log, new Kept());
  writer.start();
  writer.usage = noUsage;
  const response = writer.end({ status: 'completed', hasCalled: false });
  return { response, events: log.take() };
}
