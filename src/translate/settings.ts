import type { Profile } from '../upstream/profile.ts';

/** Where the upstream's reasoning text goes: see `docs/mapping.md`, choice D2. */
export type ReasoningCarrier = 'summary' | 'reasoning_text' | 'reasoning';

/** Sizes above which a request is refused before the upstream is called. */
export interface RequestLimits {
  /** Items in `input`. */
  readonly maxItems: number;
  /** UTF-8 bytes of one text part. */
  readonly maxTextBytes: number;
  /** UTF-8 bytes of one image URL (data URLs included). */
  readonly maxImageUrlBytes: number;
  /** UTF-8 bytes of one `file_data`. */
  readonly maxFileBytes: number;
  /** Tools, namespaces counted by their members. */
  readonly maxTools: number;
  /** Levels of objects and arrays in the body. */
  readonly maxNesting: number;
  /** JSON values in the body, and again in what its reasoning items carry: the CPU of a request grows with them. */
  readonly maxValues: number;
}

/** How a conversation is summed up when a client has it compacted. */
export interface CompactionSettings {
  /** What the model is asked for. */
  readonly prompt: string;
  /** Tokens of a summary at most. */
  readonly maxTokens: number;
  /** Tokens of the model's context window; null where it is not known. */
  readonly contextWindow: number | null;
  /** `compaction` items that other servers made: left out and named, or refused. */
  readonly foreignItems: 'drop' | 'reject';
}

/** What an operator says of the models that Codex asks for. */
export interface CatalogSettings {
  /** The system prompt that Codex uses in place of its own. */
  readonly instructions: string;
  /** Tokens of the context window of models whose server does not say; null where nobody does. */
  readonly contextWindow: number | null;
  /** Fields by model, and under `*` for all: they win over everything else. */
  readonly overrides: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

/** What an operator chooses; the defaults are in the table of choices of `docs/mapping.md`. */
export interface TranslationSettings {
  readonly profile: Profile;
  readonly limits: RequestLimits;
  /** Used when a request names no model; null refuses it. */
  readonly defaultModel: string | null;
  readonly omittedStore: 'accept' | 'reject';
  readonly reasoningEvents: ReasoningCarrier;
  /** Tool types that are left out and named, instead of refused. */
  readonly droppedTools: readonly string[];
  /** Finished items of hosted tools: their text is kept and the rest dropped, or the request is refused. */
  readonly unsupportedItems: 'reject' | 'drop';
  /** Items and parts of a type nobody knows: their text is kept, or they are dropped, or the request is refused. */
  readonly unknownItems: 'text' | 'drop' | 'reject';
  /** `context_management`: accepted and named as dropped, or refused. */
  readonly contextManagement: 'accept' | 'reject';
  readonly orphanOutputs: 'reject' | 'synthesize';
  readonly missingOutputs: 'reject' | 'synthesize';
  readonly unknownFields: 'forward' | 'reject' | 'ignore';
  readonly strictEcho: boolean;
  readonly compaction: CompactionSettings;
  readonly catalog: CatalogSettings;
}
