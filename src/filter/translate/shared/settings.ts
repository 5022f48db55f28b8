import type { Profile } from '../../upstream/profile.ts';
import type { Provenance } from './provenance.ts';

/** The operator's settings, and the profile; docs/settings.md has their variables, defaults and meanings. */
export interface TranslationSettings extends OperatorSettings {
  readonly profile: Profile;
  /** Set while items before the user's latest messages are read: no media in them are asked for now. */
  readonly isHistory?: true;
  /** Set only by `explain`: nothing is recorded without it. */
  readonly provenance?: Provenance;
}

export interface OperatorSettings {
  readonly defaultModel: string | null;
  readonly omittedStore: 'accept' | 'reject';
  readonly reasoningEvents: ReasoningCarrier;
  readonly reasoningAlone: 'completed' | 'failed';
  readonly droppedTools: readonly string[];
  readonly unknownItems: 'text' | 'drop' | 'reject' | 'extensions';
  readonly orphanOutputs: 'reject' | 'synthesize';
  readonly missingOutputs: 'reject' | 'synthesize';
  readonly unknownFields: 'forward' | 'reject' | 'ignore';
  readonly strictEcho: boolean;
  readonly compaction: CompactionSettings;
  readonly catalog: CatalogSettings;
  /** Maximum sizes of a request and its parts. */
  readonly limits: {
    readonly maxValues: number;
    readonly maxItems: number;
    readonly maxTextBytes: number;
    readonly maxFileBytes: number;
    readonly maxTools: number;
    readonly maxNesting: number;
  };
}

export interface CompactionSettings {
  readonly prompt: string;
  readonly maxTokens: number;
  /** The context window in tokens; null where it is unknown. */
  readonly contextWindow: number | null;
}

export interface CatalogSettings {
  readonly contextWindow: number | null;
  /** Fields by model; those of `*` are for every model. */
  readonly overrides: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly instructions: string;
}

/** Where the upstream's reasoning text goes: see `docs/mapping.md`, choice D2. */
export type ReasoningCarrier = 'summary' | 'summary_and_content' | 'reasoning_text' | 'reasoning';

/** Do events of a summary carry the reasoning? */
export function isSummary(carrier: ReasoningCarrier): boolean {
  return carrier === 'summary' || carrier === 'summary_and_content';
}
