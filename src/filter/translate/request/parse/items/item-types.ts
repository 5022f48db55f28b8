import {
  applyPatchCall,
  applyPatchOutput,
  localShellCall,
  localShellOutput,
  shellCall,
  shellOutput,
} from './client-tools.ts';
import { compaction, compactionTrigger } from './compaction.ts';
import { configurationUpdate } from './configuration-update.ts';
import { customToolCall, functionCall, toolOutput } from './function-calls.ts';
import { hostedItems } from './hosted.ts';
import { itemReference } from './item-reference.ts';
import type { ItemType } from './item-type.ts';
import { agentMessage, message } from './messages.ts';
import { reasoning } from './reasoning.ts';
import { additionalTools, toolSearchCall, toolSearchOutput } from './tool-search.ts';

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
