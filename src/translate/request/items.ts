import type { z } from 'zod';
import { ApiError } from '../../schema/api-error.ts';
import {
  additionalToolsItem,
  customToolCallItem,
  functionCallItem,
  isJsonObject,
  messageItem,
  reasoningItem,
  toolOutputItem,
  toolSearchCallItem,
  toolSearchOutputItem,
} from '../../schema/create-response.ts';
import { decodeReasoningEnvelope } from '../reasoning-envelope.ts';
import type { TranslationSettings } from '../settings.ts';
import { type ContentPart, readContent, withinTextLimit } from './content.ts';
import {
  invalidType,
  invalidValue,
  missingParameter,
  paramAt,
  quote,
  readShape,
  unsupportedParameter,
} from './shape.ts';
import { flattenToolName } from './tools.ts';

/** What the model's calls were made of; the Chat name is looked up once all tools are known. */
export interface CallItem {
  readonly kind: 'call';
  readonly param: string;
  readonly callId: string;
  readonly toolKind: 'function' | 'custom' | 'tool_search';
  readonly name: string;
  readonly namespace: string | null;
  /** JSON text of the arguments, or a custom tool's input as it is. */
  readonly input: string;
}

export interface OutputItem {
  readonly kind: 'output';
  readonly param: string;
  readonly callId: string;
  readonly content: readonly ContentPart[];
}

export interface MessageItem {
  readonly kind: 'message';
  readonly role: 'user' | 'assistant' | 'system' | 'developer';
  readonly content: readonly ContentPart[];
}

export interface ReasoningItem {
  readonly kind: 'reasoning';
  readonly text: string;
  /** OpenRouter's `reasoning_details`, when they came from this profile's upstream. */
  readonly details: readonly unknown[];
  /** Gemini's signatures by call id, likewise. */
  readonly signatures: Readonly<Record<string, string>>;
}

/** An input item that has a place in Chat messages. */
export type InputItem = MessageItem | CallItem | OutputItem | ReasoningItem;

export interface ReadInput {
  readonly items: readonly InputItem[];
  /** Tool lists found among the items, with where they stood. */
  readonly toolLists: readonly { readonly tools: readonly unknown[]; readonly param: string }[];
}

/** Items of tools that only OpenAI's servers run, calls and outputs alike. */
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

/** `input` as items, each read by its `type`. Throws at the first mistake; `dropped` receives what is left out. */
export function readInput(
  input: string | readonly unknown[],
  settings: TranslationSettings,
  dropped: string[],
): ReadInput {
  if (typeof input === 'string') {
    const content = readContent(input, 'user', 'input', settings);
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
  const toolLists: { tools: readonly unknown[]; param: string }[] = [];
  input.forEach((item, index) => {
    readItem(item, `input[${index}]`);
  });
  return { items, toolLists };

  function readItem(item: unknown, at: string): void {
    if (!isJsonObject(item)) throw invalidType(at, 'an object', item);
    const type = typeOfItem(item, at);
    switch (type) {
      case 'message': {
        refuseChatFields(item, at);
        const { role, content } = readShape(messageItem, item, at);
        const speaker = role === 'developer' ? 'system' : role;
        items.push({ kind: 'message', role, content: readContent(content, speaker, `${at}.content`, settings) });
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
        const content = readContent(output, 'tool', `${at}.output`, settings);
        items.push({ kind: 'output', param: at, callId: call_id, content });
        return;
      }
      case 'tool_search_output': {
        const { call_id, tools } = readShape(toolSearchOutputItem, item, at);
        const names = namesOf(tools);
        const text = names.length === 0 ? 'No tools were found.' : `Tools found: ${names.join(', ')}.`;
        items.push({ kind: 'output', param: at, callId: call_id, content: [{ type: 'text', text }] });
        toolLists.push({ tools, param: `${at}.tools` });
        return;
      }
      case 'additional_tools':
        toolLists.push({ tools: readShape(additionalToolsItem, item, at).tools, param: `${at}.tools` });
        return;
      case 'reasoning':
        items.push(readReasoning(item, at));
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

  function readReasoning(item: unknown, at: string): ReasoningItem {
    const { content, summary, encrypted_content } = readShape(reasoningItem, item, at);
    const envelope =
      encrypted_content == null ? null : decodeReasoningEnvelope(encrypted_content, settings.limits.maxNesting);
    const ours = envelope !== null && envelope.p === settings.profile.name; // never replayed to another provider
    const text = textsOf(content, `${at}.content`).join('');
    const retold = textsOf(summary, `${at}.summary`);
    // With this carrier the summary is the upstream's own text; from elsewhere it would be a retelling.
    const summaries = settings.reasoningEvents === 'summary' ? retold : [];
    return {
      kind: 'reasoning',
      text: text || envelope?.t || summaries.join('\n\n'),
      details: (ours && envelope.d) || [],
      signatures: (ours && envelope.g) || {},
    };
  }

  function textsOf(parts: z.output<typeof reasoningItem>['content'], param: string): string[] {
    return (parts ?? []).map(({ text }, index) =>
      withinTextLimit(text ?? '', `${paramAt(param, index)}.text`, settings),
    );
  }

  function leaveOutReference(item: Record<string, unknown>, at: string): void {
    const { id } = item;
    if (typeof id !== 'string')
      throw id == null ? missingParameter(`${at}.id`) : invalidType(`${at}.id`, 'a string', id);
    // References to reasoning carry ids that were minted here; the text they stand for helps little and can be spared.
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

/** What Chat's messages hold and ours do not: lost without a word, it would be missing from the conversation. */
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

/** A message may leave its `type` out, and so may a reference. */
function typeOfItem(item: Record<string, unknown>, at: string): string {
  const { type, role, id } = item;
  if (typeof type === 'string') return type;
  if (type != null) throw invalidType(`${at}.type`, 'a string', type);
  if (role != null || item['content'] !== undefined) return 'message';
  if (typeof id === 'string') return 'item_reference';
  throw missingParameter(`${at}.type`);
}

function callOf(
  toolKind: CallItem['toolKind'],
  call: { call_id: string; name: string; namespace?: string | null | undefined },
  input: string,
  param: string,
): CallItem {
  const { call_id: callId, name, namespace } = call;
  return { kind: 'call', param, callId, toolKind, name, namespace: namespace ?? null, input };
}

/** Names as the model will see them among its tools. */
function namesOf(tools: readonly unknown[]): string[] {
  return tools.flatMap((tool) => {
    if (!isJsonObject(tool) || typeof tool['name'] !== 'string') return [];
    const { name, tools: members } = tool;
    return Array.isArray(members) ? namesOf(members).map((member) => flattenToolName(name, member)) : [name];
  });
}
