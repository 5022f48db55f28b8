import { itemReference as schema } from '../../../../wire/schema/create-response.ts';
import { quote, unsupportedParameter } from '../../request-errors.ts';
import { itemType } from './input-builder.ts';

export const itemReference = itemType(schema, ({ id }, at, input) => {
  // Ids that begin so were made here, for reasoning. The upstream can do without that text.
  if (id.startsWith('rs_')) {
    input.dropped.push(`${at}.item_reference`);
    return;
  }
  throw unsupportedParameter(
    at,
    `Item ${quote(id)} cannot be found: nothing is stored here. Send the item itself instead of an item_reference (in the AI SDK: providerOptions.openai.store = false).`,
  );
});
