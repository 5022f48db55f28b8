import { ApiError } from '../../../schema/api-error.ts';
import {
  additionalToolsItem,
  customToolCallItem,
  functionCallItem,
  isJsonObject,
  maxNamespaceLength,
  messageItem,
  reasoningItem,
  reasoningPart,
  toolOutputItem,
  toolSearchCallItem,
  toolSearchOutputItem,
} from '../../../schema/create-response.ts';
import { decodeReasoningEnvelope, type ReasoningEnvelope } from '../../reasoning-envelope.ts';
import type { TranslationSettings } from '../../settings.ts';
import { invalidType, invalidValue, missingParameter, paramAt, quote, unsupportedParameter } from '../errors.ts';
import type { InputItem, InputReasoning, InputToolCall } from '../parsed.ts';
import { flattenToolName } from '../tool-name.ts';
import { parseContent, withinTextLimit } from './content.ts';
import { readShape } from './shape.ts';

export interface ParsedInput {
  readonly items: readonly InputItem[];
  /** Tool lists found among the items, each with its path in the request. */
  readonly toolLists: readonly { readonly tools: readonly unknown[]; readonly param: string }[];
}

/** Items of tools that only OpenAI's servers run, calls and outputs. */
const unsupportedItems = new Set([
  'web_search_call',
  'file_search_call',
  'computer_call',
  'computer_call_output',
  'image_generation_call',
  'code_interpreter_call',
  'local_shell_call',
  'local_shell_call_output',
  'shell_call',
  'shell_call_output',
  'apply_patch_call',
  'apply_patch_call_output',
  'mcp_list_tools',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_call',
  'program',
  'program_output',
]);

/**
 * `input` as items, each parsed by its `type`. Throws `ApiError` for the first mistake. `dropped` receives the paths of the
 * items that are left out.
 */
export function parseInput(
  input: string | readonly unknown[],
  settings: TranslationSettings,
  dropped: string[],
): ParsedInput {
  if (typeof input === 'string') {
    const content = parseContent(input, 'user', 'input', settings);
    return { items: [{ kind: 'message', role: 'user', content }], toolLists: [] };
  }
  if (input.length === 0) {
    throw ApiError.invalidRequest('empty_array', 'input', `Invalid 'input': it must not be an empty array.`);
  }
  if (input.length > settings.limits.maxItems) {
    throw ApiError.invalidRequest(
      'array_above_max_length',
      'input',
      `Invalid 'input': too many items. Expected at most ${settings.limits.maxItems}, but got ${input.length}.`,
    );
  }
  const items: InputItem[] = [];
  let envelopeValues = 0;
  const toolLists: { tools: readonly unknown[]; param: string }[] = [];
  input.forEach((item, index) => {
    parseItem(item, `input[${index}]`);
  });
  return { items, toolLists };

  function parseItem(item: unknown, at: string): void {
    if (!isJsonObject(item)) throw invalidType(at, 'an object', item);
    const type = typeOfItem(item, at);
    switch (type) {
      case 'message': {
        refuseChatFields(item, at);
        const { role, content } = readShape(messageItem, item, at);
        const speaker = role === 'developer' ? 'system' : role;
        items.push({ kind: 'message', role, content: parseContent(content, speaker, `${at}.content`, settings) });
        return;
      }
      case 'function_call': {
        const read = readShape(functionCallItem, item, at);
        const given = typeof read.arguments === 'string' ? read.arguments : JSON.stringify(read.arguments);
        withinTextLimit(given, `${at}.arguments`, settings);
        // Chat templates parse the arguments; an empty string would be an error there.
        items.push(callOf('function', read, given === '' ? '{}' : given, at));
        return;
      }
      case 'custom_tool_call': {
        const read = readShape(customToolCallItem, item, at);
        items.push(callOf('custom', read, withinTextLimit(read.input, `${at}.input`, settings), at));
        return;
      }
      case 'tool_search_call': {
        const { call_id, arguments: given } = readShape(toolSearchCallItem, item, at);
        items.push(callOf('tool_search', { call_id, name: 'tool_search' }, JSON.stringify(given ?? {}), at));
        return;
      }
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const { call_id, output } = readShape(toolOutputItem, item, at);
        const content = parseContent(output, 'tool', `${at}.output`, settings);
        items.push({ kind: 'output', param: at, callId: call_id, content });
        return;
      }
      case 'tool_search_output': {
        const { call_id, tools } = readShape(toolSearchOutputItem, item, at);
        const names = foundNames(tools, settings.limits.maxTools);
        const text = names.length === 0 ? 'No tools were found.' : `Tools found: ${names.join(', ')}.`;
        items.push({ kind: 'output', param: at, callId: call_id, content: [{ type: 'text', text }] });
        toolLists.push({ tools, param: `${at}.tools` });
        return;
      }
      case 'additional_tools':
        toolLists.push({ tools: readShape(additionalToolsItem, item, at).tools, param: `${at}.tools` });
        return;
      case 'reasoning':
        items.push(parseReasoning(item, at));
        return;
      case 'item_reference':
        leaveOutReference(item, at);
        return;
      case 'compaction':
      case 'compaction_trigger':
        throw unsupportedParameter(
          at,
          `Items of type '${type}' hold state that only their own server can read. Send the conversation as items instead.`,
        );
      default:
        leaveOutOrRefuse(type, at);
    }
  }

  function parseReasoning(item: unknown, at: string): InputReasoning {
    const { content, summary, encrypted_content } = readShape(reasoningItem, item, at);
    return {
      kind: 'reasoning',
      text: textsOf(content, `${at}.content`).join(''),
      summaries: textsOf(summary, `${at}.summary`),
      envelope: encrypted_content == null ? null : parseEnvelope(encrypted_content, `${at}.encrypted_content`),
    };
  }

  /** What `encrypted_content` carries, if it was made here. Its values count, since the body's own count cannot see them. */
  function parseEnvelope(text: string, at: string): ReasoningEnvelope | null {
    const { maxNesting, maxValues } = settings.limits;
    const decoded = decodeReasoningEnvelope(text, maxNesting, maxValues - envelopeValues);
    if (decoded === 'too_many_values') {
      throw ApiError.invalidRequest(
        'too_many_values',
        at,
        `Invalid '${at}': the reasoning items together hold too many values. Expected at most ${maxValues}.`,
      );
    }
    if (decoded === null) return null;
    envelopeValues += decoded.values;
    return decoded.envelope;
  }

  function textsOf(parts: readonly unknown[] | null | undefined, param: string): string[] {
    return (parts ?? []).map((part, index) => {
      const at = paramAt(param, index);
      return withinTextLimit(readShape(reasoningPart, part, at).text ?? '', `${at}.text`, settings);
    });
  }

  function leaveOutReference(item: Record<string, unknown>, at: string): void {
    const { id } = item;
    if (typeof id !== 'string')
      throw id == null ? missingParameter(`${at}.id`) : invalidType(`${at}.id`, 'a string', id);
    // Ids that begin so were made here, for reasoning. The upstream can do without that text.
    if (id.startsWith('rs_')) {
      dropped.push(`${at}.item_reference`);
      return;
    }
    throw unsupportedParameter(
      at,
      `Item ${quote(id)} cannot be found: nothing is stored here. Send the item itself instead of an item_reference (in the AI SDK: providerOptions.openai.store = false).`,
    );
  }

  function leaveOutOrRefuse(type: string, at: string): void {
    const slug = /^[a-z0-9_-]{1,64}:[a-z0-9_-]{1,64}$/.test(type);
    if (slug || (unsupportedItems.has(type) && settings.unsupportedItems === 'drop')) {
      dropped.push(`${at}.${type}`);
      return;
    }
    if (unsupportedItems.has(type)) {
      throw unsupportedParameter(
        `${at}.type`,
        `Items of type '${type}' belong to tools that the server runs, and there are none here.`,
      );
    }
    throw invalidValue(
      `${at}.type`,
      `Invalid value: ${quote(type)} for '${at}.type'. Supported values are: 'message', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'tool_search_call', 'tool_search_output', 'additional_tools', 'reasoning'.`,
    );
  }
}

/** Refuses what belongs to Chat's messages: ignored, it would silently be missing from the conversation. */
function refuseChatFields(item: Record<string, unknown>, at: string): void {
  for (const [name, instead] of chatMessageFields) {
    const value = item[name];
    if (value == null || (Array.isArray(value) && value.length === 0)) continue;
    throw unsupportedParameter(
      `${at}.${name}`,
      `'${at}.${name}' belongs to the Chat Completions API. In the Responses API use items of type '${instead}'.`,
    );
  }
}

const chatMessageFields = [
  ['tool_calls', 'function_call'],
  ['function_call', 'function_call'],
  ['tool_call_id', 'function_call_output'],
] as const;

/** The item's `type`; messages and references may omit it. */
function typeOfItem(item: Record<string, unknown>, at: string): string {
  const { type, role, id } = item;
  if (typeof type === 'string') return type;
  if (type != null) throw invalidType(`${at}.type`, 'a string', type);
  if (role != null || item['content'] !== undefined) return 'message';
  if (typeof id === 'string') return 'item_reference';
  throw missingParameter(`${at}.type`);
}

function callOf(
  toolKind: InputToolCall['toolKind'],
  call: { call_id: string; name: string; namespace?: string | null | undefined },
  input: string,
  param: string,
): InputToolCall {
  const { call_id: callId, name, namespace } = call;
  return { kind: 'call', param, callId, toolKind, name, namespace: namespace ?? null, input };
}

/**
 * The names under which the model sees these tools. Of more than `limit` different ones the rest are left out: the list
 * itself is refused then.
 */
function foundNames(tools: readonly unknown[], limit: number): string[] {
  const names = new Set<string>();
  for (const tool of tools) {
    if (!isJsonObject(tool) || typeof tool['name'] !== 'string') continue;
    const { name, tools: members } = tool;
    if (!Array.isArray(members)) {
      names.add(name);
    } else if (name.length <= maxNamespaceLength) {
      for (const member of members) {
        if (isJsonObject(member) && typeof member['name'] === 'string')
          names.add(flattenToolName(name, member['name']));
        if (names.size > limit) break;
      }
    }
    if (names.size > limit) break;
  }
  return [...names];
}
