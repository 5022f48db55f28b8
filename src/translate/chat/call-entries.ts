import { ApiError } from '../../schema/api-error.ts';
import { arrayOf, jsonTextOf, type Loose, objectOf, textOf } from '../../schema/chat-completion.ts';
import type { ResponseContext } from '../context.ts';
import { type CallItem, callItemOf, callItemPrefixOf, restoredToolOf } from '../response/tool-restoration.ts';

/** The tool calls of one message. */
export interface CompletionCalls {
  /** Makes the items, in the message's order. Their ids are minted now. */
  readonly items: () => CallItem[];
  /** How many calls there are, nameless and forbidden ones left out. */
  readonly count: number;
  /** Gemini thought signatures by `call_id`. */
  readonly signatures: Readonly<Record<string, string>>;
  /** The model called what `allowed_tools` forbids. */
  readonly forbidden: ApiError | null;
  /** A call was left out because it had no name. */
  readonly hasNameless: boolean;
}

interface Call {
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  readonly isCustom: boolean;
}

/**
 * Reads `tool_calls` of a message, or the single `function_call` that came before them (docs/answers.md §2.5). Ids that are
 * missing or were given twice are minted. Nothing after a call that `allowed_tools` forbids is read: it fails the answer.
 */
export function readCalls(message: Loose, context: ResponseContext): CompletionCalls {
  const entries = entriesOf(message);
  if (entries.length === 0) return noCalls;
  const calls: Call[] = [];
  const callIds = new Set<string>();
  const signatures: [callId: string, signature: string][] = [];
  let forbidden: ApiError | null = null;
  let hasNameless = false;

  for (const entry of entries) {
    const isCustom = objectOf(entry['custom']) !== null;
    const body = objectOf(isCustom ? entry['custom'] : entry['function']);
    const name = textOf(body?.['name']);
    if (name === '') {
      hasNameless = true;
      continue;
    }
    if (context.allowedTools !== null && !context.allowedTools.has(name)) {
      forbidden = toolNotAllowed(name);
      break;
    }
    const given = textOf(entry['id']);
    const callId = given === '' || callIds.has(given) ? context.newId('call') : given;
    callIds.add(callId);
    const signature = signatureOf(entry);
    if (signature !== '') signatures.push([callId, signature]);
    calls.push({ callId, name, arguments: textOrJson(body?.[isCustom ? 'input' : 'arguments']), isCustom });
  }
  return {
    items: () => calls.map((call) => itemOf(call, context)),
    count: calls.length,
    signatures: Object.fromEntries(signatures),
    forbidden,
    hasNameless,
  };
}

const noCalls: CompletionCalls = { items: () => [], count: 0, signatures: {}, forbidden: null, hasNameless: false };

function entriesOf(message: Loose): readonly Loose[] {
  const given = arrayOf(message['tool_calls']);
  const entries = given.length === 0 ? [] : given.map(objectOf).filter((entry) => entry !== null);
  const legacy = objectOf(message['function_call']);
  return entries.length === 0 && legacy !== null ? [{ function: legacy }] : entries;
}

function itemOf(call: Call, context: ResponseContext): CallItem {
  const id = context.newId(callItemPrefixOf(restoredToolOf(call, context)));
  return callItemOf({ id, status: 'completed', ...call }, context);
}

/** Arguments are a string of JSON; Ollama's own API and some proxies give the object. */
function textOrJson(value: unknown): string {
  return typeof value === 'object' && value !== null ? jsonTextOf(value) : textOf(value);
}

/** Gemini's OpenAI endpoint puts a thought signature on a call, or on the message. `''` if there is none. */
export function signatureOf(carrier: Loose): string {
  return textOf(objectOf(objectOf(carrier['extra_content'])?.['google'])?.['thought_signature']);
}

/** `tool_choice.tools` is a promise to the client; many servers do not know of it, so it is kept here. */
export function toolNotAllowed(name: string): ApiError {
  return new ApiError(`The model called “${name}”, which “tool_choice.tools” does not allow.`, {
    status: 502,
    type: 'model_error',
    code: 'tool_not_allowed',
  });
}

/** A call without a name cannot be answered; alone it is all the model said. */
export function namelessCall(): ApiError {
  return new ApiError('The model called a tool without naming it.', {
    status: 502,
    type: 'model_error',
    code: 'invalid_tool_call',
  });
}
