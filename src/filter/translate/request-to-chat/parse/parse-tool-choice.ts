import { isJsonObject } from '../../../../formats/json/exact.ts';
import { allowedToolsChoice, namedToolChoice, typedToolChoice } from '../../../wire/schema/create-response.ts';
import { readExtensionKeys } from '../../shared/extension-name.ts';
import type { ChosenTool, ToolChoiceMode, ToolChoiceRequest } from '../../shared/parsed.ts';
import { invalidType, invalidValue, missingParameter, quote, unsupportedValue } from '../../shared/request-errors.ts';
import type { CreateResponseFields } from '../../shared/request-fields.ts';
import type { RequestReading } from './input-builder.ts';
import { dropUnknown } from './known-keys.ts';
import { parseFields } from './parse-shape.ts';

const param = 'tool_choice';
const modes: readonly string[] = ['auto', 'none', 'required'] satisfies ToolChoiceMode[];

export function parseToolChoice(
  choice: CreateResponseFields['tool_choice'],
  reading: RequestReading,
): ToolChoiceRequest | null {
  if (choice == null) return null;
  if (typeof choice === 'string') {
    if (isMode(choice)) return { type: 'mode', mode: choice };
    const message = `Invalid value: ${quote(choice)} for 'tool_choice'. Supported values are: ${modes.map(quote).join(', ')}, or an object.`;
    throw invalidValue(param, message);
  }
  const { type } = choice;
  const extensions = readExtensionKeys(choice, reading.settings.profile);
  // Llama Stack writes the list without a type.
  if (type == null && Array.isArray(choice['allowed_tools']))
    return parseToolChoice({ ...choice, type: 'allowed_tools' }, reading);
  if (type == null && choice['name'] == null) throw missingParameter('tool_choice.type');
  if (type === 'allowed_tools') {
    if (choice['tools'] === undefined && Array.isArray(choice[type])) {
      const { mode, allowed_tools } = parseFields(allowedToolsChoice.flat, choice, param, reading, extensions);
      const tools = parseAllowedList(allowed_tools, `${param}.${type}`, reading);
      return { type, mode: mode ?? 'auto', tools, extensions };
    }
    const { object, at, own } = findChoice(choice, 'tools', type, param, reading);
    const { mode, tools } = parseFields(allowedToolsChoice.typed, object, at, reading, own);
    return { type, mode: mode ?? 'auto', tools: parseAllowedList(tools, `${at}.tools`, reading), extensions };
  }
  const tool = parseChosenTool(choice, param, reading);
  if (tool !== null) return { type: 'named', tool };
  const types = [...reading.known.tools].flatMap(([known, { chosenBy }]) => (chosenBy === null ? [] : [quote(known)]));
  const message = `'tool_choice' of type ${quote(type)} needs a tool that OpenAI's servers run. Supported are 'auto', 'none', 'required', and objects of type ${types.join(', ')}, 'allowed_tools'.`;
  throw unsupportedValue(param, message);
}

/** The choice, within the request's own list of allowed tools. Throws `ApiError` for a choice that has a list too. */
export function withAllowedTools(
  choice: ToolChoiceRequest | null,
  tools: readonly ChosenTool[] | null,
): ToolChoiceRequest | null {
  if (tools === null) return choice;
  if (choice !== null && choice.type !== 'mode') {
    const message = `'tool_choice' already says which tools may be called. Send 'allowed_tools' with "auto", "none" or "required", or leave it out.`;
    throw invalidValue('allowed_tools', message);
  }
  return { type: 'allowed_tools', mode: choice?.mode ?? 'auto', tools, extensions: null };
}

/** A list of tools, or of their names; `at` is its path. Throws `ApiError` for the first mistake. */
export function parseAllowedList(list: readonly unknown[], at: string, reading: RequestReading): ChosenTool[] {
  return list.flatMap((entry, index) => parseAllowedEntry(entry, `${at}[${index}]`, reading));
}

function isMode(text: string): text is ToolChoiceMode {
  return modes.includes(text);
}

/** Empty for a tool that is left out of `tools` too. */
function parseAllowedEntry(entry: unknown, at: string, reading: RequestReading): ChosenTool[] {
  const { settings, dropped } = reading;
  if (typeof entry === 'string') return [{ param: at, at, type: null, name: entry, namespace: null, extensions: null }];
  if (!isJsonObject(entry)) throw invalidType(at, 'an object or a name', entry);
  const { type } = entry;
  const tool = parseChosenTool(entry, at, reading);
  if (tool !== null) return [tool];
  // Tools of these two types can be allowed, but not chosen alone.
  if (type === 'namespace' || type === 'tool_search') {
    const extensions = readExtensionKeys(entry, settings.profile);
    if (type === 'tool_search') parseFields(typedToolChoice, entry, at, reading, extensions);
    const name = type === 'tool_search' ? type : parseFields(namedToolChoice, entry, at, reading, extensions).name;
    return [{ param: at, at, type, name, namespace: null, extensions }];
  }
  if (typeof type === 'string' && settings.droppedTools.includes(type)) {
    dropped.push(`${at}.${type}`);
    return [];
  }
  const message = `Only tools that the client runs can be allowed here, such as tools of type 'function'. Leave the other tools out.`;
  throw unsupportedValue(`${at}.type`, message);
}

/**
 * The tool that a choice names; null if no tool can be chosen so. The name is in the choice, which may lack a type, or one level
 * down, as in Chat: `{"type": "function", "function": {"name": …}}`.
 */
function parseChosenTool(choice: Record<string, unknown>, at: string, reading: RequestReading): ChosenTool | null {
  const type = choice['type'] ?? null;
  if (type === null && choice['name'] == null) return null;
  const extensions = readExtensionKeys(choice, reading.settings.profile);
  if (type === null) {
    const { name, namespace = null } = parseFields(namedToolChoice, choice, at, reading, extensions);
    return { param: at, at, type, name, namespace, extensions };
  }
  const chosenBy = typeof type === 'string' ? reading.known.tools.get(type)?.chosenBy : null;
  if (typeof type !== 'string' || chosenBy == null) return null;
  if (chosenBy === 'type') {
    parseFields(typedToolChoice, choice, at, reading, extensions);
    return { param: at, at, type, name: type, namespace: null, extensions };
  }
  const { object, at: path, own } = findChoice(choice, 'name', type, at, reading);
  const { name, namespace = null } = parseFields(namedToolChoice, object, path, reading, own);
  return { param: path, at, type, name, namespace, extensions };
}

/** The object with the fields of a choice: the choice itself or, where it lacks `key`, the object under its type, as in Chat. */
function findChoice(choice: Record<string, unknown>, key: string, type: string, at: string, reading: RequestReading) {
  const own = readExtensionKeys(choice, reading.settings.profile);
  const inner = choice[type];
  if (choice[key] !== undefined || !isJsonObject(inner)) return { object: choice, at, own };
  dropUnknown({ names: new Set(['type', type]), unread: new Set(), inner: [] }, choice, at, reading, own);
  return { object: inner, at: `${at}.${type}`, own: null };
}
