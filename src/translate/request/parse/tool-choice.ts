import {
  allowedToolsChoice,
  type CreateResponseFields,
  isJsonObject,
  namedToolChoice,
} from '../../../schema/create-response.ts';
import { invalidType, invalidValue, missingParameter, quote, unsupportedValue } from '../errors.ts';
import type { ChosenTool, ToolChoiceMode, ToolChoiceRequest } from '../parsed.ts';
import { readShape } from './shape.ts';

const param = 'tool_choice';
const modes: readonly string[] = ['auto', 'none', 'required'] satisfies ToolChoiceMode[];

/** `tool_choice`; null when it is absent. Throws `ApiError` for the first mistake. */
export function parseToolChoice(choice: CreateResponseFields['tool_choice']): ToolChoiceRequest | null {
  if (choice == null) return null;
  if (typeof choice === 'string') {
    if (isMode(choice)) return { type: 'mode', mode: choice };
    throw invalidValue(
      param,
      `Invalid value: ${quote(choice)} for 'tool_choice'. Supported values are: ${modes.map(quote).join(', ')}, or an object.`,
    );
  }
  const type = choice['type'];
  switch (type) {
    case 'function':
    case 'custom':
      if (choice['name'] === undefined && isJsonObject(choice[type])) {
        throw missingParameter('tool_choice.name', `This API takes it flat: {"type": "${type}", "name": …}.`);
      }
      return { type: 'named', tool: chosenTool(type, choice, param) };
    case 'allowed_tools': {
      const { mode, tools } = readShape(allowedToolsChoice, choice, param);
      return { type, mode: mode ?? 'auto', tools: tools.map(parseAllowed) };
    }
    default:
      if (type == null) throw missingParameter('tool_choice.type');
      throw unsupportedValue(
        param,
        `'tool_choice' of type ${quote(type)} needs a tool the server runs. Supported are 'auto', 'none', 'required', and objects of type 'function', 'custom', 'allowed_tools'.`,
      );
  }
}

function isMode(text: string): text is ToolChoiceMode {
  return modes.includes(text);
}

function parseAllowed(entry: unknown, index: number): ChosenTool {
  const at = `${param}.tools[${index}]`;
  if (!isJsonObject(entry)) throw invalidType(at, 'an object', entry);
  const type = entry['type'];
  if (type === 'function' || type === 'custom') return chosenTool(type, entry, at);
  throw unsupportedValue(`${at}.type`, `Only tools of type 'function' and 'custom' can be allowed here.`);
}

function chosenTool(type: ChosenTool['type'], value: unknown, at: string): ChosenTool {
  const { name, namespace } = readShape(namedToolChoice, value, at);
  return { param: at, type, name, namespace: namespace ?? null };
}
