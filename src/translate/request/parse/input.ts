import { ApiError } from '../../../schema/api-error.ts';
import {
  additionalToolsItem,
  agentMessageItem,
  type CreateResponseFields,
  compactionItem,
  configurationUpdateItem,
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
import { decodeCompactionEnvelope } from '../../compaction-envelope.ts';
import { decodeReasoningEnvelope, type ReasoningEnvelope } from '../../reasoning-envelope.ts';
import type { TranslationSettings } from '../../settings.ts';
import { summaryMessage } from '../compaction.ts';
import { type Dropped, knownKeys } from '../dropped.ts';
import { invalidType, invalidValue, missingParameter, paramAt, quote, unsupportedParameter } from '../errors.ts';
import type { InputContent, InputItem, InputMessage, InputReasoning, InputToolCall } from '../parsed.ts';
import { flattenToolName } from '../tool-name.ts';
import { readableArguments } from './arguments.ts';
import { parseClientToolItem } from './client-tool-items.ts';
import { parseContent, withinTextLimit } from './content.ts';
import { isHostedItem, textOfHostedItem } from './hosted-items.ts';
import { readShape } from './shape.ts';
import { roleStatedBy, textCarriedBy } from './unknown-item.ts';

export interface ParsedInput {
  readonly items: readonly InputItem[];
  /** Tool lists found among the items, each with its path in the request. */
  readonly toolLists: readonly { readonly tools: readonly unknown[]; readonly param: string }[];
  readonly update: ConfigurationUpdate;
  /** The last item is a `compaction_trigger`: a summary is asked for, not an answer. */
  readonly isCompaction: boolean;
}

const noUpdate: ConfigurationUpdate = { effort: null, format: null };

/** What the last `configuration_update` of the input asks for; it wins over the request's own fields. */
export interface ConfigurationUpdate {
  readonly effort: NonNullable<CreateResponseFields['reasoning']>['effort'];
  readonly format: Record<string, unknown> | null;
}

/**
 * `input` as items, each parsed by its `type`. Throws `ApiError` for the first mistake. `dropped` receives the paths of the
 * items that are left out.
 */
export function parseInput(
  input: string | readonly unknown[],
  settings: TranslationSettings,
  dropped: Dropped,
): ParsedInput {
  if (typeof input === 'string') {
    const content = parseContent(input, 'user', 'input', settings, dropped);
    return {
      items: [{ kind: 'message', role: 'user', content }],
      toolLists: [],
      update: noUpdate,
      isCompaction: false,
    };
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
  let update = noUpdate;
  let isCompaction = false;
  /** Made for the first output that does not name its call: most clients always do. */
  let unanswered: UnansweredCalls | null = null;
  input.forEach((item, index) => {
    parseItem(item, `input[${index}]`);
  });
  return { items, toolLists, update, isCompaction };

  function parseItem(item: unknown, at: string): void {
    if (!isJsonObject(item)) throw invalidType(at, 'an object', item);
    const type = typeOfItem(item, at);
    switch (type) {
      case 'message': {
        refuseChatFields(item, at);
        const { role, content } = readShape(messageItem, item, at);
        const speaker = role === 'developer' ? 'system' : role;
        const parts = parseContent(content, speaker, `${at}.content`, settings, dropped);
        const phase = role === 'assistant' && settings.profile.phase ? phaseOf(item) : null;
        dropped.pushUnknownKeys(item, phase === null ? messageKeys : phasedMessageKeys, 'input[]');
        // Nothing is left of a message whose every part was left out; an empty one it was from the start stays.
        if (parts.length === 0 && content.length > 0) return;
        items.push(
          phase === null ? { kind: 'message', role, content: parts } : { kind: 'message', role, content: parts, phase },
        );
        return;
      }
      case 'function_call': {
        const read = readShape(functionCallItem, item, at);
        const given = typeof read.arguments === 'string' ? read.arguments : JSON.stringify(read.arguments);
        withinTextLimit(given, `${at}.arguments`, settings);
        dropped.pushUnknownKeys(item, functionCallKeys, 'input[]');
        addCall(callOf('function', read, argumentsOf(given), at));
        return;
      }
      case 'custom_tool_call': {
        const read = readShape(customToolCallItem, item, at);
        dropped.pushUnknownKeys(item, customCallKeys, 'input[]');
        addCall(callOf('custom', read, withinTextLimit(read.input, `${at}.input`, settings), at));
        return;
      }
      case 'tool_search_call': {
        const { call_id, arguments: given } = readShape(toolSearchCallItem, item, at);
        addCall(callOf('tool_search', { call_id, name: 'tool_search' }, argumentsOf(JSON.stringify(given ?? {})), at));
        return;
      }
      case 'function_call_output':
      case 'custom_tool_call_output': {
        addOutput(item, at);
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
        dropped.pushUnknownKeys(item, reasoningKeys, 'input[]');
        items.push(parseReasoning(item, at));
        return;
      case 'agent_message':
        addAgentMessage(item, at);
        return;
      case 'configuration_update': {
        const { reasoning, text } = readShape(configurationUpdateItem, item, at);
        update = { effort: reasoning?.effort ?? update.effort, format: text?.format ?? update.format };
        dropped.pushUnknownKeys(item, configurationKeys, 'input[]');
        return;
      }
      case 'item_reference':
        leaveOutReference(item, at);
        return;
      case 'compaction':
      case 'compaction_summary': // an older name
      case 'context_compaction':
        addCompaction(type, item, at);
        return;
      case 'compaction_trigger':
        if (at !== `input[${input.length - 1}]`) {
          throw invalidValue(at, `Invalid '${at}': a 'compaction_trigger' must be the last item of 'input'.`);
        }
        isCompaction = true;
        return;
      default:
        addOther(type, item, at);
    }
  }

  function argumentsOf(given: string): string {
    const { text, wrapped } = readableArguments(given, settings.limits.maxValues);
    if (wrapped) dropped.push('input[].arguments');
    return text;
  }

  /** The output of a call; where the client names only the tool, of the latest call of it that has none yet. */
  function addOutput(item: Record<string, unknown>, at: string): void {
    const { call_id, name, namespace, output } = readShape(toolOutputItem, item, at);
    dropped.pushUnknownKeys(item, toolOutputKeys, 'input[]');
    const content = parseContent(output, 'tool', `${at}.output`, settings, dropped);
    if (!call_id) unanswered ??= new UnansweredCalls(items);
    const callId = call_id || unanswered?.latestOf(name ?? '', namespace ?? null);
    if (callId === undefined) throw missingParameter(`${at}.call_id`);
    const answer = { kind: 'output', param: at, callId, content } as const;
    unanswered?.add(answer);
    items.push(answer);
  }

  function addCall(call: InputToolCall): void {
    unanswered?.add(call);
    items.push(call);
  }

  /** A summary that was made here, in its place; of others nothing can be read. */
  function addCompaction(type: string, item: Record<string, unknown>, at: string): void {
    const { encrypted_content } = readShape(compactionItem, item, at);
    dropped.pushUnknownKeys(item, compactionKeys, 'input[]');
    const param = `${at}.encrypted_content`;
    const envelope = decodeCompactionEnvelope(encrypted_content ?? '');
    if (envelope === 'damaged') {
      throw invalidValue(
        param,
        `Invalid '${param}': the summary was cut or changed on its way. Send the item as it was received, or leave it out.`,
      );
    }
    if (envelope !== 'foreign') {
      items.push(summaryMessage(withinTextLimit(envelope.text, param, settings)));
      return;
    }
    if (settings.compaction.foreignItems === 'reject') {
      throw unsupportedParameter(
        param,
        `Items of type '${type}' that another server made cannot be read here. Send the conversation as items instead.`,
      );
    }
    dropped.push(`${at}.${type}`);
  }

  /** What one agent of Codex told another (multi_agent_v2): the model reads it as the user's. */
  function addAgentMessage(item: Record<string, unknown>, at: string): void {
    const { content } = readShape(agentMessageItem, item, at);
    dropped.pushUnknownKeys(item, agentMessageKeys, 'input[]');
    const parts = parseContent(content, 'user', `${at}.content`, settings, dropped);
    if (parts.length > 0) items.push({ kind: 'message', role: 'user', content: joined(parts) });
  }

  /** Calls and outputs of tools the client runs, finished items of hosted tools, and what nobody knows. */
  function addOther(type: string, item: Record<string, unknown>, at: string): void {
    const history = parseClientToolItem(type, item, at);
    if (history?.kind === 'call') {
      addCall(callOf(history.tool, { call_id: history.callId, name: history.tool }, history.input, at));
      return;
    }
    if (history !== null) {
      const text = withinTextLimit(history.text, `${at}.output`, settings);
      items.push({ kind: 'output', param: at, callId: history.callId, content: [{ type: 'text', text }] });
      return;
    }
    if (isHostedItem(type)) {
      addHosted(type, item, at);
      return;
    }
    if (settings.unknownItems === 'reject') throw unknownItemType(type, at);
    dropped.pushUnknownType({ kind: 'item', type }, at);
    if (settings.unknownItems === 'text') addText(roleStatedBy(item), textCarriedBy(item), at);
  }

  function addHosted(type: string, item: Record<string, unknown>, at: string): void {
    if (settings.unsupportedItems === 'reject') {
      throw unsupportedParameter(
        `${at}.type`,
        `Items of type '${type}' belong to tools that OpenAI's servers run, and this server has none.`,
      );
    }
    dropped.push(`${at}.${type}`);
    addText('assistant', textOfHostedItem(type, item), at);
  }

  function addText(role: InputMessage['role'], text: string, at: string): void {
    if (text === '') return;
    items.push({ kind: 'message', role, content: [{ type: 'text', text: withinTextLimit(text, at, settings) }] });
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
}

/** Keys of each type that are read, or passed on. */
const messageKeys = knownKeys('role', 'content', 'tool_calls', 'function_call', 'tool_call_id');
const phasedMessageKeys = knownKeys(...messageKeys, 'phase');
const functionCallKeys = knownKeys('call_id', 'name', 'namespace', 'arguments');
const customCallKeys = knownKeys('call_id', 'name', 'namespace', 'input');
const toolOutputKeys = knownKeys('call_id', 'name', 'namespace', 'output');
const reasoningKeys = knownKeys('content', 'summary', 'encrypted_content');
const agentMessageKeys = knownKeys('author', 'recipient', 'content');
const compactionKeys = knownKeys('encrypted_content');
const configurationKeys = knownKeys('reasoning', 'text');

function phaseOf(item: Record<string, unknown>): string | null {
  return typeof item['phase'] === 'string' ? item['phase'] : null;
}

/** One text, where all parts are: they are pieces of one message, and servers differ in how they join parts. */
function joined(parts: readonly InputContent[]): readonly InputContent[] {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  return texts.length === parts.length ? [{ type: 'text', text: texts.join('') }] : parts;
}

/** The calls among items that have no output yet, by tool. */
class UnansweredCalls {
  readonly #calls = new Map<string, string[]>();
  readonly #answered = new Set<string>();

  constructor(items: readonly InputItem[]) {
    for (const item of items) this.add(item);
  }

  add(item: InputItem): void {
    if (item.kind === 'output') this.#answered.add(item.callId);
    if (item.kind !== 'call') return;
    const key = toolKey(item.name, item.namespace);
    const calls = this.#calls.get(key);
    if (calls === undefined) this.#calls.set(key, [item.callId]);
    else calls.push(item.callId);
  }

  /** The id of the latest one of that tool, or undefined. */
  latestOf(name: string, namespace: string | null): string | undefined {
    const calls = this.#calls.get(toolKey(name, namespace)) ?? [];
    while (this.#answered.has(calls.at(-1) ?? '')) calls.pop();
    return calls.pop();
  }
}

function toolKey(name: string, namespace: string | null): string {
  return `${namespace ?? ''}\n${name}`;
}

function unknownItemType(type: string, at: string): ApiError {
  return invalidValue(
    `${at}.type`,
    `Invalid value: ${quote(type)} for '${at}.type'. Supported values are: 'message', 'function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output', 'tool_search_call', 'tool_search_output', 'additional_tools', 'reasoning'.`,
  );
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
