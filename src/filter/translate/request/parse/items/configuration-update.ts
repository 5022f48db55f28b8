import { configurationUpdateItem } from '../../../../wire/schema/create-response.ts';
import { knownKeys } from '../../dropped.ts';
import { itemType } from './input-builder.ts';

const reasoningKeys = knownKeys('effort');
const textKeys = knownKeys('format');

/** For each setting, the last one wins. */
export const configurationUpdate = itemType(configurationUpdateItem, ({ reasoning, text }, at, input) => {
  const { effort, format } = input.update;
  input.update = { effort: reasoning?.effort ?? effort, format: text?.format ?? format };
  input.dropped.pushUnknownKeys(reasoning ?? {}, reasoningKeys, 'input[].reasoning');
  input.dropped.pushUnknownKeys(text ?? {}, textKeys, 'input[].text');
  const setBy = input.settings.trace?.setBy;
  if (setBy === undefined) return;
  if (reasoning?.effort != null) setBy.effort = at as `input[${number}]`;
  if (text?.format != null) setBy.format = at;
});
