/**
 * The differences between Chat Completions servers, as data: one row each. A row says what the *server* accepts and
 * sends; the code that reads a flag says what is done about it. Sources: `docs/upstreams.md`.
 */
export interface Profile {
  readonly name: string;
  /** Path that replaces `/v1/responses` (a prefix before `/v1` is kept); `{model}` is filled in. */
  readonly path: string;

  // What is sent
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens';
  readonly developerRole: 'keep' | 'system';
  /** Only leading system messages, merged into one; later ones become labelled user messages. */
  readonly singleSystem: boolean;
  /** `content` of an assistant message that holds only tool calls. */
  readonly emptyAssistantContent: 'null' | 'empty' | 'omit';
  readonly includeUsage: boolean;
  /** Several text parts may stay an array; otherwise they are joined with a line feed. */
  readonly arrayContent: boolean;
  readonly strictTools: boolean;
  readonly customTools: 'native' | 'wrapped';
  readonly parallelToolCalls: boolean;
  /** `openai`: everything, allowed_tools and custom included. `named`: auto, none, required, a function. `any`: Mistral's word for required, no named choice. `none`: the server ignores it. */
  readonly toolChoice: 'openai' | 'named' | 'any' | 'none';
  readonly jsonSchema: 'native' | 'json_object' | 'prompt';
  readonly reasoningEffort: 'reasoning_effort' | 'reasoning_object' | 'thinking_type' | 'enable_thinking' | 'none';
  /** Efforts the server refuses, and what it is sent instead. */
  readonly effortMap: Readonly<Record<string, string>>;
  /** How earlier reasoning is given back (mapping §1.10). */
  readonly reasoningReplay:
    | 'none'
    | 'reasoning_content'
    | 'reasoning'
    | 'both'
    | 'reasoning_details'
    | 'mistral_thinking'
    | 'think_tags';
  readonly reasoningReplayScope: 'all' | 'tool_turns' | 'calls_only' | 'present';
  /** What stands in for missing reasoning where the server demands the field. */
  readonly reasoningBackfill: string | null;
  readonly geminiSignatures: boolean;
  /** A tool result that holds images: the server takes them in the tool message, or they follow in a user message. */
  readonly toolImages: 'native' | 'user_followup';
  readonly file: 'openai' | 'mistral' | 'openrouter' | 'none';
  readonly audio: boolean;
  readonly video: boolean;
  readonly refusalField: boolean;
  readonly logprobs: boolean;
  readonly penalties: boolean;
  readonly frequencyPenalty: boolean;
  readonly verbosity: boolean;
  readonly user: boolean;
  readonly metadata: boolean;
  readonly safetyIdentifier: boolean;
  readonly promptCacheKey: boolean;
  readonly promptCacheRetention: boolean;
  readonly serviceTiers: readonly string[];
  readonly obfuscationOff: boolean;
  /** Extras (`top_k`, `seed`, …) a client may add. */
  readonly extras: boolean;
  /** Fields under another name upstream: `seed` → `random_seed`. */
  readonly renames: Readonly<Record<string, string>>;
  readonly mistralIds: boolean;
  /** The server refuses a user message right after a tool message. */
  readonly noUserAfterTool: boolean;
  readonly mergeAssistant: boolean;

  // What comes back
  readonly thinkTags: boolean;
  readonly implicitThink: boolean;
  /** Reasoning tokens are not part of `completion_tokens` (xAI). */
  readonly reasoningTokensExtra: boolean;
  readonly dedupeTail: boolean;
}

const generic: Profile = {
  name: 'generic',
  path: '/v1/chat/completions',
  maxTokensField: 'max_tokens',
  developerRole: 'system',
  singleSystem: false,
  emptyAssistantContent: 'null',
  includeUsage: true,
  arrayContent: false,
  strictTools: true,
  customTools: 'wrapped',
  parallelToolCalls: true,
  toolChoice: 'named',
  jsonSchema: 'native',
  reasoningEffort: 'reasoning_effort',
  effortMap: {},
  reasoningReplay: 'none',
  reasoningReplayScope: 'present',
  reasoningBackfill: null,
  geminiSignatures: false,
  toolImages: 'user_followup',
  file: 'none',
  audio: true,
  video: false,
  refusalField: false,
  logprobs: true,
  penalties: true,
  frequencyPenalty: true,
  verbosity: false,
  user: false,
  metadata: false,
  safetyIdentifier: false,
  promptCacheKey: false,
  promptCacheRetention: false,
  serviceTiers: [],
  obfuscationOff: false,
  extras: true,
  renames: {},
  mistralIds: false,
  noUserAfterTool: false,
  mergeAssistant: false,
  thinkTags: false,
  implicitThink: false,
  reasoningTokensExtra: false,
  dedupeTail: false,
};

const rows: readonly Profile[] = [generic];

const byName = new Map(rows.map((row) => [row.name, row]));

/** Every profile's name, in the order of the table. */
export const profileNames: readonly string[] = rows.map((row) => row.name);

/** The row of that name, or undefined. */
export function profileOf(name: string): Profile | undefined {
  return byName.get(name);
}
