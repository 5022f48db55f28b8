import type { ApiError } from '../../schema/api-error.ts';
import type { ResponseResource } from '../../schema/response-resource.ts';
import type { EventLog } from './event-log.ts';

/** The two events that end a failed stream. `error` has the specification's nested form and OpenAI's flat one (D3). */
export function emitFailure(log: EventLog, error: ApiError, response: ResponseResource): void {
  const { code, message, param } = error;
  log.emit({ type: 'error', error: error.toObject(), code, message, param });
  log.emit({ type: 'response.failed', response });
}
