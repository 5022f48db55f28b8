import type { ExchangeFilePiece } from '../../files/exchange-file.ts';
import { lineOf, type StreamEvent } from './event-lines.ts';
import { bytesOf } from './join-parts.ts';

/** One message of a stream, or a piece of another body. */
export interface TimelineEntry {
  readonly atMs: number;
  /** What was sent, without `data: `. */
  readonly raw: string;
  readonly kind: 'data' | 'comment' | 'done' | 'bytes';
}

/** A line of the timeline: what came from the upstream, next to what was sent to the client for it. */
export interface TimelineRow {
  readonly upstream: TimelineEntry | null;
  readonly client: TimelineEntry | null;
  /** The first of the lines with the same time. */
  readonly isFirst: boolean;
}

/** Both sides of an exchange on one time axis; grows as pieces arrive. */
export interface Timeline {
  readonly rows: readonly TimelineRow[];
  readonly upstreamTimes: readonly number[];
  readonly clientTimes: readonly number[];
  /** The latest pieces of both sides, each in order. */
  add(upstream: Arrived, client: Arrived): void;
}

interface Arrived {
  readonly pieces: readonly ExchangeFilePiece[];
  /** Whether they are of an event stream. */
  readonly isStream: boolean;
}

export function createTimeline(): Timeline {
  const rows: TimelineRow[] = [];
  const upstreamTimes: number[] = [];
  const clientTimes: number[] = [];
  const [readUpstream, readClient] = [createReader(), createReader()];
  /** Lines of the open group, which the other side may still fill. */
  let open: { upstream: TimelineEntry[]; client: TimelineEntry[]; firstRow: number } = newGroup();

  function newGroup() {
    return { upstream: [], client: [], firstRow: rows.length };
  }

  function writeGroup(): void {
    rows.length = open.firstRow;
    for (let index = 0; index < Math.max(open.upstream.length, open.client.length); index += 1)
      rows.push({
        upstream: open.upstream[index] ?? null,
        client: open.client[index] ?? null,
        isFirst: index === 0,
      });
  }

  return {
    rows,
    upstreamTimes,
    clientTimes,
    add(upstream, client) {
      let next = 0;
      const takeClientUntil = (time: number) => {
        for (let piece = client.pieces[next]; piece !== undefined && piece.at_ms < time; piece = client.pieces[next]) {
          clientTimes.push(piece.at_ms);
          open.client.push(...readClient(piece, client.isStream));
          next += 1;
        }
      };
      for (const piece of upstream.pieces) {
        takeClientUntil(piece.at_ms);
        writeGroup();
        open = newGroup();
        upstreamTimes.push(piece.at_ms);
        open.upstream.push(...readUpstream(piece, upstream.isStream));
      }
      takeClientUntil(Number.POSITIVE_INFINITY);
      writeGroup();
    },
  };
}

/** Finds the messages in pieces that are cut anywhere. A message belongs to the piece that completes it. */
function createReader(): (piece: ExchangeFilePiece, isStream: boolean) => TimelineEntry[] {
  const decoder = new TextDecoder();
  let buffered = '';
  return (piece, isStream) => {
    const atMs = piece.at_ms;
    const text = 'text' in piece && buffered === '' ? piece.text : decoder.decode(bytesOf(piece), { stream: true });
    if (!isStream) return [{ atMs, raw: text, kind: 'bytes' }];
    const messages = (buffered + text).replaceAll('\r\n', '\n').split('\n\n');
    buffered = messages.pop() ?? '';
    return messages.filter((message) => message.trim() !== '').map((message) => entryOf(message, atMs));
  };
}

function entryOf(message: string, atMs: number): TimelineEntry {
  const data = message
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(line.startsWith('data: ') ? 6 : 5))
    .join('\n');
  if (data === '') return { atMs, raw: message, kind: 'comment' };
  return { atMs, raw: data, kind: data === '[DONE]' ? 'done' : 'data' };
}

const maxLabelLength = 400;

/** An upstream message in one line: the contents of its delta. */
export function chunkLabel(entry: TimelineEntry): string {
  if (entry.kind !== 'data') return shortLabel(entry.raw);
  const chunk = parsed(entry.raw) as LooseChunk | null;
  if (typeof chunk !== 'object' || chunk === null) return shortLabel(entry.raw);
  const words: string[] = [];
  for (const choice of Array.isArray(chunk.choices) ? chunk.choices : []) {
    if (typeof choice !== 'object' || choice === null) continue;
    for (const [name, value] of Object.entries(choice.delta ?? {}))
      if (value !== null && value !== '' && !(name === 'role' && words.length > 0))
        words.push(`${name} ${JSON.stringify(value)}`);
    if (choice.finish_reason != null) words.push(`finish_reason ${choice.finish_reason}`);
  }
  if (chunk.usage != null) words.push(`usage ${chunk.usage.prompt_tokens}+${chunk.usage.completion_tokens}`);
  if (chunk.error != null) words.push(`error ${JSON.stringify(chunk.error)}`);
  return shortLabel(words.length === 0 ? entry.raw : words.join('  '));
}

/** A Responses event in a line, as the golden cases write it. */
export function eventLabel(entry: TimelineEntry): string {
  if (entry.kind !== 'data') return shortLabel(entry.raw);
  const event = parsed(entry.raw) as StreamEvent | null;
  if (typeof event !== 'object' || event === null || typeof event.type !== 'string') return shortLabel(entry.raw);
  try {
    return shortLabel(lineOf(event));
  } catch {
    return shortLabel(event.type); // not one of our events: this stream was passed through
  }
}

/** The part of an upstream chunk that the label shows; upstreams may send anything. */
interface LooseChunk {
  readonly choices?: readonly ({ readonly delta?: object | null; readonly finish_reason?: unknown } | null)[];
  readonly usage?: { readonly prompt_tokens?: unknown; readonly completion_tokens?: unknown } | null;
  readonly error?: unknown;
}

/** Null if it is not JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function shortLabel(text: string): string {
  return text.length <= maxLabelLength ? text : `${text.slice(0, maxLabelLength)}…`;
}
