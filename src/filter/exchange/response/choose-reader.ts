import { EventStreamReader } from './event-stream-reader.ts';
import { AnswerState, nothing, type UpstreamBodyOptions, type UpstreamBodyReader } from './upstream-body-reader.ts';
import { createWholeBodyReader } from './whole-body-reader.ts';

/** Creates the reader of an upstream body: by status and content type or, if the type tells nothing, by the first bytes. */
export function createUpstreamBodyReader(options: UpstreamBodyOptions): UpstreamBodyReader {
  const { status, context } = options;
  if (status >= 300 || context === null) return createWholeBodyReader('error', options);
  const create = (kind: Kind, state?: AnswerState): UpstreamBodyReader => {
    if (kind === 'events' && context.answer.streams) return new EventStreamReader(context, options, state);
    return createWholeBodyReader(kind === 'events' ? 'neither' : kind, options, state);
  };
  const kind = readContentType(options.contentType);
  return kind === null ? createSniffer(create) : create(kind);
}

type Kind = 'events' | 'json' | 'neither';

/** Types with a JSON value on each line, which `EventStreamReader` takes for events. */
const linesOfJson = new Set([
  'application/x-ndjson',
  'application/ndjson',
  'application/jsonl',
  'application/stream+json',
]);

/** Chooses by the content type; null if there is none, or one that tells nothing. */
function readContentType(contentType: string | null): Kind | null {
  if (contentType === 'application/json') return 'json';
  const type = contentType?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === 'text/event-stream' || linesOfJson.has(type)) return 'events';
  return type === 'application/json' || type.endsWith('+json') ? 'json' : null;
}

/** The first word, behind white space, is within so many bytes. */
const maxSniffBytes = 1024;

/** Creates a reader that chooses another by the first bytes, and leaves body and state to it. */
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
      const kind = readFirstWord(buffered);
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

function readFirstWord(bytes: Buffer): Kind | null {
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
