import { clientTools } from '../../client-tools/client-tools.ts';
import { notOneOf, quote, unsupportedParameter } from '../../shared/request-errors.ts';
import { customTools, functionTools, namespaceTools } from './function-tools.ts';
import type { ToolList } from './input-builder.ts';
import { type ToolsBuilder, type ToolType, typedTool } from './tools-builder.ts';
import { isRefused } from './unknown-items.ts';

/** Every type of tool with a rule. Any other is left out, or refused. */
export const toolTypes: ReadonlyMap<string, ToolType> = new Map([
  ['function', functionTools],
  ['custom', customTools],
  ['namespace', namespaceTools],
  ...Object.entries(clientTools).map(([type, { tool }]) => [type, tool] as const),
]);

/** Reads each tool of a list by its `type`; `isOwn` for the request’s own. Throws `ApiError` for the first mistake. */
export function parseTools({ tools, param }: ToolList, isOwn: boolean, builder: ToolsBuilder): void {
  builder.param = param;
  builder.isOwn = isOwn;
  for (const [index, given] of tools.entries()) {
    const at = `${param}[${index}]`;
    if (builder.settings.trace !== undefined) builder.settings.trace.field = at;
    const [type, tool] = typedTool(given, at);
    const known = toolTypes.get(type);
    if (known === undefined) {
      leaveOutOrRefuse(type, at, builder);
      continue;
    }
    const listed = known.read(tool, at, builder);
    if (isOwn && listed !== null) builder.listed.push(listed);
  }
}

/** Tools that only OpenAI's own servers can run. */
const hostedTools = new Set([
  'web_search',
  'web_search_preview',
  'file_search',
  'mcp',
  'code_interpreter',
  'image_generation',
  'computer',
  'computer_use',
  'computer_use_preview',
  'tool_search',
  'programmatic_tool_calling',
]);

/** A type of tool that OpenAI's servers run, also with the date of a version. */
export function isHostedTool(type: string): boolean {
  return hostedTools.has(familyOf(type));
}

/** The type without the date of a version: `web_search_preview_2025_03_11`. */
function familyOf(type: string): string {
  return type.replace(/_\d{4}_\d{2}_\d{2}$/, '');
}

function leaveOutOrRefuse(type: string, at: string, { settings, dropped, isOwn }: ToolsBuilder): void {
  const family = familyOf(type);
  const isHosted = hostedTools.has(family);
  if (settings.droppedTools.includes(type) || settings.droppedTools.includes(family) || (isHosted && !isOwn)) {
    dropped.push(`${at}.${type}`);
    return;
  }
  const param = `${at}.type`;
  if (isHosted) {
    throw unsupportedParameter(
      param,
      `Tools of type ${quote(type)} run on OpenAI's servers and are not available here. Offer a tool of type 'function' and run it yourself.`,
    );
  }
  if (isRefused(type, settings)) throw notOneOf(param, type, [...toolTypes.keys()]);
  dropped.pushUnknownType({ kind: 'tool', type }, at);
}
