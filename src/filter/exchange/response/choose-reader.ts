import { EventStreamReader } from './event-stream-reader.ts';
import { AnswerState, nothing, type UpstreamBodyOptions, type UpstreamBodyReader } from './upstream-body-reader.ts';
import { createWholeBodyReader } from './whole-body-reader.ts';

/** The reader for an upstream body, chosen by status and content type; if the type is not conclusive, by the first bytes. */
export function createUpstreamBodyReader(options: UpstreamBodyOptions): UpstreamBodyReader {
  const { status, context } = options;
  if (status >= 300 || context === null) return createWholeBodyReader('error', options);
  const create = (kind: Kind, state?: AnswerState): UpstreamBodyReader => {
    if (kind === 'events' && context.answer.streams) return new EventStreamReader(context, options, state);
    return createWholeBodyReader(kind === 'events' ? 'neither' : kind, options, state);
  };
  const kind = kindOfType(options.contentType);
  return kind === null ? createSniffer(create) : create(kind);
}

type Kind = 'events' | 'json' | 'neither';

/** One JSON value per line: `EventStreamReader` treats a line that begins with `{` as an event of its own. */
const linesOfJson = new Set([
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/stream+json',
]);

/** Null for types that are missing or too generic to decide by. */
function kindOfType(contentType: string | null): Kind | null {
  if (contentType === 'application/json') return 'json';
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === 'text/event-stream' || linesOfJson.has(type)) return 'events';
  return type === 'application/json' || type.endsWith('+json') ? 'json' : null;
}

/** Enough to see the first word after any leading white space. */
const maxSniffBytes = 1024;

/** Chooses by the first bytes after white space, then delegates to the chosen reader, which takes over the state. */
function createSniffer(create: (kind: Kind, state: AnswerState) => UpstreamBodyReader): UpstreamBodyReader {
  const state = new AnswerState();
  let buffered: Buffer = nothing;
  let reader: UpstreamBodyReader | null = null;

  function decide(kind: Kind): UpstreamBodyReader {
    state.bufferedBytes = 0;
    reader = create(kind, state);
    return reader;
  }

  return {
    push(bytes, isLast) {
      if (reader !== null) return reader.push(bytes, isLast);
      buffered = buffered.length === 0 ? bytes : Buffer.concat([buffered, bytes]);
      state.bufferedBytes = buffered.length;
      const kind = kindOfBytes(buffered);
      return kind === null ? nothing : decide(kind).push(buffered, isLast);
    },
    start: () => reader?.start() ?? nothing,
    end(error, isShed) {
      if (reader !== null) return reader.end(error, isShed);
      const chosen = decide('neither');
      return error !== undefined || buffered.length === 0 ? chosen.end(error) : chosen.push(buffered, true);
    },
    state,
  };
}

/** The bytes of U+FEFF in UTF-8, as Latin-1. */
const byteOrderMark = '\u00ef\u00bb\u00bf';

function kindOfBytes(bytes: Buffer): Kind | null {
  const start = bytes
    .subarray(0, maxSniffBytes)
    .toString('latin1')
    .replace(new RegExp(`^${byteOrderMark}`), '')
    .trimStart();
  if (start.startsWith('{') || start.startsWith('[')) return 'json';
  if (/^(:|data:|event:|id:|retry:)/.test(start)) return 'events';
  const mayBecome = [byteOrderMark, 'data:', 'event:', 'id:', 'retry:'].some((known) => known.startsWith(start));
  return mayBecome && bytes.length < maxSniffBytes ? null : 'neither';
}
