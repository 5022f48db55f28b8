import { generalOf } from '../../../formats/json/loose.ts';
import type { ChatNamedTool, ChatToolChoice, ExtensionKeys } from '../../wire/schema/chat-request.ts';
import type { Reading } from '../shared/dropped.ts';
import type { ChosenTool, TextFormatRequest, ToolChoiceMode, ToolChoiceRequest } from '../shared/parsed.ts';
import { invalidValue, quote, unsupportedValue } from '../shared/request-errors.ts';
import { excludesTools } from './text-format-to-chat.ts';
import type { OfferedTool, ToolTable } from './tools-to-chat.ts';

export interface ToolChoice {
  /** Chat's `tool_choice`; undefined leaves it out. */
  readonly chat: ChatToolChoice | undefined;
  readonly tools: readonly OfferedTool[];
  /** The only names the answer may call; null if the request does not restrict them. */
  readonly allowed: ReadonlySet<string> | null;
  readonly echo: unknown;
}

const param = 'tool_choice';

/**
 * `tool_choice` and the tools to offer with it, in the form the profile's server takes. Throws `ApiError` for a choice that
 * names no offered tool. A choice that the server ignores is dropped and listed.
 */
export function translateToolChoice(
  choice: ToolChoiceRequest | null,
  table: ToolTable,
  format: TextFormatRequest,
  reading: Reading,
): ToolChoice {
  if (choice === null) return { chat: undefined, tools: table.offered, allowed: null, echo: 'auto' };
  const writer = new ChoiceWriter(table, format, reading);
  switch (choice.type) {
    case 'mode':
      return writer.writeMode(choice.mode);
    case 'named':
      return writer.writeNamed(choice.tool);
    case 'allowed_tools':
      return writer.writeAllowed(choice);
  }
}

class ChoiceWriter {
  readonly #table: ToolTable;
  readonly #reading: Reading;
  readonly #support: Reading['settings']['profile']['toolChoice'];
  readonly #offersUncalled: boolean;
  #namespaces: Map<string | undefined, readonly OfferedTool[]> | null = null;

  constructor(table: ToolTable, format: TextFormatRequest, reading: Reading) {
    const { profile } = reading.settings;
    this.#table = table;
    this.#reading = reading;
    this.#support = profile.toolChoice;
    // Where the server takes one of both, the format is worth more than tools that may not be called.
    this.#offersUncalled = this.#support.sent && (format.type === 'text' || !excludesTools(profile));
  }

  writeMode(mode: ToolChoiceMode): ToolChoice {
    const made = this.#inMode(mode, this.#table.offered);
    return { ...made, allowed: mode === 'none' ? new Set() : null, echo: effectiveMode(mode, made.chat) };
  }

  writeNamed(chosen: ChosenTool): ToolChoice {
    const tool = this.#findOffered(chosen);
    const { named: isNamed } = this.#support;
    if (!isNamed) this.#leaveOut(chosen.extensions, chosen.at);
    const made = isNamed
      ? { chat: writeNamedTool(tool, chosen), tools: this.#table.offered }
      : this.#inMode('required', [tool]);
    const named = this.#writeEcho(chosen);
    const echo = made.chat === undefined ? { type: 'allowed_tools', tools: [named], mode: 'auto' } : named;
    return { ...made, allowed: new Set([tool.name]), echo };
  }

  writeAllowed({ mode, tools: given, extensions }: ToolChoiceRequest & { type: 'allowed_tools' }): ToolChoice {
    const tools = given.filter((tool) => this.#isOffered(tool));
    // All tools of the list are missing from the request's tools too, so none may be called.
    if (tools.length === 0) {
      const made = mode === 'required' ? this.#inMode(mode, []) : this.#inMode('none', this.#table.offered);
      return { ...made, allowed: new Set(), echo: 'none' };
    }
    const listed = tools.flatMap((chosen) => this.#findMembers(chosen).map((tool) => ({ tool, chosen })));
    const names = new Set(listed.map(({ tool }) => tool.name));
    // The mode wins over the list, whether or not the upstream keeps to it.
    const allowed = mode === 'none' ? new Set<string>() : names;
    const echoed = { type: 'allowed_tools', tools: tools.map((tool) => this.#writeEcho(tool)) };
    const echo = { ...echoed, mode };
    if (this.#support.allowed && mode !== 'none') {
      const chosen = listed.map(({ tool, chosen: entry }) => writeNamedTool(tool, entry));
      const chat = { type: 'allowed_tools', allowed_tools: { mode, tools: chosen }, ...extensions } as const;
      return { chat, tools: this.#table.offered, allowed, echo };
    }
    this.#leaveOut(extensions, param);
    for (const tool of tools) this.#leaveOut(tool.extensions, tool.at);
    if (this.#support.allowed) return { chat: mode, tools: this.#table.offered, allowed, echo };
    // Offering fewer tools changes the prompt and so misses the upstream's prompt cache, but there is no field for the list.
    const offered = this.#table.offered.filter(({ name }) => names.has(name));
    const made = this.#inMode(mode, offered);
    return { ...made, allowed, echo: { ...echoed, mode: effectiveMode(mode, made.chat) } };
  }

  #inMode(mode: ToolChoiceMode, tools: readonly OfferedTool[]): Pick<ToolChoice, 'chat' | 'tools'> {
    if (mode === 'required') {
      if (tools.length === 0) {
        const message = `'tool_choice' is 'required', but no tools are offered. Offer at least one tool, or leave 'tool_choice' out.`;
        throw invalidValue(param, message);
      }
      if (!this.#support.sent || this.#support.required === 'ignored') {
        this.#reading.dropped.push(param);
        return { chat: undefined, tools };
      }
      if (this.#support.required === null) {
        const message = `The upstream cannot be required to call a tool. Send 'auto' as 'tool_choice', or name a function: {"type": "function", "name": …}.`;
        throw unsupportedValue(param, message);
      }
      return { chat: this.#support.required, tools };
    }
    if (mode === 'none' && !this.#offersUncalled) return { chat: undefined, tools: [] };
    return { chat: this.#support.sent && tools.length > 0 ? mode : undefined, tools };
  }

  /** Drops and lists the server's own keys of a choice for which Chat has no object. */
  #leaveOut(extensions: ExtensionKeys | null, at: string): void {
    for (const key of Object.keys(extensions ?? {})) this.#reading.dropped.pushKey(generalOf(at), key);
  }

  /** False for a search that OpenAI's servers would run, which is left out of the request's tools too. */
  #isOffered({ type, name, at }: ChosenTool): boolean {
    const isLeftOut = type === 'tool_search' && this.#table.find(name, null) === undefined;
    if (isLeftOut) this.#reading.dropped.push(`${at}.${type}`);
    return !isLeftOut;
  }

  /** The chosen tool, or all tools of a namespace; none for a namespace that the list has twice. */
  #findMembers(chosen: ChosenTool): readonly OfferedTool[] {
    if (chosen.type !== 'namespace') return [this.#findOffered(chosen)];
    this.#namespaces ??= Map.groupBy(this.#table.offered, ({ origin }) =>
      'namespace' in origin ? origin.namespace : undefined,
    );
    const members = this.#namespaces.get(chosen.name);
    if (members === undefined) throw notFound(chosen);
    this.#namespaces.set(chosen.name, []);
    return members;
  }

  #findOffered(chosen: ChosenTool): OfferedTool {
    const tool = this.#table.find(chosen.name, chosen.namespace);
    if (tool === undefined) throw notFound(chosen);
    return tool;
  }

  #writeEcho(chosen: ChosenTool): unknown {
    const { type, name, namespace } = chosen;
    // The published schema has functions only, and no namespaces.
    if (this.#reading.settings.strictEcho) return { type: 'function', name };
    const kind = type ?? this.#findOffered(chosen).origin.kind;
    if (kind !== 'function' && kind !== 'custom' && kind !== 'namespace') return { type: kind };
    return { type: kind, name, ...(namespace === null ? {} : { namespace }) };
  }
}

/** Where the server is not sent `required`, the model may answer without a call. */
function effectiveMode(mode: ToolChoiceMode, sent: ToolChoice['chat']): ToolChoiceMode {
  return mode === 'required' && sent === undefined ? 'auto' : mode;
}

function notFound({ name, param: at }: ChosenTool): Error {
  return invalidValue(at, `Tool choice ${quote(name)} not found in 'tools'. Choose a tool that 'tools' lists.`);
}

function writeNamedTool({ name, chat }: OfferedTool, { extensions }: ChosenTool): ChatNamedTool {
  return chat.type === 'custom'
    ? { type: 'custom', custom: { name }, ...extensions }
    : { type: 'function', function: { name }, ...extensions };
}
