import { chooseRoute } from '../../filter/index.ts';
import type { ExchangeFile, ExchangeFilePiece } from '../files/exchange-file.ts';
import { buildPiece, exchangeFileHead } from '../files/exchange-file.ts';
import type { Head, StoredExchange } from './exchange-store.ts';
import { type BodyName, bodyNames, buildPerBody } from './recording.ts';

export type ExchangeRow = ReturnType<typeof buildExchangeRow>;

export type ExchangePart = ReturnType<typeof buildExchangePart>;

/** A request that is to be explained: the exchange's file with an empty body, and the bytes of that body. */
export interface ExplainedRequest {
  readonly file: ExchangeFile;
  readonly body: Buffer;
}

const maxClientLength = 120;

export function buildExchangeRow(exchange: StoredExchange) {
  const { id, version, startedAt, pieces } = exchange;
  const { link = null, said = null, given = null, answered = null, called = [] } = exchange;
  const { cause: _cause, dropped: _dropped, first_token_ms: _first, ...facts } = exchange.facts;
  const head = exchange.heads.client_request;
  const [method, path] = [head?.get(':method') ?? null, head?.get(':path') ?? null];
  return {
    ...facts,
    // A larger `version` is newer, `started_at` is in Unix milliseconds, and `link` is null outside a conversation.
    id,
    version,
    started_at: startedAt,
    method,
    path,
    link,
    said,
    given,
    answered,
    called,
    client: head?.get('user-agent')?.slice(0, maxClientLength) ?? null,
    endpoint: head === undefined ? null : findEndpoint(method ?? '', path ?? ''),
    status: facts.status ?? readStatus(exchange.heads.client_response),
    pieces: pieces.client_response.length,
    first_event_ms: roundMs(pieces.client_response[0]?.atMs ?? null),
    duration_ms: roundMs(facts.duration_ms),
    tokens_per_second: computeTokensPerSecond(exchange),
  };
}

/**
 * The operation that a request asks for, by the last word of its path (`responses`, `compact`); null if the path alone makes it
 * pass or be refused.
 */
export function findEndpoint(method: string, path: string): string | null {
  const route = chooseRoute(new Map(Object.entries({ ':method': method, ':path': path })));
  return route.type === 'translate' ? (route.operation.path.at(-1) ?? null) : null;
}

/** The part of an exchange that is explained: everything else can be derived from the client's request. */
export function buildExplainedRequest(exchange: StoredExchange): ExplainedRequest {
  const client_request = { ...buildRequestHead(exchange.heads.client_request), body: '' };
  const others = { chat_request: null, chat_response: null, client_response: null };
  return {
    file: { ...buildFileHead(exchange), client_request, ...others },
    body: exchange.joinBytes('client_request'),
  };
}

/** The bytes of the pieces that a page gets at a time; the last piece may exceed them. */
const partBytes = 1024 * 1024;

/**
 * Builds the next part of an exchange, after the pieces that a page already has of each body. Pieces are taken by time,
 * so that request and answer grow together.
 */
export function buildExchangePart(exchange: StoredExchange, from: Readonly<Record<BodyName, number>>) {
  const pieces = buildPerBody((): ExchangeFilePiece[] => []);
  function next() {
    const first = bodyNames.map((name) => ({ name, piece: exchange.pieces[name][from[name] + pieces[name].length] }));
    return first.reduce((best, each) =>
      (each.piece?.atMs ?? Infinity) < (best.piece?.atMs ?? Infinity) ? each : best,
    );
  }
  let { name, piece } = next();
  for (let room = partBytes; piece !== undefined && room > 0; { name, piece } = next()) {
    pieces[name].push(buildPiece(roundMs(piece.atMs), Buffer.from(piece.latin1, 'latin1')));
    room -= piece.latin1.length;
  }
  const chat = exchange.heads.chat_request;
  /** The file of the exchange, as the page downloads it, still without bodies. */
  const file: ExchangeFile = {
    ...buildFileHead(exchange),
    client_request: { ...buildRequestHead(exchange.heads.client_request), body: '' },
    chat_request: chat === undefined ? null : { ...buildRequestHead(chat), body: '' },
    chat_response: buildResponseHead(exchange.heads.chat_response),
    client_response: buildResponseHead(exchange.heads.client_response),
  };
  return { row: buildExchangeRow(exchange), file, omitted: exchange.omitted, pieces, has_more: piece !== undefined };
}

function buildFileHead({ facts, startedAt }: StoredExchange) {
  const { profile, dropped, outcome, error_code: code, cause } = facts;
  return {
    ...exchangeFileHead,
    profile,
    outcome,
    started_at: new Date(startedAt).toISOString(),
    dropped: [...dropped],
    error: code === null && cause === null ? null : { code, cause },
  };
}

function buildRequestHead(head: Head = new Map()) {
  return { method: head.get(':method') ?? '', path: head.get(':path') ?? '', headers: listHeaders(head) };
}

function buildResponseHead(head: Head | undefined) {
  return head === undefined ? null : { status: readStatus(head) ?? 200, headers: listHeaders(head), pieces: [] };
}

/** The tokens per second of a stream, from its first delta to the upstream's last piece; null for other answers. */
function computeTokensPerSecond({ facts, pieces }: StoredExchange): number | null {
  const { tokens, first_token_ms: first, stream } = facts;
  const count = tokens?.output_tokens ?? 0;
  const last = pieces.chat_response.at(-1)?.atMs ?? null;
  if (stream !== true || count < 2 || first === null || last === null) return null;
  return last <= first ? null : Math.round(((count - 1) / (last - first)) * 10_000) / 10;
}

function readStatus(head: Head | undefined): number | null {
  const status = head?.get(':status');
  return status === undefined ? null : Number(status);
}

function listHeaders(head: Head): { name: string; value: string }[] {
  return [...head].filter(([name]) => !name.startsWith(':')).map(([name, value]) => ({ name, value }));
}

/** Rounds a time to microseconds, because the clock is no more precise. */
function roundMs<Time extends number | null>(ms: Time): Time {
  return (ms === null ? null : Math.round(ms * 1000) / 1000) as Time;
}
