import { configurationUpdateItem } from '../../../../schema/create-response.ts';
import { itemType } from './item-type.ts';

/** What the last one says counts, of each setting by itself. */
export const configurationUpdate = itemType(configurationUpdateItem, ({ reasoning, text }, at, input) => {
  const { effort, format } = input.update;
  input.update = { effort: reasoning?.effort ?? effort, format: text?.format ?? format };
  const updatedBy = input.settings.trace?.updatedBy;
  if (updatedBy === undefined) return;
  if (reasoning?.effort != null) updatedBy.effort = at;
  if (text?.format != null) updatedBy.format = at;
});
