import { compactionItem, compactionTriggerItem } from '../../../../wire/schema/create-response.ts';
import { decodeCompactionEnvelope } from '../../../shared/compaction-envelope.ts';
import { userMessage } from '../../../shared/parsed.ts';
import { invalidValue, withinTextLimit } from '../../../shared/request-errors.ts';
import { type ItemType, itemType } from '../input-builder.ts';

/** A summary that was made here, in its place; others cannot be read. `type` is the item's own. */
export function compaction(type: string): ItemType {
  return itemType(compactionItem, ({ encrypted_content }, at, input) => {
    const param = `${at}.encrypted_content`;
    const envelope = decodeCompactionEnvelope(encrypted_content ?? '');
    if (envelope === 'damaged') {
      throw invalidValue(
        param,
        `Invalid '${param}': the summary was cut or changed on its way. Send the item as it was received, or leave it out.`,
      );
    }
    if (envelope !== 'foreign') {
      const text = withinTextLimit(envelope.text, param, input.settings);
      input.add(userMessage(`Summary of the conversation so far:\n\n${text}`));
      return;
    }
    input.dropped.push(`${at}.${type}`);
  });
}

/** Asks for a summary of what precedes it. */
export const compactionTrigger = itemType(compactionTriggerItem, (_, at, input) => {
  if (!input.isLast) {
    throw invalidValue(at, `Invalid '${at}': a 'compaction_trigger' must be the last item of 'input'.`);
  }
  input.endsInTrigger = true;
  input.provenance.asksForSummary(at);
});
