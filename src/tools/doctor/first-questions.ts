import type { Answer, ProbeRequest } from './findings.ts';
import { readModelNames } from './probes/server-probes.ts';
import type { Send } from './send-probe.ts';

/** Asks a server below a base URL (`https://host/v1`) for its models, or with an empty request, which costs nothing. */
export type AskBelow = (base: URL, path: 'models' | 'chat' | 'responses') => Promise<Answer>;

export function createAskBelow(senderFor: (chatUrl: URL) => Send): AskBelow {
  return (base, path) => {
    const own = base.pathname.replace(/\/+$/, '');
    const chatUrl = new URL(base);
    chatUrl.pathname = `${own}/chat/completions`;
    const request: ProbeRequest =
      path === 'models'
        ? { path }
        : { path: path === 'chat' ? 'chat' : (`/${own}/responses`.replace('//', '/') as '/'), body: {} };
    return senderFor(chatUrl)(request, { probe: 'address', index: 0 });
  };
}

/** Whether the answer is a web page, such as a console, a login or a proxy's error page. */
export function isPage({ contentType, body }: Answer): boolean {
  return /^text\/html\b/i.test(contentType ?? '') || /^\s*<(?:!doctype html|html)\b/i.test(body);
}

/** Whether the answer to an empty Chat request says that there is no Chat API at its address. */
export function isAbsent({ status, body }: Answer): boolean {
  return [404, 405, 501].includes(status) && !/model/i.test(body);
}

/**
 * Explains why there is no Chat API below a base URL, and what to give instead. `chat` is the answer to an empty Chat
 * request.
 */
export async function explainAddress(base: URL, chat: Answer, ask: AskBelow): Promise<string> {
  const own = base.pathname.replace(/\/$/, '');
  const said = isPage(chat)
    ? `${own}/chat/completions answers with a web page (HTML, ${chat.status}).`
    : `it has no ${own}/chat/completions (${chat.status}).`;
  const responses = await ask(base, 'responses');
  if (responses.status > 0 && responses.status < 500 && !isPage(responses) && !isAbsent(responses))
    return `${said} It speaks the Responses API itself, at ${own}/responses: you may not need this service.`;
  for (const path of new Set(['/v1', `${own}/v1`, '/api/v1', '/openai/v1'])) {
    const other = new URL(base);
    other.pathname = path;
    if (other.href === base.href) continue;
    const answer = await ask(other, 'models');
    if ([401, 403].includes(answer.status) || readModelNames(answer) !== null)
      return `${said} It has ${path}: give ${other.href}`;
  }
  return `${said} The address must be the base URL of its Chat API, which mostly ends in /v1.`;
}

/** The pause between two questions to a server that is loading its model. */
const intervalMs = 1000;

interface Patience {
  /** The seconds after which a server that accepts the connection and stays silent counts as unreachable. */
  readonly timeout: number;
  /** The seconds for which a server that is loading its model is awaited. */
  readonly limits: { readonly seconds: number };
}

interface Wait {
  /** Shows a line to a person, once for each reason to wait. */
  onProgress(line: string): void;
  isOver(): boolean;
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}

/** Whether the server says that it is still loading its model, as llama.cpp and vLLM do with a 503. */
export function isStillLoading({ status, body }: Answer): boolean {
  return status === 503 && /load/i.test(body);
}

/** Asks for the list of models until the server has loaded its model, or the time is used up. */
export async function askForModels(send: Send, { timeout, limits }: Patience, wait: Wait): Promise<Answer> {
  const begun = wait.now();
  let told: string | null = null;
  for (;;) {
    const answer = await send({ path: 'models' }, { probe: 'models', index: 0 });
    const isLoading = isStillLoading(answer);
    const isSilent = answer.outcome === 'timed_out' && answer.status === 0;
    const seconds = isLoading ? limits.seconds : isSilent ? timeout : 0;
    if (wait.isOver() || wait.now() - begun >= seconds * 1000) return answer;
    const line = isLoading
      ? 'The server is loading its model; waiting …'
      : `The server takes the connection and has not answered yet. It may still be loading its model: waiting up to ${timeout} s (--timeout) …`;
    if (line !== told) wait.onProgress(line);
    told = line;
    await wait.sleep(intervalMs);
  }
}
