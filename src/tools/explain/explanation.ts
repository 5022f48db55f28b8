import type { ApiError } from '../../filter/index.ts';
import type { Fate } from './fates.ts';
import type { Cause } from './what-if.ts';

/** Why, and where to read about it. */
export interface Reason {
  /** Flags of the profile and variables of the environment that decided it; empty if it is always the same. */
  readonly causes: readonly Cause[];
  /** The row of `docs/mapping.md`: what it says, and its address. */
  readonly rule: string;
  readonly link: string;
}

/** A part of what the upstream gets. */
export interface ChatPlace {
  /** `messages[0].content`, `header accept`, or `path`. */
  readonly path: string;
  /** `…` for a value that twenty fields became before. */
  readonly value: unknown;
}

/** The fate of one field. */
export interface ExplainedField extends Reason {
  readonly field: string;
  readonly value?: unknown;
  readonly fate: Fate;
  /** Where in the Chat request it can be seen. */
  readonly becomes: readonly ChatPlace[];
  /** Where in the Response it can be seen. */
  readonly in_response: readonly string[];
  /** The dropped parts, as `x-responses-dropped` names them. */
  readonly dropped: readonly string[];
}

/** A refusal: what the client gets instead of an answer. */
export interface Refusal extends Reason {
  readonly status: number;
  readonly error: ReturnType<ApiError['toObject']>;
}

/** The request that the upstream gets. */
export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly headers_set: readonly string[];
  readonly headers_removed: readonly string[];
  readonly body: unknown;
}

/** How a request is translated. Its keys are the machine form's. */
export interface RequestExplanation {
  readonly profile: string;
  readonly model: string | null;
  readonly request: { readonly method: string; readonly path: string };
  readonly outcome: 'sent' | 'catalog' | 'answered' | 'refused' | 'passed';
  readonly chat_request: UpstreamRequest | null;
  /** The first is the one the client gets; the others are what it would get next. */
  readonly refusals: readonly Refusal[];
  readonly fields: readonly ExplainedField[];
  /** By their names in `x-responses-dropped`. */
  readonly dropped: readonly (Reason & { readonly name: string })[];
  /** Parts of the Chat request that come from no field of the request. */
  readonly added: readonly (ChatPlace & Pick<Reason, 'causes'>)[];
  /** The reason why the upstream's list of models becomes the catalog for Codex; null for any other request. */
  readonly catalog: Reason | null;
  /** Why the client gets an empty Response, and nothing is sent upstream; null for any other request. */
  readonly answered: Reason | null;
  /** Notes on what was not explained, and why. */
  readonly notes: readonly string[];
}
