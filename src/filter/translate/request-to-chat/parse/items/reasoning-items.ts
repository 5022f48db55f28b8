import { ApiError } from '../../../../wire/schema/api-error.ts';
import { reasoningItem, reasoningPart } from '../../../../wire/schema/create-response.ts';
import { decodeReasoningEnvelope, type ReasoningEnvelope } from '../../../shared/reasoning-envelope.ts';
import { paramAt, withinTextLimit } from '../../../shared/request-errors.ts';
import { type InputBuilder, itemType } from '../input-builder.ts';
import { readShape } from '../read-shape.ts';

export const reasoning = itemType(reasoningItem, ({ id, content, summary, encrypted_content }, at, input) => {
  const envelope = encrypted_content == null ? null : envelopeOf(encrypted_content, `${at}.encrypted_content`, input);
  input.add({
    kind: 'reasoning',
    id: typeof id === 'string' ? id : null,
    isForeign: encrypted_content != null && encrypted_content !== '' && envelope === null,
    text: textsOf(content, `${at}.content`, input).join(''),
    summaries: textsOf(summary, `${at}.summary`, input),
    envelope,
  });
});

/** The contents of `encrypted_content`, if it was made here; null if another server made it. */
function envelopeOf(text: string, at: string, input: InputBuilder): ReasoningEnvelope | null {
  const { maxNesting, maxValues } = input.settings.limits;
  const decoded = decodeReasoningEnvelope(text, maxNesting, maxValues - input.envelopeValues);
  if (decoded === 'too_many_values') {
    throw ApiError.invalidRequest(
      'too_many_values',
      at,
      `Invalid '${at}': the reasoning items together hold too many values. Expected at most ${maxValues}.`,
    );
  }
  if (decoded === null) return null;
  input.envelopeValues += decoded.values;
  return decoded.envelope;
}

function textsOf(parts: readonly unknown[] | null | undefined, param: string, input: InputBuilder): string[] {
  return (parts ?? []).map((part, index) => {
    const at = paramAt(param, index);
    return withinTextLimit(readShape(reasoningPart, part, at, input).text ?? '', `${at}.text`, input.settings);
  });
}
