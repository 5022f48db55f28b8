import { ApiError } from '../../../../wire/schema/api-error.ts';
import {
  compactionItem,
  compactionTriggerItem,
  reasoningItem,
  reasoningPart,
} from '../../../../wire/schema/create-response.ts';
import {
  decodeCompactionEnvelope,
  decodeReasoningEnvelope,
  type ReasoningEnvelope,
} from '../../../shared/envelopes.ts';
import { userMessage } from '../../../shared/parsed.ts';
import { invalidValue, paramAt, withinTextLimit } from '../../../shared/request-errors.ts';
import { type InputBuilder, type ItemType, itemType } from '../input-builder.ts';
import { parseFields } from '../parse-shape.ts';

export const reasoning = itemType(reasoningItem, ({ id, content, summary, encrypted_content }, at, input) => {
  const envelope =
    encrypted_content == null ? null : parseEnvelope(encrypted_content, `${at}.encrypted_content`, input);
  input.add({
    kind: 'reasoning',
    id: typeof id === 'string' ? id : null,
    isForeign: encrypted_content != null && encrypted_content !== '' && envelope === null,
    text: parseTexts(content, `${at}.content`, input).join(''),
    summaries: parseTexts(summary, `${at}.summary`, input),
    envelope,
  });
});

/** The contents of `encrypted_content`; null if another server made it. */
function parseEnvelope(text: string, at: string, input: InputBuilder): ReasoningEnvelope | null {
  const { maxNesting, maxValues } = input.settings.limits;
  const decoded = decodeReasoningEnvelope(text, maxNesting, maxValues - input.envelopeValues);
  if (decoded === 'too_many_values') {
    const message = `Invalid '${at}': the reasoning items together hold too many values. Expected at most ${maxValues}.`;
    throw ApiError.invalidRequest('too_many_values', at, message);
  }
  if (decoded === null) return null;
  input.envelopeValues += decoded.values;
  return decoded.envelope;
}

function parseTexts(parts: readonly unknown[] | null | undefined, param: string, input: InputBuilder): string[] {
  return (parts ?? []).map((part, index) => {
    const at = paramAt(param, index);
    return withinTextLimit(parseFields(reasoningPart, part, at, input).text ?? '', `${at}.text`, input.settings);
  });
}

/** A summary that was made here stays in its place; others cannot be read. `type` is the item's own. */
export function compaction(type: string): ItemType {
  return itemType(compactionItem, ({ encrypted_content }, at, input) => {
    const param = `${at}.encrypted_content`;
    const envelope = decodeCompactionEnvelope(encrypted_content ?? '');
    if (envelope === 'damaged') {
      const message = `Invalid '${param}': the summary was cut or changed on its way. Send the item as it was received, or leave it out.`;
      throw invalidValue(param, message);
    }
    if (envelope !== 'foreign') {
      const text = withinTextLimit(envelope.text, param, input.settings);
      input.add(userMessage(`Summary of the conversation so far:\n\n${text}`));
      return;
    }
    input.dropped.push(`${at}.${type}`);
  });
}

export const compactionTrigger = itemType(compactionTriggerItem, (_, at, input) => {
  if (!input.isLast) {
    throw invalidValue(at, `Invalid '${at}': a 'compaction_trigger' must be the last item of 'input'.`);
  }
  input.endsInTrigger = true;
  input.provenance.asksForSummary(at);
});
