import type { ChatExtensionTool } from '../../../wire/schema/chat-request.ts';
import { maxNameLength } from '../../../wire/schema/create-response.ts';
import { isExtensionName } from '../../shared/extension-name.ts';
import { notOneOf, quote, unsupportedParameter, withinLength } from '../../shared/request-errors.ts';
import type { KnownTypes, ToolList } from './input-builder.ts';
import { isRefused } from './left-out.ts';
import { parseTyped } from './parse-shape.ts';
import type { ToolsBuilder } from './tools-builder.ts';

/** `isOwn`: the list is the request's own `tools`. Throws `ApiError` for the first mistake. */
export function parseTools(
  { tools, param }: ToolList,
  isOwn: boolean,
  types: KnownTypes['tools'],
  builder: ToolsBuilder,
): void {
  builder.param = param;
  builder.isOwn = isOwn;
  for (const [index, given] of tools.entries()) {
    const at = `${param}[${index}]`;
    builder.provenance.reading(at);
    const [type, tool] = parseTyped(given, at);
    const known = types.get(type);
    if (known === undefined) {
      if (isOwn && builder.settings.profile.passExtensions && isExtensionName(type)) offerExtension(tool, at, builder);
      else leaveOutOrRefuse(type, at, types, builder);
      continue;
    }
    const listed = known.parse(tool, at, builder);
    if (isOwn && listed !== null) builder.listed.push(listed);
  }
}

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

/** Is it a type of tool that OpenAI's servers run, also with the date of a version? */
export function isHostedTool(type: string): boolean {
  return hostedTools.has(withoutDate(type));
}

/** The type without the date of a version: `web_search_preview_2025_03_11`. */
function withoutDate(type: string): string {
  return type.replace(/_\d{4}_\d{2}_\d{2}$/, '');
}

/** Offers a tool that the server itself knows, under its name or else its type. */
function offerExtension(tool: Record<string, unknown>, param: string, builder: ToolsBuilder): void {
  const { type, name = type } = tool as unknown as ChatExtensionTool & { readonly name?: unknown };
  const chatName = typeof name === 'string' ? withinLength(name, maxNameLength, `${param}.name`) : type;
  const origin = { kind: 'function', name: chatName } as const;
  builder.offer({ kind: 'extension', param, chatName, origin, description: null, tool: { ...tool, type } });
  const listed = builder.writeEcho(tool);
  if (listed !== null) builder.listed.push(listed);
}

function leaveOutOrRefuse(
  type: string,
  at: string,
  types: KnownTypes['tools'],
  { settings, dropped, isOwn }: ToolsBuilder,
): void {
  const family = withoutDate(type);
  const isHosted = hostedTools.has(family);
  if (settings.droppedTools.includes(type) || settings.droppedTools.includes(family) || (isHosted && !isOwn)) {
    dropped.push(`${at}.${type}`);
    return;
  }
  const param = `${at}.type`;
  if (isHosted) {
    const message = `Tools of type ${quote(type)} run on OpenAI's servers and are not available here. Offer a tool of type 'function' and run it yourself.`;
    throw unsupportedParameter(param, message);
  }
  if (isRefused(type, settings)) throw notOneOf(param, type, [...types.keys()]);
  dropped.pushUnknownType({ kind: 'tool', type }, at);
}
