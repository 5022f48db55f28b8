import type * as z from 'zod/mini';
import type { Profile } from '../../../upstream/profile.ts';
import type { ExtensionKeys } from '../../../wire/schema/chat-request.ts';
import type { Dropped, Reading } from '../../shared/dropped.ts';
import { readExtensionKeys } from '../../shared/extension-name.ts';
import type { InputContent, InputItem, InputMessage } from '../../shared/parsed.ts';
import type { Provenance } from '../../shared/provenance.ts';
import { withinTextLimit } from '../../shared/request-errors.ts';
import type { CreateResponseFields } from '../../shared/request-fields.ts';
import type { TranslationSettings } from '../../shared/settings.ts';
import { dropUnknown, knownKeys } from './known-keys.ts';
import { OpenCalls } from './open-calls.ts';
import { parseShape } from './parse-shape.ts';
import type { ToolType } from './tools-builder.ts';

/** The rule for one type of input item: adds the item at `at` to `input`. Throws `ApiError` for the first mistake. */
export type ItemType = (item: Record<string, unknown>, at: string, input: InputBuilder) => void;

/** The types of items and tools that a request may have, each with the function that reads it. */
export interface KnownTypes {
  readonly items: ReadonlyMap<string, ItemType>;
  /** The `items` that belong to tools which OpenAI's servers run. */
  readonly hostedItems: ReadonlyMap<string, ItemType>;
  readonly tools: ReadonlyMap<string, ToolType>;
}

/** What functions that read a whole request get: they are told which types there are, and import none of them. */
export interface RequestReading extends Reading {
  readonly known: KnownTypes;
}

export interface ToolList {
  readonly tools: readonly unknown[];
  readonly param: string;
}

/** The input while its items are read, one after the other. */
export class InputBuilder implements Reading {
  settings: TranslationSettings;
  readonly dropped: Dropped;
  readonly provenance: Provenance;
  readonly items: InputItem[] = [];
  readonly toolLists: ToolList[] = [];
  /** The settings of the last `configuration_update` of the input override the request's own fields. */
  update: {
    readonly effort: NonNullable<CreateResponseFields['reasoning']>['effort'];
    readonly format: Record<string, unknown> | null;
    readonly formatAt: string;
  } = { effort: null, format: null, formatAt: '' };
  isLast = false;
  /** The item that is read has the status `incomplete`. */
  isCut = false;
  /** A `compaction_trigger` ends the input: a summary is asked for, not an answer. */
  endsInTrigger = false;
  /** JSON values in the reasoning envelopes read so far, which the count of the body does not include. */
  envelopeValues = 0;
  #openCalls: OpenCalls | null = null;
  /** Created for the first output that does not name its call. */
  #openCallsOfTools: OpenCalls | null = null;

  constructor({ settings, dropped, provenance }: Reading) {
    this.settings = settings;
    this.dropped = dropped;
    this.provenance = provenance;
  }

  add(item: InputItem): void {
    if (item.kind === 'call') this.#openCalls ??= new OpenCalls(({ callId }) => callId, []);
    this.#openCalls?.add(item);
    this.#openCallsOfTools?.add(item);
    this.provenance.markAsRead(item);
    this.items.push(item);
  }

  /** Adds a call of the model with the text that it passed. `takesText`: the tool takes text in any form. */
  addCall(
    call: {
      readonly call_id: string;
      readonly name: string;
      readonly namespace?: string | null | undefined;
      readonly async?: unknown;
    },
    text: string,
    param: string,
    takesText = false,
  ): void {
    const { call_id: callId, name, namespace = null, async: isAsync } = call;
    const { isCut } = this;
    const made = { param, callId, takesText, name, namespace, input: text, isAsync: isAsync === true, isCut };
    this.add({ kind: 'call', ...made });
  }

  addOutput(callId: string, content: readonly InputContent[], param: string): void {
    const call = this.#openCalls?.find(callId) ?? this.#openCalls?.findAnswered(callId) ?? null;
    this.add({ kind: 'output', param, callId, call, content });
  }

  /** Adds an output for a call of that tool. Returns false, and adds nothing, if each call has an output. */
  addOutputOfTool(name: string, namespace: string | null, content: readonly InputContent[], param: string): boolean {
    this.#openCallsOfTools ??= new OpenCalls((call) => toolKey(call.name, call.namespace), this.items);
    const call = this.#openCallsOfTools.find(toolKey(name, namespace));
    if (call !== undefined) this.add({ kind: 'output', param, callId: call.callId, call, content });
    return call !== undefined;
  }

  /** Adds a message of that text, within the limit for texts; nothing for `''`. */
  addText(role: InputMessage['role'], text: string, at: string): void {
    if (text !== '') this.add({ kind: 'message', role, content: this.textContent(text, at) });
  }

  /** The text as content. Throws `ApiError` for one above the limit for texts. */
  textContent(text: string, at: string): readonly InputContent[] {
    return [{ type: 'text', text: withinTextLimit(text, at, this.settings) }];
  }
}

/**
 * An item with a schema. Keys that are not in the schema are dropped and listed, except the server's own where `hasPlace` says that Chat has
 * a place for them: `read` receives those.
 */
export function itemType<Schema extends z.ZodMiniObject>(
  schema: Schema,
  read: (fields: z.output<Schema>, at: string, input: InputBuilder, own: ExtensionKeys | null) => void,
  hasPlace: (fields: z.output<Schema>, profile: Profile) => boolean = () => false,
): ItemType {
  const keys = knownKeys(schema);
  return (item, at, input) => {
    const { profile } = input.settings;
    const fields = parseShape(schema, item, at);
    const own = hasPlace(fields, profile) ? readExtensionKeys(item, profile) : null;
    read(fields, at, input, own);
    dropUnknown(keys, item, at, input, own, 'input[]');
  };
}

function toolKey(name: string, namespace: string | null): string {
  return `${namespace ?? ''}\n${name}`;
}
