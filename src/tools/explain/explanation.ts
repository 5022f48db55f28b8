import type { ApiErrorObject } from '../../filter/index.ts';
import type { Fate } from './fates.ts';
import type { Cause } from './what-if.ts';

/** The reason for a translation's outcome, with a link to its documentation. */
export interface Reason {
  /** The flags and variables that decided the outcome; empty if it is always the same. */
  readonly causes: readonly Cause[];
  /** What the row of `docs/mapping.md` says; `link` is its address. */
  readonly rule: string;
  readonly link: string;
}

export interface ChatPlace {
  /** The place's path: `messages[0].content`, `header accept`, or `path` for the URL's path. */
  readonly path: string;
  /** The value at the place; `…` if twenty fields before became the same value. */
  readonly value: unknown;
}

export interface ExplainedField extends Reason {
  readonly field: string;
  readonly value?: unknown;
  readonly fate: Fate;
  readonly becomes: readonly ChatPlace[];
  readonly in_response: readonly string[];
  readonly dropped: readonly string[];
}

/** A refusal: what the client gets instead of an answer. */
export interface Refusal extends Reason {
  readonly status: number;
  readonly error: ApiErrorObject;
}

export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly headers_set: readonly string[];
  readonly headers_removed: readonly string[];
  readonly body: unknown;
}

/** The explanation of a request. `explain --json` prints these keys. */
export interface RequestExplanation {
  readonly profile: string;
  readonly model: string | null;
  readonly request: { readonly method: string; readonly path: string };
  readonly outcome: 'sent' | 'catalog' | 'answered' | 'refused' | 'passed';
  readonly chat_request: UpstreamRequest | null;
  /** The refusals of the request. The client gets the first; the others would follow once it is repaired. */
  readonly refusals: readonly Refusal[];
  readonly fields: readonly ExplainedField[];
  readonly dropped: readonly (Reason & { readonly name: string })[];
  /** Parts of the Chat request that come from no field of the request. */
  readonly added: readonly (ChatPlace & Pick<Reason, 'causes'>)[];
  /** The reason why the upstream's list of models becomes the catalog for Codex; null for any other request. */
  readonly catalog: Reason | null;
  /** The reason why the client gets an empty Response, and nothing is sent upstream; null for any other request. */
  readonly answered: Reason | null;
  readonly notes: readonly string[];
}
