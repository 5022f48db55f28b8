import {
  type ApiErrorObject,
  chooseRoute,
  Exchange,
  type ExchangeOptions,
  type ExchangeReply,
  type HeaderMap,
  type HeaderMutation,
  type Profile,
  RecordedProvenance,
} from '../../filter/index.ts';
import { parseExactly } from '../../formats/json/exact.ts';
import { createExchangeFactory } from '../../service/server/exchanges.ts';
import type { OperatorFiles } from '../../service/server/operator-files.ts';
import type { Config } from '../../service/settings/config.ts';
import type { Path } from './fields.ts';
import { collectPlaces, indexDropped, type Place } from './places.ts';
import { type AnswerRun, runAnswer } from './run-answer.ts';

/** What a request is run under: the service's configuration, with a profile that replaces the configured one. */
export interface Setup {
  readonly config: Config;
  readonly profile: Profile;
  /** The contents of the configured files. They are read once, because an explanation runs a request 100 times. */
  readonly files: OperatorFiles;
}

/** A request as a client sends it; `headers` without pseudo headers. */
export interface ClientRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: HeaderMap;
  readonly body: Buffer;
}

export interface ExplainOptions {
  readonly setup: Setup;
  readonly request: ClientRequest;
  readonly now: number;
  readonly fields: readonly Path[] | null;
  /** The beginning of each link to the mapping; empty for a path in the repository. */
  readonly linkBase: string;
  /** The most bytes of request bodies that are translated to find causes. The default takes some seconds. */
  readonly probedBytes?: number;
}

/** The outcome of running a request. */
export type RequestRun = ReturnType<typeof runRequest>;
export type SentRun = Extract<RequestRun, { readonly type: 'sent' }>;
export type CatalogRun = Extract<RequestRun, { readonly type: 'catalog' }>;
export type AnsweredRun = Extract<RequestRun, { readonly type: 'answered' }>;
export type RefusedRun = Extract<RequestRun, { readonly type: 'refused' }>;

export function replaceBody(request: ClientRequest, value: unknown): ClientRequest {
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
export function runRequest({ config, profile, files }: Setup, request: ClientRequest, now: number) {
  const profiles = { profileOf: () => profile, names: () => [profile.name] };
  const clock = { now: () => now, newId: createCountedIds() };
  const provenance = new RecordedProvenance();
  const createExchange = (options: ExchangeOptions) =>
    new Exchange({ ...options, settings: { ...options.settings, provenance } });
  const factory = createExchangeFactory(config, profiles, () => {}, { clock, files, createExchange });
  const { exchange } = factory.open({}, modes, null);
  const headers = new Map([[':method', request.method], [':path', request.path], ...request.headers]);
  const hasBody = request.body.length > 0;
  const replies = [...exchange.handle({ type: 'request_headers', headers, endOfStream: !hasBody })];
  if (hasBody) replies.push(...exchange.handle({ type: 'request_body', body: request.body, endOfStream: true }));
  const { dropped, outcome } = exchange.summary();
  const immediate = replies.find((reply) => reply.type === 'immediate_response');
  // The client gets a Response at once, and nothing is sent upstream.
  if (immediate?.status === 200) return { type: 'answered' as const, provenance, dropped };
  if (immediate !== undefined) {
    const { error }: { error: ApiErrorObject } = JSON.parse(Buffer.from(immediate.body).toString());
    return { type: 'refused' as const, provenance, status: immediate.status, error };
  }
  const headerChanges = findHeaderChanges(replies);
  const changed = applyChanges(headerChanges, headers);
  const upstream = {
    method: changed.get(':method') ?? '',
    path: changed.get(':path') ?? '',
    /** All headers the upstream gets, lower-case names to values, without pseudo headers. */
    headers: Object.fromEntries([...changed].filter(([name]) => !name.startsWith(':'))),
    headerChanges,
    /** The exchange of the run, which waits for the upstream's answer. */
    exchange,
  };
  // The answer to this request, the upstream's list of models, becomes the catalog for Codex.
  if (isForCatalog(request.method, request.path)) return { type: 'catalog' as const, ...upstream };
  const bodies = replies.flatMap((reply) => (reply.type === 'request_body' && reply.body ? [reply.body] : []));
  // The service does not translate this request.
  if (outcome === 'passed' || bodies.length === 0) return { type: 'passed' as const };
  const body = Buffer.concat(bodies);
  const chat = createLazy(() => parseServiceJson(body));
  const findNear = createLazy(() => indexDropped(dropped, provenance));
  return {
    type: 'sent' as const,
    ...upstream,
    body,
    /** The body as a value; numbers that a JavaScript number would change are `JSON.rawJSON`. */
    chat,
    dropped,
    droppedNear: (field: Path) => findNear()(field),
    provenance,
    places: createLazy(() => collectPlaces(provenance, chat(), traceOutsideBody(changed, provenance, config, profile))),
  };
}

/** Creates a function that makes its value when it is first called. */
function createLazy<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** Traces the parts of a request that become the upstream's path and headers. */
function traceOutsideBody(headers: HeaderMap, { result }: RecordedProvenance, config: Config, profile: Profile) {
  const { SESSION_HEADER: session, UPSTREAM_PATH: path } = config;
  const places: Place[] = [{ path: ['header accept'], value: headers.get('accept'), sources: ['stream'] }];
  if ((path || profile.path).includes('{model}'))
    places.push({ path: ['path'], value: headers.get(':path'), sources: ['model'] });
  const key = session === '' ? undefined : headers.get(session);
  // Without a `prompt_cache_key` the session's key is a hash of the conversation's beginning.
  const sources = result?.echo.prompt_cache_key ? ['prompt_cache_key'] : [];
  if (key !== undefined) places.push({ path: [`header ${session}`], value: key, sources });
  return places;
}

/** Translates a JSON answer to this request. The run's exchange cannot be used again. */
export function translateAnswer({ exchange }: SentRun | CatalogRun, answer: unknown): AnswerRun {
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

export const plainList = { object: 'list', data: [{ id: 'm', object: 'model' }] };

/** Parses JSON as the service reads it. It throws for anything that is not JSON in UTF-8. */
export function parseServiceJson(bytes: Uint8Array): unknown {
  return parseExactly(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
}

/** Whether the request asks for the model catalog, and so has no body. */
export function isForCatalog(method: string, path: string): boolean {
  const route = chooseRoute(new Map(Object.entries({ ':method': method, ':path': path })));
  return route.type === 'pass' && route.operation !== null;
}

function findHeaderChanges(replies: readonly ExchangeReply[]): Required<HeaderMutation> {
  const [changes = {}] = replies.flatMap((reply) =>
    reply.type === 'request_headers' || reply.type === 'request_body' ? (reply.headers ?? []) : [],
  );
  return { set: {}, remove: [], ...changes };
}

function applyChanges({ set, remove }: Required<HeaderMutation>, headers: HeaderMap): Map<string, string> {
  return new Map([...[...headers].filter(([name]) => !remove.includes(name)), ...Object.entries(set)]);
}

function createCountedIds(): (prefix: string) => string {
  const counts = new Map<string, number>();
  return (prefix) => {
    const count = (counts.get(prefix) ?? 0) + 1;
    counts.set(prefix, count);
    return `${prefix}_${count}`;
  };
}
