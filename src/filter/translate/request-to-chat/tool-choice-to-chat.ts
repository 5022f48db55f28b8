import { generalOf } from '../../../formats/json/paths.ts';
import type { ChatNamedTool, ChatToolChoice, ExtensionKeys } from '../../wire/schema/chat-request.ts';
import type { Reading } from '../shared/dropped.ts';
import type { ChosenTool, TextFormatRequest, ToolChoiceMode, ToolChoiceRequest } from '../shared/parsed.ts';
import { invalidValue, quote, unsupportedValue } from '../shared/request-errors.ts';
import { excludesTools } from './text-format-to-chat.ts';
import type { OfferedTool, ToolTable } from './tools-to-chat.ts';

export interface ToolChoice {
  /** Chat's `tool_choice`; undefined leaves it out. */
  readonly chat: ChatToolChoice | undefined;
  /** The tools to offer. */
  readonly tools: readonly OfferedTool[];
  /** The only names the answer may call; null if the request does not restrict them. */
  readonly allowed: ReadonlySet<string> | null;
  /** The value that the Response repeats. */
  readonly echo: unknown;
}

const param = 'tool_choice';

/**
 * `tool_choice` and the tools to offer with it, in the form the profile's server takes. Throws `ApiError` for a choice that
 * names no offered tool. `dropped` receives `tool_choice` where the server ignores the field.
 */
export function translateToolChoice(
  choice: ToolChoiceRequest | null,
  table: ToolTable,
  format: TextFormatRequest,
  { settings, dropped }: Reading,
): ToolChoice {
  const { toolChoice: support } = settings.profile;
  // Where the server takes one of both, the format is worth more than tools that may not be called.
  const offersUncalled = support.sent && (format.type === 'text' || !excludesTools(settings.profile));
  const all = table.offered;
  if (choice === null) return { chat: undefined, tools: all, allowed: null, echo: 'auto' };
  switch (choice.type) {
    case 'mode':
      return {
        ...choiceOfMode(choice.mode, all),
        allowed: choice.mode === 'none' ? new Set() : null,
        // Nothing holds the answer to a call that must come.
        echo: choice.mode === 'required' && !support.sent ? 'auto' : choice.mode,
      };
    case 'named': {
      const tool = offeredBy(choice.tool);
      if (!support.named) leaveOut(choice.tool.extensions, choice.tool.at);
      const made = support.named ? { chat: byName(tool, choice.tool), tools: all } : choiceOfMode('required', [tool]);
      return { ...made, allowed: new Set([tool.name]), echo: echoOf(choice.tool) };
    }
    case 'allowed_tools':
      return choiceOfAllowed(choice);
  }

  /** One of the three modes, over these tools. */
  function choiceOfMode(mode: ToolChoiceMode, tools: readonly OfferedTool[]): Pick<ToolChoice, 'chat' | 'tools'> {
    if (mode === 'required') {
      if (tools.length === 0)
        throw invalidValue(
          param,
          `'tool_choice' is 'required', but no tools are offered. Offer at least one tool, or leave 'tool_choice' out.`,
        );
      if (!support.sent || support.required === 'ignored') {
        dropped.push(param);
        return { chat: undefined, tools };
      }
      if (support.required === null) {
        throw unsupportedValue(
          param,
          `The upstream cannot be required to call a tool. Send 'auto' as 'tool_choice', or name a function: {"type": "function", "name": …}.`,
        );
      }
      return { chat: support.required, tools };
    }
    if (mode === 'none' && !offersUncalled) return { chat: undefined, tools: [] };
    return { chat: support.sent && tools.length > 0 ? mode : undefined, tools };
  }

  /** Names the server's own keys of a choice for which Chat has no object. */
  function leaveOut(extensions: ExtensionKeys | null, at: string): void {
    for (const key of Object.keys(extensions ?? {})) dropped.pushKey(generalOf(at), key);
  }

  function choiceOfAllowed({ mode, tools, extensions }: ToolChoiceRequest & { type: 'allowed_tools' }): ToolChoice {
    const listed = tools.map(offeredBy);
    const names = new Set(listed.map(({ name }) => name));
    // The mode wins over the list, whether or not the upstream keeps to it.
    const allowed = mode === 'none' ? new Set<string>() : names;
    const echo = { type: 'allowed_tools', tools: tools.map(echoOf), mode };
    if (support.allowed && mode !== 'none') {
      const chosen = tools.map((tool) => byName(offeredBy(tool), tool));
      const chat = { type: 'allowed_tools', allowed_tools: { mode, tools: chosen }, ...extensions } as const;
      return { chat, tools: all, allowed, echo };
    }
    leaveOut(extensions, param);
    for (const tool of tools) leaveOut(tool.extensions, tool.at);
    if (support.allowed) return { chat: mode, tools: all, allowed, echo };
    // Offering fewer tools changes the prompt and so misses the upstream's prompt cache, but there is no field for it.
    const offered = all.filter(({ name }) => names.has(name));
    return { ...choiceOfMode(mode, offered), allowed, echo };
  }

  function offeredBy({ name, namespace, param: at }: ChosenTool): OfferedTool {
    const tool = table.find(name, namespace);
    if (tool === undefined)
      throw invalidValue(at, `Tool choice ${quote(name)} not found in 'tools'. Choose a tool that 'tools' lists.`);
    return tool;
  }

  function echoOf(chosen: ChosenTool): unknown {
    const { type, name, namespace } = chosen;
    // The published schema has functions only, and no namespaces.
    if (settings.strictEcho) return { type: 'function', name };
    const kind = type ?? offeredBy(chosen).origin.kind;
    if (kind !== 'function' && kind !== 'custom') return { type: kind };
    return { type: kind, name, ...(namespace === null ? {} : { namespace }) };
  }
}

/** The tool as Chat names it, with the server's own keys of the choice. */
function byName({ name, chat }: OfferedTool, { extensions }: ChosenTool): ChatNamedTool {
  return chat.type === 'custom'
    ? { type: 'custom', custom: { name }, ...extensions }
    : { type: 'function', function: { name }, ...extensions };
}
