import {
  applyPatchCall,
  applyPatchOutput,
  localShellCall,
  localShellOutput,
  shellCall,
  shellOutput,
} from './client-tool-items.ts';
import { compaction, compactionTrigger } from './compaction-items.ts';
import { configurationUpdate } from './configuration-update.ts';
import { customToolCall, functionCall, toolOutput } from './function-call-items.ts';
import { hostedItems } from './hosted-items.ts';
import type { ItemType } from './input-builder.ts';
import { itemReference } from './item-reference.ts';
import { agentMessage, message } from './message-items.ts';
import { reasoning } from './reasoning-items.ts';
import { additionalTools, toolSearchCall, toolSearchOutput } from './tool-search-items.ts';

/** Every type of input item with a rule. Any other is read for its text, or refused. */
export const itemTypes: ReadonlyMap<string, ItemType> = new Map<string, ItemType>([
  ['message', message],
  ['function_call', functionCall],
  ['function_call_output', toolOutput],
  ['custom_tool_call', customToolCall],
  ['custom_tool_call_output', toolOutput],
  ['tool_search_call', toolSearchCall],
  ['tool_search_output', toolSearchOutput],
  ['additional_tools', additionalTools],
  ['reasoning', reasoning],
  ['shell_call', shellCall],
  ['shell_call_output', shellOutput],
  ['local_shell_call', localShellCall],
  ['local_shell_call_output', localShellOutput],
  ['apply_patch_call', applyPatchCall],
  ['apply_patch_call_output', applyPatchOutput],
  ['agent_message', agentMessage],
  ['configuration_update', configurationUpdate],
  ['compaction', compaction('compaction')],
  ['compaction_summary', compaction('compaction_summary')], // an older name
  ['context_compaction', compaction('context_compaction')],
  ['compaction_trigger', compactionTrigger],
  ['item_reference', itemReference],
  ...hostedItems,
]);
