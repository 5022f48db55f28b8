import type { Loose } from '../../wire/schema/chat-completion.ts';
import type { OpaqueFields } from '../../wire/schema/chat-request.ts';
import { objectOf, objectsOf } from '../chat/loose.ts';
import { unpackOpaqueFields } from '../reasoning-envelope.ts';
import type { TranslationSettings } from '../settings.ts';
import type { InputReasoning } from './parsed.ts';

/** Earlier reasoning, as it can be given back to the upstream. */
export interface EarlierReasoning {
  readonly text: string;
  /** OpenRouter's `reasoning_details`, when they came from this profile's upstream. */
  readonly details: readonly unknown[];
  /** Signed `thinking_blocks`; likewise. */
  readonly blocks: readonly unknown[];
  /** Fields that calls, and the message (`''`), must get back, by call id; likewise. */
  readonly fields: Readonly<Record<string, OpaqueFields>>;
}

/** A reasoning item with the contents of its `encrypted_content`, if that was made here. */
export function earlierReasoningOf(
  { text, summaries, envelope }: InputReasoning,
  { profile, reasoningEvents }: TranslationSettings,
): EarlierReasoning {
  const ours = envelope !== null && envelope.p === profile.name; // never replayed to another provider
  // With this setting summaries are the upstream's own text; other servers' summaries only paraphrase it.
  const ownSummaries = reasoningEvents === 'summary' ? summaries : [];
  const whole = text || envelope?.t || ownSummaries.join('\n\n');
  return {
    text: whole,
    details: ours ? withText(envelope.d ?? [], 'text', whole) : [],
    blocks: ours ? withText(objectsOf(envelope.b), 'thinking', whole) : [],
    fields: ours ? unpackOpaqueFields(envelope) : {},
  };
}

/**
 * The entries, with the text in those whose own was left out because it stands in the item: a signature alone would be
 * refused.
 */
function withText(entries: readonly unknown[], key: 'text' | 'thinking', text: string): readonly unknown[] {
  return entries.flatMap((entry): unknown[] => {
    const object = objectOf<Loose<'text' | 'thinking'>>(entry);
    if (object?.[key] !== null) return [entry];
    return text === '' ? [] : [{ ...object, [key]: text }];
  });
}
