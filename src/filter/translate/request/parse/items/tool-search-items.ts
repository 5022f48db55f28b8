import {
  additionalToolsItem,
  isJsonObject,
  maxNamespaceLength,
  toolSearchCallItem,
  toolSearchOutputItem,
} from '../../../../wire/schema/create-response.ts';
import { flattenToolName } from '../../flatten-tool-name.ts';
import { argumentsOf, callOf } from './function-call-items.ts';
import { itemType } from './input-builder.ts';

/** A search of the client's own. One that ran on OpenAI's servers is history, but the tools it found are offered too. */
export const toolSearchCall = itemType(
  toolSearchCallItem,
  ({ call_id, arguments: given }, at, input) => {
    if (call_id == null) {
      input.dropped.push(`${at}.tool_search_call`);
      return;
    }
    const text = argumentsOf(JSON.stringify(given ?? {}), input);
    input.add(callOf({ call_id, name: 'tool_search' }, text, at));
  },
  ['execution'],
);

export const toolSearchOutput = itemType(
  toolSearchOutputItem,
  ({ call_id, tools }, at, input) => {
    input.toolLists.push({ tools, param: `${at}.tools` });
    if (call_id == null) {
      input.dropped.push(`${at}.tool_search_output`);
      return;
    }
    const names = foundNames(tools, input.settings.limits.maxTools);
    const text = names.length === 0 ? 'No tools were found.' : `Tools found: ${names.join(', ')}.`;
    input.add({ kind: 'output', param: at, callId: call_id, content: [{ type: 'text', text }] });
  },
  ['execution'],
);

export const additionalTools = itemType(
  additionalToolsItem,
  ({ tools }, at, input) => {
    input.toolLists.push({ tools, param: `${at}.tools` });
  },
  ['role'],
);

/**
 * The names under which the model sees these tools. Of more than `limit` different ones the rest are left out: the list
 * itself is refused then.
 */
function foundNames(tools: readonly unknown[], limit: number): string[] {
  const names = new Set<string>();
  for (const tool of tools) {
    if (!isJsonObject(tool) || typeof tool['name'] !== 'string') continue;
    const { name, tools: members } = tool;
    if (!Array.isArray(members)) {
      names.add(name);
    } else if (name.length <= maxNamespaceLength) {
      for (const member of members) {
        if (isJsonObject(member) && typeof member['name'] === 'string')
          names.add(flattenToolName(name, member['name']));
        if (names.size > limit) break;
      }
    }
    if (names.size > limit) break;
  }
  return [...names];
}
