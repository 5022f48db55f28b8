import { configurationUpdateItem } from '../../../../schema/create-response.ts';
import { itemType } from './item-type.ts';

/** What the last one says counts, of each setting by itself. */
export const configurationUpdate = itemType(configurationUpdateItem, ({ reasoning, text }, _, input) => {
  const { effort, format } = input.update;
  input.update = { effort: reasoning?.effort ?? effort, format: text?.format ?? format };
});
