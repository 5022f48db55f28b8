import { isExtensionType } from './invariants-items.ts';

/**
 * The rules of a Chat Completions request, written from the API's reference and from what servers refuse. Independent
 * of `src/`: golden cases alone would accept a consistent mistake.
 */

type JsonObject = Record<string, unknown>;

const roles = ['system', 'developer', 'user', 'assistant', 'tool'];
const partTypes: Readonly<Record<string, readonly string[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'video_url', 'file', 'document_url'],
  assistant: ['text', 'thinking', 'refusal'],
  tool: ['text'],
};
/** Keys that may be null or empty because a tool's author, not the translation, wrote what is below them. */
const opaque = new Set([
  'parameters',
  'schema',
  'extra_content',
  'reasoning_details',
  'thinking_blocks',
  'provider_specific_fields',
]);

/** Fields made by the translation; others are a client's own, which are passed on unchanged. */
const ownFields = ['messages', 'tools', 'tool_choice', 'response_format', 'stream_options', 'reasoning', 'thinking'];

/** What is wrong with the body, a line per fault; empty when nothing is. Unknown fields are opaque. */
export function faultsOfChat(body: unknown): string[] {
  const faults: string[] = [];
  if (!isObject(body)) return ['the body is not an object'];
  if (typeof body['model'] !== 'string' || body['model'] === '') faults.push('model is missing');
  const { messages } = body;
  if (!Array.isArray(messages) || messages.length === 0) return [...faults, 'messages are missing'];
  checkMessages(messages, faults);
  checkTools(body, faults);
  checkFields(body, faults);
  for (const key of ownFields) if (key in body) checkEmpty(body[key], key, faults);
  return faults;
}

function checkMessages(messages: readonly unknown[], faults: string[]): void {
  let expected: string[] = []; // ids of the last assistant's calls that have no tool message yet, in order
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`;
    if (!isObject(message) || !roles.includes(String(message['role']))) {
      faults.push(`${at} has no known role`);
      continue;
    }
    const role = String(message['role']);
    if (role === 'tool') {
      const id = message['tool_call_id'];
      if (expected[0] !== id) faults.push(`${at} answers ${String(id)} where ${expected[0] ?? 'no call'} is expected`);
      expected = expected.slice(1);
      if (typeof message['content'] !== 'string') faults.push(`${at} of a tool has no text`);
    } else {
      if (expected.length > 0) faults.push(`${at} stands before the tool message of ${expected.join(', ')}`);
      expected = [];
      if ('tool_call_id' in message) faults.push(`${at} has a tool_call_id`);
    }
    if (role === 'assistant') expected = checkAssistant(message, at, faults);
    else if ('tool_calls' in message) faults.push(`${at} of ${role} has tool calls`);
    checkContent(message, role, at, faults);
  }
  if (expected.length > 0) faults.push(`no tool message for ${expected.join(', ')}`);
}

/** Ids of its calls, in order. */
function checkAssistant(message: JsonObject, at: string, faults: string[]): string[] {
  const calls = message['tool_calls'];
  if (calls === undefined) {
    if (message['content'] == null && typeof message['refusal'] !== 'string') faults.push(`${at} says nothing`);
    return [];
  }
  if (!Array.isArray(calls) || calls.length === 0) {
    faults.push(`${at} has an empty list of tool calls`);
    return [];
  }
  const ids = calls.map((call: JsonObject, index) => {
    const where = `${at}.tool_calls[${index}]`;
    const type = String(call['type']);
    const detail = call[type] as JsonObject | undefined;
    if (type !== 'function' && type !== 'custom') faults.push(`${where} has the type ${type}`);
    if (typeof detail?.['name'] !== 'string' || detail['name'] === '') faults.push(`${where} has no name`);
    if (typeof detail?.[type === 'custom' ? 'input' : 'arguments'] !== 'string') faults.push(`${where} has no input`);
    if (typeof call['id'] !== 'string' || call['id'] === '') faults.push(`${where} has no id`);
    return String(call['id']);
  });
  if (new Set(ids).size !== ids.length) faults.push(`${at} has two calls of one id`);
  return ids;
}

function checkContent(message: JsonObject, role: string, at: string, faults: string[]): void {
  const { content } = message;
  if (typeof content === 'string') return;
  if (content == null) {
    if (role !== 'assistant') faults.push(`${at} of ${role} has no content`);
    return;
  }
  if (!Array.isArray(content)) {
    faults.push(`${at}.content is neither text nor parts`);
    return;
  }
  for (const [index, part] of content.entries()) {
    const type = isObject(part) ? String(part['type']) : '';
    const isOwn = role === 'user' && isExtensionType(type);
    if (isOwn) continue;
    if (!(partTypes[role] ?? []).includes(type)) faults.push(`${at}.content[${index}] of ${role} has the type ${type}`);
    else if (!isObject(part[type]) && typeof part[type] !== 'string' && !Array.isArray(part[type]))
      faults.push(`${at}.content[${index}] has no ${type}`);
  }
}

function checkTools(body: JsonObject, faults: string[]): void {
  const tools = body['tools'];
  if (tools === undefined) {
    for (const name of ['tool_choice', 'parallel_tool_calls']) if (name in body) faults.push(`${name} without tools`);
    return;
  }
  if (!Array.isArray(tools)) {
    faults.push('tools is not a list');
    return;
  }
  const own = tools.filter((tool: JsonObject) => !isExtensionType(tool['type']));
  const names = own.map((tool: JsonObject, index) => {
    const detail = tool[String(tool['type'])] as JsonObject | undefined;
    const name = String(detail?.['name']);
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) faults.push(`tools[${index}] is named ${name}`);
    if (tool['type'] === 'function' && (detail?.['parameters'] as JsonObject | undefined)?.['type'] === undefined)
      faults.push(`tools[${index}] has no schema with a type`);
    return name;
  });
  if (new Set(names).size !== names.length) faults.push('two tools have one name');
  const choice = body['tool_choice'];
  if (isObject(choice)) {
    const detail = choice[String(choice['type'])] as JsonObject | undefined;
    if (detail === undefined) faults.push('tool_choice has no object named by its type');
    else if (choice['type'] !== 'allowed_tools' && !names.includes(String(detail['name'])))
      faults.push('tool_choice names no tool');
  } else if (choice !== undefined && !['auto', 'none', 'required', 'any'].includes(String(choice)))
    faults.push(`tool_choice is ${String(choice)}`);
}

function checkFields(body: JsonObject, faults: string[]): void {
  if ('top_logprobs' in body && body['logprobs'] !== true) faults.push('top_logprobs without logprobs');
  if ('stream_options' in body && body['stream'] !== true) faults.push('stream_options without stream');
  if ('max_tokens' in body && 'max_completion_tokens' in body) faults.push('two token limits');
  for (const name of ['input', 'instructions', 'max_output_tokens', 'text', 'store', 'previous_response_id', 'include'])
    if (name in body) faults.push(`${name} is not a Chat field`);
  const format = body['response_format'];
  if (isObject(format) && format['type'] === 'json_schema') {
    const detail = format['json_schema'] as JsonObject | undefined;
    if (typeof detail?.['name'] !== 'string' || !isObject(detail['schema']))
      faults.push('response_format is incomplete');
  }
}

/** Servers that validate refuse null and empty lists for optional fields; `content: null` alone is the API's own. */
function checkEmpty(value: unknown, at: string, faults: string[]): void {
  if (value === null && !at.endsWith('.content')) faults.push(`${at} is null`);
  if (Array.isArray(value)) {
    if (value.length === 0 && !at.endsWith('.content')) faults.push(`${at} is empty`);
    for (const [index, entry] of value.entries()) checkEmpty(entry, `${at}[${index}]`, faults);
  } else if (isObject(value)) {
    for (const [key, entry] of Object.entries(value)) if (!opaque.has(key)) checkEmpty(entry, `${at}.${key}`, faults);
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
