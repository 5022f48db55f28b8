import * as z from 'zod/mini';
import { isJsonObject } from '../../../formats/json/exact.ts';
import { jsonOf, jsonTextOf } from '../../../formats/json/loose.ts';
import {
  callId,
  list,
  maxNameLength,
  optionalObject,
  optionalText,
  optionalValue,
} from '../../wire/schema/create-response.ts';
import type { ClientToolCallItem } from '../../wire/schema/response-resource.ts';
import { itemType } from '../request-to-chat/parse/input-builder.ts';
import { parseCallArguments } from '../request-to-chat/parse/items/function-call-items.ts';
import { toolType } from '../request-to-chat/parse/tools-builder.ts';
import { chatToolName } from '../shared/chat-names.ts';
import type { TranslationSettings } from '../shared/settings.ts';
import { type ClientTool, offerAs } from './client-tool.ts';

export interface ToolSearchCallItem extends ClientToolCallItem {
  readonly type: 'tool_search_call';
  readonly execution: 'client' | 'server';
  readonly arguments: unknown;
}

const entry = z.object({
  execution: optionalText,
  description: optionalText,
  parameters: optionalObject,
});
/** A search without a `call_id` ran on OpenAI's servers, or in an answer made here (`FoundTools`); the tools found are offered. */
const callItem = z.object({ call_id: z.nullish(callId), arguments: optionalValue, execution: optionalValue });
const outputItem = z.object({ call_id: z.nullish(callId), tools: list, execution: optionalValue });

/** A search that the client runs. A search that ran on OpenAI's servers is history, but the tools it found are offered too. */
export const toolSearch: ClientTool<ToolSearchCallItem> = {
  tool: toolType(entry, null, ({ execution, description = null, parameters = null }, at, tools) => {
    // OpenAI's servers have nothing to search here: deferred tools are all offered.
    if (execution !== 'client') {
      tools.isSearched = true;
      tools.dropped.push(`${at}.tool_search`);
      return false;
    }
    return offerAs('tool_search', { description, parameters }, at, tools);
  }),
  items: {
    tool_search_call: itemType(callItem, ({ call_id, arguments: given }, at, input) => {
      if (call_id == null) return;
      const text = parseCallArguments(JSON.stringify(given ?? {}), input);
      input.addCall({ call_id, name: 'tool_search' }, text, at);
    }),
    tool_search_output: itemType(outputItem, ({ call_id, tools }, at, input) => {
      input.toolLists.push({ tools, param: `${at}.tools` });
      if (call_id == null) return;
      const names = listFoundNames(tools, input.settings);
      const text = names.length === 0 ? 'No tools were found.' : `Tools found: ${names.join(', ')}.`;
      input.addOutput(call_id, [{ type: 'text', text }], at);
    }),
  },
  idPrefix: 'tsc',
  itemOf: ({ id, call_id }, status, _given, text) => ({
    id,
    type: 'tool_search_call',
    status,
    call_id,
    execution: 'client',
    arguments: readSearchArguments(text),
  }),
};

/** An object, as in the API; the text itself if it is no JSON, or could not be written again. */
function readSearchArguments(text: string): unknown {
  const value = jsonOf(text);
  return value === undefined || jsonTextOf(value) === '' ? text : value;
}

/** The names under which the model sees these tools. Reading stops above the limit, since a longer list is refused itself. */
function listFoundNames(tools: readonly unknown[], { profile, limits }: TranslationSettings): string[] {
  const limit = limits.maxTools;
  const names = new Set<string>();
  for (const tool of tools) {
    if (!isJsonObject(tool) || typeof tool['name'] !== 'string') continue;
    const { name, tools: members } = tool;
    if (!Array.isArray(members)) {
      names.add(chatToolName(name, null, profile));
    } else if (name.length <= maxNameLength) {
      for (const member of members) {
        if (isJsonObject(member) && typeof member['name'] === 'string')
          names.add(chatToolName(member['name'], name, profile));
        if (names.size > limit) break;
      }
    }
    if (names.size > limit) break;
  }
  return [...names];
}
