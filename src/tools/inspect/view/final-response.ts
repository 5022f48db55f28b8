import type { ExchangeFile } from '../../files/exchange-file.ts';
import { parseShown, writeWord } from './timeline.ts';

/** The Response of a stream's last event that has one. */
export function findLastResponse(stream: string): unknown {
  const blocks = stream.split('\n\n');
  for (let index = blocks.length - 1; index >= 0; index -= 1) {
    const data = blocks[index]?.split('\n').find((line) => line.startsWith('data: {'));
    const event = data === undefined ? null : parseShown(data.slice(6));
    if (typeof event === 'object' && event !== null && 'response' in event) return event.response;
  }
  return null;
}

/** The message that the client received, as an error or in an event. */
export function findErrorMessage(response: ExchangeFile['client_response']): string | null {
  const last = response?.pieces.map((piece) => ('text' in piece ? piece.text : '')).join('') ?? '';
  const event = isEventStream(response) ? findLastResponse(last) : parseShown(last);
  const error = typeof event === 'object' && event !== null && 'error' in event ? event.error : null;
  if (typeof error !== 'object' || error === null || !('message' in error)) return null;
  return writeWord(error.message);
}

/** Whether a response is an event stream. */
export function isEventStream(response: ExchangeFile['chat_response']): boolean {
  const type = response?.headers.find(({ name }) => name === 'content-type')?.value ?? '';
  return type.startsWith('text/event-stream');
}
