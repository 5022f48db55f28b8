import { editsBetween } from '../../service/settings/error-texts.ts';
import { giveUpReading, readChatAnswer, readChatAnswerInSteps, shortenToLine } from './chat-answer.ts';
import {
  type Answer,
  type Finding,
  type Findings,
  fewTokens,
  findFact,
  joinSentences,
  type Known,
  type Probe,
  type ProbeRequest,
} from './findings.ts';
import { isAbsent, isPage } from './first-questions.ts';
import { maxOverflowTokens } from './probes/limit-probes.ts';
import { explainUnreachable, type Send } from './send-probe.ts';

export interface Limits {
  readonly requests: number;
  readonly tokensPerRequest: number;
  readonly tokens: number;
  readonly seconds: number;
}

export type Spending = ReturnType<typeof computeWorstCase>;

export type Run = Awaited<ReturnType<typeof runProbes>>;

/** The functions and limits that a run of probes is given from outside. */
export interface RunParts {
  readonly send: Send;
  readonly now: () => number;
  /** The milliseconds for reading one answer that has arrived; by default the rest of the run's time. */
  readonly longestReadMs?: number;
  /** Resolves after timers and input had a chance to run. */
  readonly yieldToOthers: () => Promise<unknown>;
  readonly signal?: AbortSignal;
  onProbe(probe: Probe, index: number): void;
  /** Asks whether to continue after the first timeout. */
  goOn(what: string): Promise<boolean>;
  /** Explains why there is no Chat API at the address, and which address the user may have meant. */
  explainAddress?(answer: Answer): Promise<string>;
}

/** The detail of the findings whose probes a run did not reach. */
export const notReached = 'not reached';

const usualInputTokens = 200;

/** The most that these probes can spend within the limits, which is announced before the first request. */
export function computeWorstCase(probes: readonly Probe[], limits: Limits) {
  let [requests, outputTokens, asking] = [0, 0, 0];
  for (const probe of probes) {
    requests += probe.requests;
    if (probe.tokens === 'none') continue;
    asking += probe.requests;
    // One request of a probe has many output tokens; its others ask for few or none.
    outputTokens +=
      probe.tokens === 'many' ? limits.tokensPerRequest + (probe.requests - 1) * fewTokens : probe.requests * fewTokens;
  }
  const inputTokens = asking * usualInputTokens + maxOverflowTokens;
  const share = Math.min(1, limits.tokens / (inputTokens + outputTokens));
  return {
    requests: Math.min(requests, limits.requests),
    inputTokens: Math.floor(inputTokens * share),
    outputTokens: Math.floor(outputTokens * share),
  };
}

/**
 * Asks the probes one after another, until all are asked, a limit is reached, or further questions are useless: 401, 402,
 * 403, 429, a redirect, no answer. After the first timeout `goOn` decides whether to continue. `now` counts milliseconds.
 */
export async function runProbes(
  probes: readonly Probe[],
  target: { readonly model: string; readonly hasKey: boolean; readonly url: URL },
  limits: Limits,
  parts: RunParts,
) {
  const findings = new Map<string, Finding>();
  const spent = { requests: 0, inputTokens: 0, outputTokens: 0 };
  const end = parts.now() + limits.seconds * 1000;
  /** The reason why the run ended early; null if it did not. */
  let stopped: string | null = null;
  /** The server lists other models, and refused the one that the user named. */
  let noSuchModel = false;
  let ranOut: string | null = null;
  let answered = false;
  let timedOut = false;
  for (const [position, probe] of probes.entries()) {
    const known: Known = { ...target, manyTokens: limits.tokensPerRequest, findings };
    const asked = stopped === null ? probe.request(known) : notReached;
    const over =
      typeof asked === 'string'
        ? null
        : (findExceededLimit(asked, spent, limits) ?? (parts.now() > end ? 'the time is used up (--max-time)' : null));
    ranOut ??= over;
    let finding: Finding;
    if (typeof asked === 'string' || over !== null) {
      finding = { result: 'not_tested', detail: over ?? String(asked) };
    } else {
      parts.onProbe(probe, position);
      const answers: Answer[] = [];
      for (const [number, request] of asked.entries()) {
        const answer = await parts.send(request, { probe: probe.name, index: number });
        if (request.body !== undefined) {
          const readUntil = Math.min(end, parts.now() + (parts.longestReadMs ?? Number.POSITIVE_INFINITY));
          await readInSlices(answer, parts.yieldToOthers, () => !parts.signal?.aborted && parts.now() <= readUntil);
        }
        answers.push(answer);
        spent.requests += 1;
        charge(spent, request, answer);
        answered ||= answer.status > 0;
        stopped = parts.signal?.aborted ? 'Interrupted.' : findReasonToStop(probe, answer, answered, target);
        // A path that is not the API's need not answer.
        if (stopped === null && answer.outcome === 'timed_out' && !timedOut && probe.name !== 'software') {
          timedOut = true;
          const silence = `${probe.name}: ${answer.reason}${answered ? '' : ', although the connection was taken'}`;
          if (!(await parts.goOn(silence)))
            stopped = `The server is too slow, or silent, at ${silence}. Is it still loading, or another kind of server? With --keep-going the run goes on after a timeout; --timeout waits longer for the model.`;
        }
        if (stopped !== null) break;
      }
      finding =
        stopped === null
          ? probe.judge(answers as [Answer, ...Answer[]], known)
          : { result: 'not_tested', detail: stopped };
      if (stopped === null && probe.name === 'text' && finding.result !== 'works' && !finding.facts?.reasoningOnly)
        [stopped, noSuchModel] = await explainNoText(finding, answers[0], target.model, findings, parts.explainAddress);
    }
    // The words of servers and models go to a terminal.
    findings.set(probe.name, { ...finding, detail: shortenToLine(finding.detail) });
  }
  return { findings, spent, stopped, ranOut, noSuchModel };
}

/** Explains why a plain question got no answer, and whether the server has no such model. */
async function explainNoText(
  { detail, result }: Finding,
  answer: Answer | undefined,
  model: string,
  findings: Findings,
  explainAddress: ((answer: Answer) => Promise<string>) | undefined,
): Promise<[reason: string, noSuchModel: boolean]> {
  const others = findFact(findings, 'otherModels') ?? [];
  const has = `It has: ${listNames(sortByLikeness(others, model))}.`;
  if (others.length > 0 && result === 'refused')
    return [joinSentences(`The server has no model ${model}: ${detail}`, has), true];
  const reason = `The server does not answer a plain question: ${detail}`;
  if (answer === undefined || !(isAbsent(answer) || isPage(answer))) return [reason, false];
  const explained = await explainAddress?.(answer);
  return [explained === undefined ? reason : joinSentences(reason, explained), false];
}

const mostListed = 20;

export function listNames(names: readonly string[]): string {
  const more = names.length > mostListed ? ` and ${names.length - mostListed} more` : '';
  return `${names.slice(0, mostListed).join(', ')}${more}`;
}

/** Sorts names by likeness: first those that contain the given one, then those that differ in the fewest letters. */
function sortByLikeness(names: readonly string[], given: string): readonly string[] {
  // A server's names have no limit, and a comparison costs the product of two lengths.
  const plain = (name: string) => name.slice(0, 100).toLowerCase();
  const distance = (name: string) => (plain(name).includes(plain(given)) ? 0 : editsBetween(plain(name), plain(given)));
  return names
    .slice(0, 1000)
    .map((name) => ({ name, far: distance(name) }))
    .toSorted((one, other) => one.far - other.far)
    .map(({ name }) => name);
}

/** The chunks of a stream that are read before timers and the user's Ctrl-C are handled. */
const chunksPerSlice = 100;

/** Reads an answer with pauses in which input and timers are handled. `goesOn` says whether there is time left. */
async function readInSlices(answer: Answer, yieldToOthers: () => Promise<unknown>, goesOn: () => boolean) {
  const steps = readChatAnswerInSteps(answer);
  for (let chunks = 1; !steps.next().done; chunks += 1) {
    if (chunks % chunksPerSlice !== 0) continue;
    await yieldToOthers();
    if (goesOn()) continue;
    giveUpReading(answer);
    return;
  }
}

function findExceededLimit(asked: readonly ProbeRequest[], spent: Spending, limits: Limits): string | null {
  if (spent.requests + asked.length > limits.requests) return 'the requests are used up (--max-requests)';
  const tokens = asked.reduce((sum, request) => sum + estimateInput(request) + readOutputLimit(request), 0);
  if (spent.inputTokens + spent.outputTokens + tokens > limits.tokens)
    return 'the tokens are used up (--max-total-tokens)';
  return null;
}

/**
 * Adds a request's tokens to those spent, as the server counts them. Without a count they are estimated: a timeout may
 * have cost all tokens that it asked for, an error cost none.
 */
function charge(spent: { inputTokens: number; outputTokens: number }, request: ProbeRequest, answer: Answer): void {
  if (request.body === undefined) return;
  const read = readChatAnswer(answer);
  if (read.type === 'error' || read.type === 'broken') return;
  const usage = read.type === 'answer' ? read.usage : null;
  spent.inputTokens += usage?.input_tokens || estimateInput(request);
  spent.outputTokens += usage?.output_tokens || readOutputLimit(request);
}

/** Estimates a request's input tokens, at four bytes of JSON for a token. Servers count images in their own ways. */
function estimateInput({ body }: ProbeRequest): number {
  return body === undefined ? 0 : Math.ceil(JSON.stringify(body).length / 4);
}

function readOutputLimit({ body }: ProbeRequest): number {
  const { max_tokens, max_completion_tokens }: { max_tokens?: number; max_completion_tokens?: number } = body ?? {};
  return max_completion_tokens ?? max_tokens ?? 0;
}

const keyIsMissing = 'the key is missing or wrong. Give it with --key, or in the variable that --key-env names';

/** Statuses that every further request would get too, with what each means. */
const finalStatuses: ReadonlyMap<number, string> = new Map([
  [401, keyIsMissing],
  [402, 'the account cannot pay for requests'],
  [403, 'the key may not do this'],
  [429, 'too many requests, or a quota is used up. Try again later'],
]);

/** Error codes of connections that could not be opened. A cut connection may be the fault of one request. */
const connecting =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPROTO|ERR_SSL|.*CERT|.*TLS|HPE_)/;

/** The reason why further questions are useless; null if they are not. */
function findReasonToStop(
  probe: Probe,
  answer: Answer,
  answered: boolean,
  { hasKey, url }: { readonly hasKey: boolean; readonly url: URL },
): string | null {
  const { outcome, status, location, reason, retryAfter } = answer;
  if (outcome === 'unreachable' && (!answered || connecting.test(reason)) && probe.name !== 'software')
    return `The server cannot be reached, at ${probe.name}: ${explainUnreachable(reason, url)}`;
  // Some servers answer a missing key with 403.
  const withoutKey = !hasKey && (status === 401 || status === 403);
  // A key may open the Chat API, and neither the list of models nor the engine's own paths.
  if (probe.group === 'server' && !(withoutKey && probe.name === 'models')) return null;
  if (status >= 300 && status < 400)
    return `The server redirects (${status}) to ${shortenToLine(location ?? 'nowhere')}: give that URL if it is the right one. The key is not sent there.`;
  const why = withoutKey ? keyIsMissing : finalStatuses.get(status);
  if (why === undefined || (probe.expectsRefusal === true && status !== 429)) return null;
  const read = readChatAnswer(answer);
  const said = read.type === 'error' ? ` The server says: ${read.message}` : '';
  const wait = status === 429 && retryAfter !== null ? ` (retry-after: ${shortenToLine(retryAfter)})` : '';
  return `Status ${status}${wait}: ${why}.${said}`;
}
