import type { TranslationSettings } from '../settings.ts';
import type { InputReasoning } from './parsed.ts';

/** Earlier reasoning, as it can be given back to the upstream. */
export interface EarlierReasoning {
  readonly text: string;
  /** OpenRouter's `reasoning_details`, when they came from this profile's upstream. */
  readonly details: readonly unknown[];
  /** Gemini's signatures by call id, likewise. */
  readonly signatures: Readonly<Record<string, string>>;
}

/** A reasoning item with what its `encrypted_content` holds, where that was made here. */
export function earlierReasoningOf(
  { text, summaries, envelope }: InputReasoning,
  { profile, reasoningEvents }: TranslationSettings,
): EarlierReasoning {
  const ours = envelope !== null && envelope.p === profile.name; // never replayed to another provider
  // With this setting summaries are the upstream's own text; other servers' summaries only paraphrase it.
  const ownSummaries = reasoningEvents === 'summary' ? summaries : [];
  return {
    text: text || envelope?.t || ownSummaries.join('\n\n'),
    details: (ours && envelope.d) || [],
    signatures: (ours && envelope.g) || {},
  };
}
