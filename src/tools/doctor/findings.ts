/**
 * The result of a probe:
 *
 * - `works`: the effect was seen in the answer.
 * - `accepted`: an ordinary answer came; whether there was an effect cannot be seen from outside.
 * - `ignored`: an answer came, and the effect was missing.
 * - `refused`: the server answered with an error.
 * - `broken`: a 200 without a valid answer.
 * - `not_tested`: the question did not arise, a limit was reached, or the server failed (502, 503, 504, a timeout, a cut
 *   connection), perhaps not because of this request.
 */
export type Result = 'works' | 'accepted' | 'ignored' | 'refused' | 'broken' | 'not_tested';

export interface ProbeRequest {
  /** The endpoint: `chat` or `models` of the probed API, or a path on the same host. */
  readonly path: 'chat' | 'models' | `/${string}`;
  readonly body?: object;
  readonly key?: 'wrong';
  readonly until?: 'first_event';
  /** Milliseconds to wait before this request. */
  readonly wait?: number;
}

export interface Answer {
  /** `aborted`: the probe itself closed the connection, at the first event of the stream. */
  readonly outcome: 'answered' | 'aborted' | 'timed_out' | 'too_large' | 'unreachable';
  /** The HTTP status; 0 if no headers came. */
  readonly status: number;
  readonly contentType: string | null;
  readonly keepAlive: string | null;
  readonly retryAfter: string | null;
  readonly location: string | null;
  readonly body: string;
  /** The reason why the answer is missing or incomplete; `''` if it is complete. */
  readonly reason: string;
  readonly milliseconds: number;
}

export type Answers = readonly [Answer, ...Answer[]];

/** Further facts that a judge found, for later probes, the profile and the warnings. */
export interface Facts {
  readonly software?: string;
  readonly gateway?: string;
  readonly contextWindow?: number;
  /** The models that the server lists, if the probed one is not among them. */
  readonly otherModels?: readonly string[];
  readonly takesImages?: boolean;
  /** The path at which the server says how many requests are running. */
  readonly activity?: '/slots' | '/metrics';
  readonly idleSeconds?: number;
  /** The message field that carries reasoning. */
  readonly reasoningField?: string;
  /** How reasoning in the text is marked: by both tags, or by a closing tag alone. */
  readonly tags?: 'whole' | 'closing';
  /** Each delta of the server's streams repeats the text before it. */
  readonly cumulative?: true;
  /** The server counts reasoning tokens beside the completion's tokens instead of among them. */
  readonly reasoningExtra?: boolean;
  /** The arguments of a call were not a JSON object. */
  readonly badArguments?: boolean;
  /** The model's call came as text in the answer's content. */
  readonly callAsText?: boolean;
  /** Message fields of earlier reasoning that the server reads (its prompt tokens show it), or refuses. */
  readonly replayRead?: readonly string[];
  readonly replayRefused?: readonly string[];
  /** The server reported a client's mistake with a 5xx status. */
  readonly serverError?: boolean;
  readonly reasoningOnly?: boolean;
  /** Reasoning used up all output tokens, so that none was left for the answer. */
  readonly outOfTokens?: boolean;
}

export interface Finding {
  readonly result: Result;
  readonly detail: string;
  readonly facts?: Facts;
}

export type Findings = ReadonlyMap<string, Finding>;

export interface Known {
  readonly model: string;
  readonly hasKey: boolean;
  /** The output tokens of a request whose effect must show in its answer. All others get `fewTokens`. */
  readonly manyTokens: number;
  readonly findings: Findings;
}

/** One question to the server. `request` and `judge` are pure. */
export interface Probe {
  readonly name: string;
  readonly group: 'server' | 'text' | 'tools' | 'round trips' | 'fields' | 'reasoning' | 'limits';
  readonly asks: string;
  /** The most that a probe may spend: the number of requests, and output tokens for each. */
  readonly requests: number;
  readonly tokens: 'none' | 'few' | 'many';
  /** An agent cannot work with a server that fails this probe. */
  readonly essential?: true;
  /** The probe expects an error as answer, so a 401 or a 429 does not end the run. */
  readonly expectsRefusal?: true;
  /** Builds the requests, which are sent one after another, or returns the reason why the probe is not needed. */
  request(known: Known): readonly ProbeRequest[] | string;
  judge(answers: Answers, known: Known): Finding;
  readonly means: Meanings;
}

/** What each result means to a user of this product. `failed` and `lacking` stand for all results of those groups. */
export type Meanings = Partial<
  Readonly<Record<Result | 'failed' | 'lacking', string | ((findings: Findings) => string)>>
>;

export const fewTokens = 16;

export const works = createFinding('works');
export const accepted = createFinding('accepted');
export const ignored = createFinding('ignored');
export const refused = createFinding('refused');
export const broken = createFinding('broken');
export const notTested = createFinding('not_tested');

function createFinding(result: Result): (detail: string, facts?: Facts) => Finding {
  return (detail, facts) => ({ result, detail, ...(facts !== undefined && { facts }) });
}

/** The results that show that a server does not support what a probe asked for. */
export const failed: readonly Result[] = ['refused', 'broken'];

/** The results of a probe that failed, or whose effect is missing from the answer. */
export const lacking: readonly Result[] = [...failed, 'ignored'];

/** Explains a probe's result in the light of the other findings; undefined if it needs no explanation. */
export function explainResult({ means }: Pick<Probe, 'means'>, result: Result, findings: Findings): string | undefined {
  const meaning =
    means[result] ??
    (failed.includes(result) ? means.failed : undefined) ??
    (lacking.includes(result) ? means.lacking : undefined);
  return typeof meaning === 'function' ? meaning(findings) : meaning;
}

export function hasResult(findings: Findings, name: string, ...results: readonly Result[]): boolean {
  const result = findings.get(name)?.result;
  return result !== undefined && results.includes(result);
}

/** The value of a fact from the first probe that found it. */
export function findFact<Name extends keyof Facts>(findings: Findings, name: Name): Facts[Name] | undefined {
  for (const { facts } of findings.values()) if (facts?.[name] !== undefined) return facts[name];
  return undefined;
}

/** Whether the server accepts what a probe asked for: with a visible effect, or at least without an error. */
export function isAccepted(findings: Findings, name: string): boolean {
  return hasResult(findings, name, 'works', 'accepted');
}

/** Joins a message of a server, which may end in a full stop, with a sentence of ours. */
export function joinSentences(said: string, own: string): string {
  return `${said.replace(/\.$/, '')}. ${own}`;
}
