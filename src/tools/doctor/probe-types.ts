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

/** One HTTP request of a probe. */
export interface ProbeRequest {
  /** `chat` and `models` of the API that is probed, or a path of the same host. */
  readonly path: 'chat' | 'models' | `/${string}`;
  /** Sent as JSON in a POST; without it, a GET. */
  readonly body?: object;
  /** Replaces the given key. */
  readonly key?: 'wrong';
  /** Disconnect at the first event of the stream. */
  readonly until?: 'first_event';
  /** Milliseconds to wait before it. */
  readonly wait?: number;
}

/** The answer as text: the judges parse it. */
export interface Answer {
  /** `answered` completely; `aborted` by us at the first event; or what went wrong. */
  readonly outcome: 'answered' | 'aborted' | 'timed_out' | 'too_large' | 'unreachable';
  /** 0 when no headers came. */
  readonly status: number;
  readonly contentType: string | null;
  /** The headers `keep-alive`, `retry-after` and `location`. */
  readonly keepAlive: string | null;
  readonly retryAfter: string | null;
  readonly location: string | null;
  readonly body: string;
  /** Why the answer is missing or incomplete; `''` if it is complete. */
  readonly reason: string;
  readonly milliseconds: number;
}

/** The answers to a probe's requests: it has at least one. */
export type Answers = readonly [Answer, ...Answer[]];

/** Further facts that a judge found, for later probes, the profile and the warnings. */
export interface Facts {
  /** The engine that the server reports, as a profile's name. */
  readonly software?: string;
  /** A gateway in front of the engine, by its name. */
  readonly gateway?: string;
  /** Tokens of the context window. */
  readonly contextWindow?: number;
  /** The models that the server lists, where the one that is probed is not among them. */
  readonly otherModels?: readonly string[];
  /** Whether the model takes images, as the server reports. */
  readonly takesImages?: boolean;
  /** Where running requests can be counted. */
  readonly activity?: '/slots' | '/metrics';
  /** Seconds after which the server closes an idle connection. */
  readonly idleSeconds?: number;
  /** The field of the message that carries reasoning. */
  readonly reasoningField?: string;
  /** Reasoning in the text: with its opening tag, or only with the closing one. */
  readonly tags?: 'whole' | 'closing';
  /** Each delta of a stream repeats the text before it. */
  readonly cumulative?: true;
  /** Counted beside the completion's tokens, not among them. */
  readonly reasoningExtra?: boolean;
  /** Arguments of a call that are not a JSON object. */
  readonly badArguments?: boolean;
  /** A call that came as text of the answer. */
  readonly callAsText?: boolean;
  /** Fields of earlier reasoning that the server reads (shown by the prompt's token count), or refuses. */
  readonly replayRead?: readonly string[];
  readonly replayRefused?: readonly string[];
  /** The status was a 5xx although the request was at fault. */
  readonly serverError?: boolean;
  /** The complete answer was reasoning. */
  readonly reasoningOnly?: boolean;
  /** No token was left for the answer. */
  readonly outOfTokens?: boolean;
}

/** The judgement of one probe. */
export interface Finding {
  readonly result: Result;
  /** A few words on what was seen. */
  readonly detail: string;
  readonly facts?: Facts;
}

export type Findings = ReadonlyMap<string, Finding>;

/** Facts that are known when a probe runs. */
export interface Known {
  readonly model: string;
  /** Whether a key is sent. */
  readonly hasKey: boolean;
  /** Output tokens of one request that must show an effect; others get `fewTokens`. */
  readonly manyTokens: number;
  readonly findings: Findings;
}

/** One question to the server. `request` and `judge` are pure. */
export interface Probe {
  readonly name: string;
  readonly group: 'server' | 'text' | 'tools' | 'turns' | 'fields' | 'reasoning' | 'limits';
  /** The question, in a few words. */
  readonly asks: string;
  /** The most it may spend: requests, and output tokens of each. */
  readonly requests: number;
  readonly tokens: 'none' | 'few' | 'many';
  /** An agent cannot work without it. */
  readonly essential?: true;
  /** An error is the expected answer: 401 and 429 do not end the run. */
  readonly expectsRefusal?: true;
  /** The requests, one after another; or why there is nothing to ask. */
  request(known: Known): readonly ProbeRequest[] | string;
  judge(answers: Answers, known: Known): Finding;
  readonly means: Meanings;
}

/** Meanings of a result for users of the server through this product; `failed` and `lacking` stand for each of theirs. */
export type Meanings = Partial<
  Readonly<Record<Result | 'failed' | 'lacking', string | ((findings: Findings) => string)>>
>;

/** Output tokens of a request of which only the status matters. */
export const fewTokens = 16;
