import { readChatAnswer } from '../src/tools/doctor/chat-answer.ts';
import type { Answer } from '../src/tools/doctor/findings.ts';
import {
  createAskBelow,
  explainAddress,
  isAbsent,
  isPage,
  isStillLoading,
} from '../src/tools/doctor/first-questions.ts';
import { findNamedEngine, readModelNames } from '../src/tools/doctor/probes/server-probes.ts';
import { createSend, explainUnreachable } from '../src/tools/doctor/send-probe.ts';

export interface UpstreamState {
  readonly models: readonly string[];
  /** The problem that keeps the server from answering requests, with its remedy; null if none was found. */
  readonly problem: string | null;
  /** The server accepts connections and does not answer requests yet, for example while it loads its model. */
  readonly isLoading: boolean;
  /** The name of the built-in profile for the engine that the server says it is; null if it does not say. */
  readonly profile: string | null;
}

export interface Asking {
  readonly key: string | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Asks a Chat server for its models, and sends an empty request, which costs nothing, to see whether its Chat API exists
 * and accepts the key. `url` is the base URL. Never rejects.
 */
export async function askUpstream(url: URL, asking: Asking): Promise<UpstreamState> {
  const base = new URL(url);
  base.pathname = url.pathname.replace(/\/+$/, '');
  const ask = createAskBelow((chatUrl) => createSender(chatUrl, asking));
  const list = await ask(base, 'models');
  const models = readModelNames(list);
  const state = (problem: string | null, answer: Answer, profile: string | null = null) => ({
    models: models ?? [],
    problem,
    profile,
    isLoading: answer.outcome === 'timed_out' || isStillLoading(answer),
  });
  const unreachable = explainFailure(list, base, asking);
  if (unreachable !== null) return state(unreachable, list);
  const chat = await ask(base, 'chat');
  // An empty request is expected to be refused; only errors that any request would get count.
  const failure = models !== null && chat.status >= 500 ? null : explainFailure(chat, base, asking);
  if (failure !== null) return state(failure, chat);
  if (isAbsent(chat) || isPage(chat)) return state(await explainAddress(base, chat, ask), chat);
  // A 200 is no proof: a web server, for one, may answer any request so.
  const read = readChatAnswer(chat);
  if (read.type === 'broken') return state(describeNotChat(base, read.message), chat);
  if (models?.length === 0) return state('it lists no models. Load one.', chat);
  const send = createSender(base, asking);
  const profile = await findNamedEngine(list, (path) => send({ path }, { probe: 'start', index: 0 }));
  return state(null, chat, profile);
}

function createSender(chatUrl: URL, { key, timeoutMs, signal }: Asking) {
  return createSend({ chatUrl, key: key ?? null, timeoutMs, promptMs: timeoutMs, ...(signal && { signal }) });
}

/** Explains an answer that any request to this server would get; null for other answers. */
function explainFailure(answer: Answer, url: URL, { key, timeoutMs }: Asking): string | null {
  const { outcome, status, reason, location } = answer;
  if (outcome === 'timed_out')
    return `it accepts the connection, but does not answer within ${timeoutMs / 1000} s. Is it still loading, or is this another kind of server?`;
  if (outcome !== 'answered') return explainUnreachable(reason, url);
  if (status === 401 || status === 403)
    return key === undefined
      ? `it requires an API key (${status}). Give it with --upstream-key or in UPSTREAM_KEY; otherwise each client must send its own.`
      : `it does not accept the API key (${status}). Correct --upstream-key or UPSTREAM_KEY.`;
  if (status >= 300 && status < 400)
    return `it redirects (${status}) to ${location ?? 'nowhere'}. Give the address that it leads to.`;
  if (status >= 500 && status !== 501) return `it answers with the status ${status}. Its own log says why.`;
  // A TLS server answers a plain request with a 400 that mentions https.
  if (status === 400 && url.protocol === 'http:' && /https/i.test(answer.body))
    return `it speaks TLS on that port. Try https://${url.host}${url.pathname}`;
  return null;
}

function describeNotChat(base: URL, message: string): string {
  return `it is not a Chat server: ${base.pathname.replace(/\/$/, '')}/chat/completions answers with ${message}`;
}

/** Kinds of models that do not answer Chat requests, by the words in their names. */
const notForChat = /embed|rerank|whisper|tts|transcri|moderation|dall-e|image/i;

export function chooseModelToShow(models: readonly string[]): string | undefined {
  return models.find((name) => !notForChat.test(name)) ?? models[0];
}
