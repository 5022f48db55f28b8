import * as z from 'zod/mini';
import { arrayOf, jsonOf, objectOf } from '../../../formats/json/loose.ts';
import { unread } from '../../wire/schema/create-response.ts';
import type { ClientToolCallItem, ClientToolType, ItemStatus } from '../../wire/schema/response-resource.ts';
import type { OutputEvent } from '../../wire/schema/stream-events.ts';
import type { InputBuilder, ItemType } from '../request-to-chat/parse/input-builder.ts';
import { type ToolsBuilder, type ToolType, toolType } from '../request-to-chat/parse/tools-builder.ts';
import type { FunctionDefinition } from '../shared/parsed.ts';

/** A tool with a type of its own that the client runs. Upstream it is a function of that name. */
export interface ClientTool<Item extends ClientToolCallItem = ClientToolCallItem> {
  readonly tool: ToolType;
  readonly items: Readonly<Record<string, ItemType>>;
  readonly idPrefix: string;
  /** The item of a call. `given` are the arguments, empty where they cannot be read; `text` is what the model wrote. */
  itemOf(ids: CallIds, status: ItemStatus, given: Readonly<Record<string, unknown>>, text: string): Item;
  /** Does the item have something to run? An item that can tell shows the call from the start: it waits for all arguments. */
  isRunnable?(item: Item): boolean;
  /** Events that the API has for what the call holds, before its item is done. */
  eventsOf?(item: Item, output_index: number): readonly OutputEvent[];
}

export interface CallIds {
  readonly id: string;
  readonly call_id: string;
}

/** The item of a call. `text` is the arguments as the model wrote them, complete or not. */
export function clientItemOf(tool: ClientTool, ids: CallIds, status: ItemStatus, text: string): ClientToolCallItem {
  return tool.itemOf(ids, status, objectOf<Record<string, unknown>>(jsonOf(text)) ?? {}, text);
}

/** A tool whose entry in `tools` is its type alone, offered as that function. */
export function plainTool(
  type: ClientToolType,
  made: Pick<FunctionDefinition, 'description' | 'parameters'>,
): ToolType {
  return toolType(z.object({ allowed_callers: unread }), 'type', (_, at, tools) => offerAs(type, made, at, tools));
}

/** Offers a tool of that type as a function. Returns true, since the tool is not left out. */
export function offerAs(
  type: ClientToolType,
  made: Pick<FunctionDefinition, 'description' | 'parameters'>,
  param: string,
  tools: ToolsBuilder,
): true {
  tools.offer({ kind: 'function', param, chatName: type, origin: { kind: type }, strict: null, ...made });
  return true;
}

/** Adds an earlier call. Its arguments are the fields of `given` that are set. */
export function addCall(type: ClientToolType, callId: string, given: object, at: string, input: InputBuilder): void {
  const set = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  input.addCall({ call_id: callId, name: type }, JSON.stringify(Object.fromEntries(set)), at);
}

export function addOutput(callId: string, text: string, at: string, input: InputBuilder): void {
  input.addOutput(callId, input.textContent(text, `${at}.output`), at);
}

export const timeoutParameter = {
  type: ['integer', 'null'],
  description: 'Milliseconds after which a command is ended; null for the default.',
};

/** A list of texts. Models also write one text without a list. */
export function readTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return arrayOf(value).filter((entry) => typeof entry === 'string');
}

/** A whole number from 0 on; null for anything else. */
export function readWhole(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
