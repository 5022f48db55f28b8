import { additionalToolsItem, configurationUpdateItem, itemReference } from '../wire/schema/create-response.ts';
import { clientTools } from './client-tools/client-tools.ts';
import { customTools, functionTools, namespaceTools } from './request-to-chat/parse/function-tools.ts';
import { type ItemType, itemType, type KnownTypes } from './request-to-chat/parse/input-builder.ts';
import { compaction, compactionTrigger, reasoning } from './request-to-chat/parse/items/envelope-items.ts';
import { customToolCall, functionCall, toolOutput } from './request-to-chat/parse/items/function-call-items.ts';
import { hostedItems } from './request-to-chat/parse/items/hosted-items.ts';
import { agentMessage, message } from './request-to-chat/parse/items/message-items.ts';
import type { ToolType } from './request-to-chat/parse/tools-builder.ts';
import { quote, unsupportedParameter } from './shared/request-errors.ts';

const { tool_search: toolSearch, ...runTools } = clientTools;

const additionalTools = itemType(additionalToolsItem, ({ tools }, at, input) => {
  input.toolLists.push({ tools, param: `${at}.tools` });
});

/** The last item that sets a field wins. */
const configurationUpdate = itemType(configurationUpdateItem, ({ reasoning, text }, at, input) => {
  const { effort, format, formatAt } = input.update;
  input.update = {
    effort: reasoning?.effort ?? effort,
    format: text?.format ?? format,
    formatAt: text?.format == null ? formatAt : at,
  };
  const path = at as `input[${number}]`;
  if (reasoning?.effort != null) input.provenance.replace('reasoning.effort', path);
  if (text?.format != null) input.provenance.replace('text.format', path);
});

const reference = itemType(itemReference, ({ id }, at, { dropped }) => {
  // Ids that begin so were made here, for reasoning, whose text the upstream can do without.
  if (!id.startsWith('rs_')) {
    const message = `Item ${quote(id)} cannot be found: nothing is stored here. Send the item itself instead of an item_reference (in the AI SDK: providerOptions.openai.store = false).`;
    throw unsupportedParameter(at, message);
  }
  dropped.push(`${at}.item_reference`);
});

/** The types of input items with a rule. Any other type is read for its text, or refused. */
const items = new Map<string, ItemType>([
  ['message', message],
  ['function_call', functionCall],
  ['function_call_output', toolOutput],
  ['custom_tool_call', customToolCall],
  ['custom_tool_call_output', toolOutput],
  ...Object.entries(toolSearch.items),
  ['additional_tools', additionalTools],
  ['reasoning', reasoning],
  ...Object.values(runTools).flatMap(({ items }) => Object.entries(items)),
  ['agent_message', agentMessage],
  ['configuration_update', configurationUpdate],
  ['compaction', compaction('compaction')],
  ['compaction_summary', compaction('compaction_summary')], // an older name
  ['context_compaction', compaction('context_compaction')],
  ['compaction_trigger', compactionTrigger],
  ['item_reference', reference],
  ...hostedItems,
]);

/** The types of tools with a rule. Any other type is left out, or refused. */
const tools = new Map<string, ToolType>([
  ['function', functionTools],
  ['custom', customTools],
  ['namespace', namespaceTools],
  ...Object.entries(clientTools).map(([type, { tool }]) => [type, tool] as const),
]);

/** All that a request may have, besides content parts, which are in `partTypes`. */
export const knownTypes: KnownTypes = { items, hostedItems, tools };
