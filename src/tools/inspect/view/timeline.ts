import { jsonOf, objectOf, objectsOf } from '../../../formats/json/loose.ts';
import { scanJson } from '../../../formats/json/scan.ts';
import type { ExchangeFilePiece } from '../../files/exchange-file.ts';
import { type ShownEvent, writeEventLine } from './event-lines.ts';
import { decodePiece } from './join-parts.ts';

export interface TimelineEntry {
  readonly atMs: number;
  /** The text that was sent, without its `data: ` prefix. */
  readonly raw: string;
  readonly kind: 'data' | 'comment' | 'done' | 'bytes';
}

/** A row of the timeline: a piece from the upstream, and what was sent to the client because of it. */
export type TimelineRow = ReturnType<typeof buildTimeline>[number];

interface Arrived {
  readonly pieces: readonly ExchangeFilePiece[];
  readonly isStream: boolean;
}

/** Both sides on one time axis: each piece from the upstream beside what was sent until the next one came. */
export function buildTimeline(upstream: Arrived, client: Arrived) {
  const [readUpstream, readClient] = [createReader(upstream.isStream), createReader(client.isStream)];
  const groups = upstream.pieces.map((piece) => ({
    at: piece.at_ms,
    upstream: readUpstream(piece),
    client: noEntries(),
  }));
  const before = { at: 0, upstream: noEntries(), client: noEntries() };
  let next = 0;
  for (const piece of client.pieces) {
    while ((groups[next]?.at ?? Number.POSITIVE_INFINITY) <= piece.at_ms) next += 1;
    (groups[next - 1] ?? before).client.push(...readClient(piece));
  }
  return [before, ...groups].flatMap(({ upstream, client }) =>
    Array.from({ length: Math.max(upstream.length, client.length) }, (_, index) => ({
      upstream: upstream[index] ?? null,
      client: client[index] ?? null,
      isFirst: index === 0,
    })),
  );
}

const noEntries = (): TimelineEntry[] => [];

/** Creates a reader that finds messages in pieces cut anywhere. A message belongs to the piece that completes it. */
function createReader(isStream: boolean): (piece: ExchangeFilePiece) => TimelineEntry[] {
  const decoder = new TextDecoder();
  let buffered = '';
  return (piece) => {
    const atMs = piece.at_ms;
    const text = 'text' in piece && buffered === '' ? piece.text : decoder.decode(decodePiece(piece), { stream: true });
    if (!isStream) return [{ atMs, raw: text, kind: 'bytes' }];
    const messages = (buffered + text).replaceAll('\r\n', '\n').split('\n\n');
    buffered = messages.pop() ?? '';
    return messages.filter((message) => message.trim() !== '').map((message) => buildEntry(message, atMs));
  };
}

function buildEntry(message: string, atMs: number): TimelineEntry {
  const data = message
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line.startsWith('data: ') ? 6 : 5))
    .join('\n');
  if (data === '') return { atMs, raw: message, kind: 'comment' };
  return { atMs, raw: data, kind: data === '[DONE]' ? 'done' : 'data' };
}

const maxLabelLength = 400;

export function labelChunk(entry: TimelineEntry): string {
  if (entry.kind !== 'data') return shortenLabel(entry.raw);
  const chunk = objectOf<LooseChunk>(parseShown(entry.raw));
  if (chunk === null) return shortenLabel(entry.raw);
  const words: string[] = [];
  for (const { delta, finish_reason } of objectsOf<LooseChunk>(chunk.choices)) {
    for (const [name, value] of Object.entries(objectOf<Record<string, unknown>>(delta) ?? {}))
      if (value !== null && value !== '' && !(name === 'role' && words.length > 0))
        words.push(`${name} ${JSON.stringify(value)}`);
    if (finish_reason != null) words.push(`finish_reason ${writeWord(finish_reason)}`);
  }
  const usage = objectOf<LooseChunk>(chunk.usage);
  if (usage !== null) words.push(`usage ${writeWord(usage.prompt_tokens)}+${writeWord(usage.completion_tokens)}`);
  if (chunk.error != null) words.push(`error ${JSON.stringify(chunk.error)}`);
  return shortenLabel(words.length === 0 ? entry.raw : words.join('  '));
}

export function labelEvent(entry: TimelineEntry): string {
  if (entry.kind !== 'data') return shortenLabel(entry.raw);
  const event = objectOf<Record<string, unknown>>(parseShown(entry.raw));
  if (typeof event?.['type'] !== 'string') return shortenLabel(entry.raw);
  try {
    return shortenLabel(writeEventLine(event as ShownEvent));
  } catch {
    return shortenLabel(event['type']); // not one of our events: this stream was passed through
  }
}

type LooseName = 'choices' | 'delta' | 'finish_reason' | 'usage' | 'prompt_tokens' | 'completion_tokens' | 'error';
/** The fields of an upstream's chunk, of its choices and of its usage that a label shows. */
type LooseChunk = Readonly<Partial<Record<LooseName, unknown>>>;

/** The most levels of a shown value. The code that shows a value calls itself for each level. */
const maxShownNesting = 500;

/** Parses JSON; null for other text, and for values nested deeper than a page can show. */
export function parseShown(text: string): unknown {
  const isFlat = text.length <= 2 * maxShownNesting;
  if (!isFlat && scanJson(text, { maxNesting: maxShownNesting }).tooDeepAt !== null) return null;
  return jsonOf(text) ?? null;
}

/** Writes any value as one word, because upstreams may send anything. */
export function writeWord(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number'
    ? String(value)
    : (JSON.stringify(value) ?? 'undefined');
}

function shortenLabel(text: string): string {
  return text.length <= maxLabelLength ? text : `${text.slice(0, maxLabelLength)}…`;
}
