import type { ClientToolType } from '../../wire/schema/response-resource.ts';
import { applyPatch } from './apply-patch.ts';
import type { ClientTool } from './client-tool.ts';
import { localShell } from './local-shell.ts';
import { shell } from './shell.ts';
import { toolSearch } from './tool-search.ts';

export const clientTools: Readonly<Record<ClientToolType, ClientTool>> = {
  tool_search: toolSearch,
  shell,
  local_shell: localShell,
  apply_patch: applyPatch,
};
