import { isJsonObject } from '../../../../formats/json/exact.ts';
import { maxIdLength, maxNameLength } from '../../../wire/schema/create-response.ts';
import {
  aboveMax,
  emptyArray,
  invalidType,
  missingParameter,
  notOneOf,
  withinLength,
} from '../../shared/request-errors.ts';
import type { TranslationSettings } from '../../shared/settings.ts';
import { InputBuilder, type KnownTypes, type RequestReading } from './input-builder.ts';
import { isRefused, readCarriedText, readStatedRole } from './left-out.ts';
import { parseContent } from './parse-content.ts';

export type ParsedInput = Pick<InputBuilder, 'items' | 'toolLists' | 'update' | 'endsInTrigger'>;

/** `input` as items. Items that are left out are listed as dropped. Throws `ApiError` for the first mistake. */
export function parseInput(input: string | readonly unknown[], reading: RequestReading): ParsedInput {
  const { settings, known } = reading;
  const builder = new InputBuilder(reading);
  if (typeof input === 'string') {
    builder.add({ kind: 'message', role: 'user', content: parseContent(input, 'user', 'input', reading) });
    return builder;
  }
  if (input.length === 0) throw emptyArray('input');
  const { maxItems } = settings.limits;
  if (input.length > maxItems) throw aboveMax('array', 'input', 'too many items', maxItems, input.length);
  // What follows the model's last item, and the last output of its calls, is asked now. What comes before is history, which the client
  // repeats with each request.
  const latest = input.findLastIndex((item) => !isAsked(item)) + 1;
  const ofHistory: TranslationSettings = latest === 0 ? settings : { ...settings, isHistory: true };
  for (const [index, item] of input.entries()) {
    const at = `input[${index}]`;
    builder.isLast = index === input.length - 1;
    builder.settings = index < latest ? ofHistory : settings;
    builder.isCut = isJsonObject(item) && item['status'] === 'incomplete';
    builder.provenance.reading(at);
    if (!isJsonObject(item)) throw invalidType(at, 'an object', item);
    const type = parseItemType(item, at);
    const read = known.items.get(type);
    if (read === undefined) {
      parseUnknownItem(type, item, at, known, builder);
      continue;
    }
    checkRecord(item, at);
    read(item, at, builder);
  }
  return builder;
}

/** Types of items that bring something new to the model, as a user's message does. */
const askedTypes: readonly unknown[] = [
  'agent_message',
  'additional_tools',
  'configuration_update',
  'mcp_approval_response',
];

/** Is the item neither the model's, nor an output of its calls, nor a summary of both? */
function isAsked(item: unknown): boolean {
  if (!isJsonObject(item)) return false;
  const { role, type } = item;
  return role === 'user' || role === 'developer' || role === 'system' || askedTypes.includes(type);
}

/** The states of all types of items: an agent's record may have a state of another type. */
const states = [
  'completed',
  'in_progress',
  'incomplete',
  'failed',
  'searching',
  'generating',
  'interpreting',
  'calling',
];

function checkRecord({ id, status }: Record<string, unknown>, at: string): void {
  if (id != null && typeof id !== 'string') throw invalidType(`${at}.id`, 'a string', id);
  if (status == null) return;
  if (typeof status !== 'string') throw invalidType(`${at}.status`, 'a string', status);
  if (!states.includes(status)) throw notOneOf(`${at}.status`, status, states);
}

/** The item's `type`; messages and references may omit it. */
function parseItemType(item: Record<string, unknown>, at: string): string {
  const { type, role, id } = item;
  if (typeof id === 'string') withinLength(id, maxIdLength, `${at}.id`);
  if (typeof type === 'string') return withinLength(type, maxNameLength, `${at}.type`);
  if (type != null) throw invalidType(`${at}.type`, 'a string', type);
  if (role != null || item['content'] !== undefined) return 'message';
  if (typeof id === 'string') return 'item_reference';
  throw missingParameter(`${at}.type`);
}

/** An item of an unknown type becomes its text, or nothing, or is refused. */
function parseUnknownItem(
  type: string,
  item: Record<string, unknown>,
  at: string,
  { items, hostedItems }: KnownTypes,
  builder: InputBuilder,
): void {
  const { unknownItems } = builder.settings;
  if (isRefused(type, builder.settings)) {
    const types = [...items.keys()].filter((known) => unknownItems !== 'reject' || !hostedItems.has(known));
    throw notOneOf(`${at}.type`, type, types);
  }
  builder.dropped.pushUnknownType({ kind: 'item', type }, at);
  if (unknownItems !== 'drop') builder.addText(readStatedRole(item), readCarriedText(item), at);
}
