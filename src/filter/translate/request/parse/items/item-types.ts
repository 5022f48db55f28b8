import { clientTools } from '../../../client-tools/client-tools.ts';
import { additionalTools } from './additional-tools.ts';
import { compaction, compactionTrigger } from './compaction-items.ts';
import { configurationUpdate } from './configuration-update.ts';
import { customToolCall, functionCall, toolOutput } from './function-call-items.ts';
import { hostedItems } from './hosted-items.ts';
import type { ItemType } from './input-builder.ts';
import { itemReference } from './item-reference.ts';
import { agentMessage, message } from './message-items.ts';
import { reasoning } from './reasoning-items.ts';

const { tool_search: toolSearch, ...runTools } = clientTools;

/** Every type of input item with a rule. Any other is read for its text, or refused. */
export const itemTypes: ReadonlyMap<string, ItemType> = new Map<string, ItemType>([
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
  ['item_reference', itemReference],
  ...hostedItems,
]);
