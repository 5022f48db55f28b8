import {
  type ApiError,
  Exchange,
  type ExchangeOptions,
  type ExchangeReply,
  type HeaderMap,
  type HeaderMutation,
  type Profile,
  RecordedProvenance,
  routeOf,
} from '../../filter/index.ts';
import { parseExactly } from '../../formats/json/exact.ts';
import { createExchangeFactory } from '../../service/server/exchanges.ts';
import type { OperatorFiles } from '../../service/server/operator-files.ts';
import type { Config } from '../../service/settings/config.ts';
import type { Path } from './fields.ts';
import { droppedByRoot, type Place, type Places, placesIn } from './places.ts';
import { type AnswerRun, runAnswer } from './run-answer.ts';

/** Settings that a request is run under: the service's configuration, and the profile that replaces the one it names. */
export interface Setup {
  readonly config: Config;
  readonly profile: Profile;
  /** The files that the configuration names, read once: an explanation runs a request a hundred times. */
  readonly files: OperatorFiles;
}

/** A request as a client sends it; `headers` without pseudo headers. */
export interface ClientRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: HeaderMap;
  readonly body: Buffer;
}

/** Options of an explanation. */
export interface ExplainOptions {
  readonly setup: Setup;
  readonly request: ClientRequest;
  /** Unix seconds. */
  readonly now: number;
  /** The fields to explain; null for all. */
  readonly fields: readonly Path[] | null;
  /** The beginning of links; empty for a path in the repository. */
  readonly linkBase: string;
  /** Bytes of request bodies that may be translated to find out why; some seconds of work by default. */
  readonly probedBytes?: number;
}

/** The result of a request; `passed` where it is not one for this service, and passes as it is. */
export type RequestRun = SentRun | CatalogRun | AnsweredRun | RefusedRun | { readonly type: 'passed' };

/** A run with the request that the upstream gets. */
interface UpstreamRun {
  readonly method: string;
  readonly path: string;
  /** All headers the upstream gets, lower-case names to values, without pseudo headers. */
  readonly headers: Readonly<Record<string, string>>;
  readonly headerChanges: Required<HeaderMutation>;
  /** The exchange, which waits for the upstream's answer. */
  readonly exchange: Exchange;
}

export interface SentRun extends UpstreamRun {
  readonly type: 'sent';
  /** The body as it is sent. */
  readonly body: Buffer;
  /** The body as a value, read when it is asked for; numbers that a JavaScript number would change are `JSON.rawJSON`. */
  readonly chat: unknown;
  readonly dropped: readonly string[];
  /** Gives the names of `dropped` that may be about the field, or about a part of it. */
  readonly droppedNear: (field: Path) => readonly string[];
  /** Which parts the request's fields became. */
  readonly provenance: RecordedProvenance;
  /** The same by place, made when it is asked for. */
  readonly places: Places;
}

/** A request for the upstream's list of models, whose answer becomes the catalog for Codex. */
export interface CatalogRun extends UpstreamRun {
  readonly type: 'catalog';
}

/** The client gets a Response at once, and nothing is sent upstream. */
export interface AnsweredRun {
  readonly type: 'answered';
  readonly provenance: RecordedProvenance;
  readonly dropped: readonly string[];
}

export interface RefusedRun {
  readonly type: 'refused';
  /** With the body, if it was read. */
  readonly provenance: RecordedProvenance;
  readonly status: number;
  readonly error: ReturnType<ApiError['toObject']>;
}

/** The request with another body. */
export function withBody(request: ClientRequest, value: unknown): ClientRequest {
  const headers = new Map(request.headers);
  for (const name of ['content-encoding', 'content-length']) headers.delete(name);
  return { ...request, headers, body: Buffer.from(JSON.stringify(value)) };
}

/** The modes of the shipped envoy.yaml. What is translated does not depend on them. */
const modes = { request: 'BUFFERED', response: 'FULL_DUPLEX_STREAMED' } as const;

/**
 * Runs a request through an exchange of the service's own. Ids are counted, `resp_1`, and `now` (Unix seconds) is
 * fixed, so that two runs of one request are identical.
 */
export function runRequest({ config, profile, files }: Setup, request: ClientRequest, now: number): RequestRun {
  const profiles = { profileOf: () => profile, names: () => [profile.name] };
  const clock = { now: () => now, newId: createCountedIds() };
  const provenance = new RecordedProvenance();
  const createExchange = (options: ExchangeOptions) =>
    new Exchange({ ...options, settings: { ...options.settings, provenance } });
  const factory = createExchangeFactory(config, profiles, () => {}, { clock, files, createExchange });
  const { exchange } = factory.open({}, modes, null);
  const headers = new Map([[':method', request.method], [':path', request.path], ...request.headers]);
  const hasBody = request.body.length > 0;
  const replies = exchange.handle({ type: 'request_headers', headers, endOfStream: !hasBody });
  if (hasBody) replies.push(...exchange.handle({ type: 'request_body', body: request.body, endOfStream: true }));
  const immediate = replies.find((reply) => reply.type === 'immediate_response');
  if (immediate?.status === 200) return { type: 'answered', provenance, dropped: exchange.summary().dropped };
  if (immediate !== undefined) {
    const { error } = JSON.parse(Buffer.from(immediate.body).toString());
    return { type: 'refused', provenance, status: immediate.status, error };
  }
  const headerChanges = changesOf(replies);
  const changed = applied(headerChanges, headers);
  const upstream: UpstreamRun = {
    method: changed.get(':method') ?? '',
    path: changed.get(':path') ?? '',
    headers: Object.fromEntries([...changed].filter(([name]) => !name.startsWith(':'))),
    headerChanges,
    exchange,
  };
  if (isForCatalog(request.method, request.path)) return { type: 'catalog', ...upstream };
  const bodies = replies.flatMap((reply) => (reply.type === 'request_body' && reply.body ? [reply.body] : []));
  if (exchange.summary().outcome === 'passed' || bodies.length === 0) return { type: 'passed' };
  const body = Buffer.concat(bodies);
  const { dropped } = exchange.summary();
  let chat: unknown;
  let places: Places | undefined;
  let droppedNear: SentRun['droppedNear'] | undefined;
  return {
    type: 'sent',
    ...upstream,
    body,
    get chat() {
      chat ??= readJson(body);
      return chat;
    },
    dropped,
    droppedNear(field) {
      droppedNear ??= droppedByRoot(dropped, provenance);
      return droppedNear(field);
    },
    provenance,
    get places() {
      places ??= placesIn(provenance, this.chat, outsideOfBody(changed, provenance, config, profile));
      return places;
    },
  };
}

/** The parts of a request that show in the upstream's path and headers. */
function outsideOfBody(
  headers: ReadonlyMap<string, string>,
  { result }: RecordedProvenance,
  { SESSION_HEADER: session, UPSTREAM_PATH: path }: Config,
  profile: Profile,
): readonly Place[] {
  const places: Place[] = [{ path: ['header accept'], value: headers.get('accept'), sources: ['stream'] }];
  if ((path || profile.path).includes('{model}'))
    places.push({ path: ['path'], value: headers.get(':path'), sources: ['model'] });
  const key = session === '' ? undefined : headers.get(session);
  // Without a key it is a hash of the beginning of the conversation.
  const sources = result?.echo.prompt_cache_key ? ['prompt_cache_key'] : [];
  if (key !== undefined) places.push({ path: [`header ${session}`], value: key, sources });
  return places;
}

/** Translates an answer in JSON to this request. Uses the run's exchange up. */
export function answered({ exchange }: UpstreamRun, answer: unknown): AnswerRun {
  const chunks = [{ atMs: null, bytes: Buffer.from(JSON.stringify(answer)) }];
  return runAnswer(() => exchange, { status: 200, headers: new Map([['content-type', 'application/json']]), chunks });
}

/** An answer with everything that a request may ask for: reasoning, log probabilities. */
export const plainAnswer = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'upstream',
  choices: [
    {
      index: 0,
      finish_reason: 'stop',
      message: { role: 'assistant', reasoning_content: 'Hm.', content: 'Yes' },
      logprobs: { content: [{ token: 'Yes', logprob: -0.1, bytes: [89, 101, 115], top_logprobs: [] }] },
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};

/** A server's list of models. */
export const plainList = { object: 'list', data: [{ id: 'm', object: 'model' }] };

/** JSON as the service reads it. Throws for what is not JSON in UTF-8. */
export function readJson(bytes: Uint8Array): unknown {
  return parseExactly(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
}

/** Whether a request is for the catalog of models, which has no body. */
export function isForCatalog(method: string, path: string): boolean {
  const route = routeOf(new Map(Object.entries({ ':method': method, ':path': path })));
  return route.type === 'pass' && route.operation !== null;
}

/** Returns the header changes of the first reply that has some for the request. */
function changesOf(replies: readonly ExchangeReply[]): Required<HeaderMutation> {
  const [changes = {}] = replies.flatMap((reply) =>
    reply.type === 'request_headers' || reply.type === 'request_body' ? (reply.headers ?? []) : [],
  );
  return { set: {}, remove: [], ...changes };
}

function applied({ set, remove }: Required<HeaderMutation>, headers: HeaderMap): Map<string, string> {
  return new Map([...[...headers].filter(([name]) => !remove.includes(name)), ...Object.entries(set)]);
}

/** `resp_1`, `msg_1`, `msg_2`, … */
function createCountedIds(): (prefix: string) => string {
  const counts = new Map<string, number>();
  return (prefix) => {
    const count = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, count);
    return `${prefix}_${count}`;
  };
}
