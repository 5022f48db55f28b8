import { additionalToolsItem } from '../../../../wire/schema/create-response.ts';
import { itemType } from './input-builder.ts';

/** Tools that are offered from here on. */
export const additionalTools = itemType(
  additionalToolsItem,
  ({ tools }, at, input) => {
    input.toolLists.push({ tools, param: `${at}.tools` });
  },
  ['role'],
);
