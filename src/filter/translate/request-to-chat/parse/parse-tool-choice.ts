import { isJsonObject } from '../../../../formats/json/exact.ts';
import {
  allowedToolsChoice,
  type CreateResponseFields,
  namedToolChoice,
} from '../../../wire/schema/create-response.ts';
import type { ChosenTool, ToolChoiceMode, ToolChoiceRequest } from '../../shared/parsed.ts';
import { invalidType, invalidValue, missingParameter, quote, unsupportedValue } from '../../shared/request-errors.ts';
import { readShape } from './read-shape.ts';
import type { KnownTypes, RequestReading } from './reading.ts';

const param = 'tool_choice';
const modes: readonly string[] = ['auto', 'none', 'required'] satisfies ToolChoiceMode[];

/** `tool_choice`; null when it is absent. Throws `ApiError` for the first mistake. */
export function parseToolChoice(
  choice: CreateResponseFields['tool_choice'],
  reading: RequestReading,
): ToolChoiceRequest | null {
  if (choice == null) return null;
  if (typeof choice === 'string') {
    if (isMode(choice)) return { type: 'mode', mode: choice };
    throw invalidValue(
      param,
      `Invalid value: ${quote(choice)} for 'tool_choice'. Supported values are: ${modes.map(quote).join(', ')}, or an object.`,
    );
  }
  const type = choice['type'];
  // Llama Stack writes the list without a type.
  if (type == null && Array.isArray(choice['allowed_tools']))
    return parseToolChoice({ ...choice, type: 'allowed_tools' }, reading);
  if (type == null && choice['name'] == null) throw missingParameter('tool_choice.type');
  if (type === 'allowed_tools') {
    if (choice['tools'] === undefined && Array.isArray(choice[type])) {
      const { mode, allowed_tools } = readShape(allowedToolsChoice.flat, choice, param);
      const tools = parseAllowedList(allowed_tools, `${param}.${type}`, reading);
      return { type, mode: mode ?? 'auto', tools };
    }
    const nested = choice['tools'] === undefined && isJsonObject(choice[type]);
    const at = nested ? `${param}.${type}` : param;
    const { mode, tools } = readShape(allowedToolsChoice.typed, nested ? choice[type] : choice, at);
    return { type, mode: mode ?? 'auto', tools: parseAllowedList(tools, `${at}.tools`, reading) };
  }
  const tool = chosenTool(choice, param, reading.known);
  if (tool !== null) return { type: 'named', tool };
  const types = [...reading.known.tools].flatMap(([known, { chosenBy }]) => (chosenBy === null ? [] : [quote(known)]));
  throw unsupportedValue(
    param,
    `'tool_choice' of type ${quote(type)} needs a tool that OpenAI's servers run. Supported are 'auto', 'none', 'required', and objects of type ${types.join(', ')}, 'allowed_tools'.`,
  );
}

/** The choice, held to the request’s own list of allowed tools. Throws `ApiError` where it is an object with its own. */
export function withAllowedTools(
  choice: ToolChoiceRequest | null,
  tools: readonly ChosenTool[] | null,
): ToolChoiceRequest | null {
  if (tools === null) return choice;
  if (choice !== null && choice.type !== 'mode') {
    throw invalidValue(
      'allowed_tools',
      `'tool_choice' already says which tools may be called. Send 'allowed_tools' with "auto", "none" or "required", or leave it out.`,
    );
  }
  return { type: 'allowed_tools', mode: choice?.mode ?? 'auto', tools };
}

/** A list of tools, or of their names; `at` is its path. Throws `ApiError` for the first mistake. */
export function parseAllowedList(list: readonly unknown[], at: string, reading: RequestReading): ChosenTool[] {
  return list.flatMap((entry, index) => parseAllowed(entry, `${at}[${index}]`, reading));
}

function isMode(text: string): text is ToolChoiceMode {
  return modes.includes(text);
}

/** None for a tool that is left out of `tools` too. */
function parseAllowed(entry: unknown, at: string, { settings, dropped, known }: RequestReading): ChosenTool[] {
  if (typeof entry === 'string') return [{ param: at, type: null, name: entry, namespace: null }];
  if (!isJsonObject(entry)) throw invalidType(at, 'an object or a name', entry);
  const type = entry['type'];
  const tool = chosenTool(entry, at, known);
  if (tool !== null) return [tool];
  if (typeof type === 'string' && settings.droppedTools.includes(type)) {
    dropped.push(`${at}.${type}`);
    return [];
  }
  throw unsupportedValue(
    `${at}.type`,
    `Only tools that the client runs can be allowed here, such as tools of type 'function'. Leave the other tools out.`,
  );
}

/**
 * The tool that a choice names: flat, as Chat has it (`{"type": "function", "function": {"name": …}}`), or by its name without
 * a type. Null if none can be chosen so.
 */
function chosenTool(choice: Record<string, unknown>, at: string, { tools }: KnownTypes): ChosenTool | null {
  const type = choice['type'] ?? null;
  if (type === null && choice['name'] == null) return null;
  if (type === null) {
    const { name, namespace = null } = readShape(namedToolChoice, choice, at);
    return { param: at, type, name, namespace };
  }
  const chosenBy = typeof type === 'string' ? tools.get(type)?.chosenBy : null;
  if (typeof type !== 'string' || chosenBy == null) return null;
  if (chosenBy === 'type') return { param: at, type, name: type, namespace: null };
  const nested = choice['name'] === undefined && isJsonObject(choice[type]);
  const path = nested ? `${at}.${type}` : at;
  const { name, namespace = null } = readShape(namedToolChoice, nested ? choice[type] : choice, path);
  return { param: path, type, name, namespace };
}
