import type * as z from 'zod/mini';
import type { Profile } from '../../../upstream/profile.ts';
import type { ExtensionKeys } from '../../../wire/schema/chat-request.ts';
import type { Dropped, Reading } from '../../shared/dropped.ts';
import { extensionKeysOf } from '../../shared/extension-name.ts';
import type { InputContent, InputItem, InputMessage } from '../../shared/parsed.ts';
import type { Provenance } from '../../shared/provenance.ts';
import { withinTextLimit } from '../../shared/request-errors.ts';
import type { CreateResponseFields } from '../../shared/request-fields.ts';
import type { TranslationSettings } from '../../shared/settings.ts';
import { knownKeys, nameUnknown } from './known-keys.ts';
import { OpenCalls } from './open-calls.ts';
import { parseShape } from './read-shape.ts';
import type { ToolType } from './tools-builder.ts';

/** The rule for one type of input item: adds the one at `at` to `input`. Throws `ApiError` for the first mistake. */
export type ItemType = (item: Record<string, unknown>, at: string, input: InputBuilder) => void;

/** The types of items and tools that a request may have, each with the function that reads it. */
export interface KnownTypes {
  readonly items: ReadonlyMap<string, ItemType>;
  /** The `items` that belong to tools which OpenAI's servers run. */
  readonly hostedItems: ReadonlyMap<string, ItemType>;
  readonly tools: ReadonlyMap<string, ToolType>;
}

/** The arguments of the functions that read a whole request: they are told which types there are, and import none of them. */
export interface RequestReading extends Reading {
  readonly known: KnownTypes;
}

/** Tools that an item brings along. */
export interface ToolList {
  readonly tools: readonly unknown[];
  /** The path of the list in the request. */
  readonly param: string;
}

/** The input while its items are read, one after the other. */
export class InputBuilder implements Reading {
  /** Settings for the item that is read. */
  settings: TranslationSettings;
  readonly dropped: Dropped;
  readonly provenance: Provenance;
  readonly items: InputItem[] = [];
  readonly toolLists: ToolList[] = [];
  /** The settings of the last `configuration_update` of the input, which override the request's own fields. */
  update: {
    readonly effort: NonNullable<CreateResponseFields['reasoning']>['effort'];
    readonly format: Record<string, unknown> | null;
    /** The item with that format. */
    readonly formatAt: string;
  } = { effort: null, format: null, formatAt: '' };
  /** The item that is read ends the input. */
  isLast = false;
  /** The item that is read has the status `incomplete`. */
  isCut = false;
  /** The last item is a `compaction_trigger`: a summary is asked for, not an answer. */
  endsInTrigger = false;
  /** JSON values in the reasoning envelopes read so far, which the body's own count does not include. */
  envelopeValues = 0;
  /** Created for the first call. */
  #openCalls: OpenCalls | null = null;
  /** Created for the first output that does not name its call: most clients always do. */
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

  /** A call of the model; `text` is what it passed, and `takesText` says whether the tool takes text in any form. */
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

  /** The output of a call of that tool. Returns false, and adds nothing, if each has one. */
  addOutputOfTool(name: string, namespace: string | null, content: readonly InputContent[], param: string): boolean {
    this.#openCallsOfTools ??= new OpenCalls((call) => toolKey(call.name, call.namespace), this.items);
    const call = this.#openCallsOfTools.find(toolKey(name, namespace));
    if (call !== undefined) this.add({ kind: 'output', param, callId: call.callId, call, content });
    return call !== undefined;
  }

  /** A message of that text, within the limit for texts; none for `''`. */
  addText(role: InputMessage['role'], text: string, at: string): void {
    if (text !== '') this.add({ kind: 'message', role, content: this.textContent(text, at) });
  }

  /** The text as content, within the limit for texts. */
  textContent(text: string, at: string): readonly InputContent[] {
    return [{ type: 'text', text: withinTextLimit(text, at, this.settings) }];
  }
}

/**
 * An item with a schema. Keys that are not in it are named as left out, but for the server's own where `hasPlace` says that Chat has a
 * place for them: `read` receives those.
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
    const own = hasPlace(fields, profile) ? extensionKeysOf(item, profile) : null;
    read(fields, at, input, own);
    nameUnknown(keys, item, at, input, own, 'input[]');
  };
}

function toolKey(name: string, namespace: string | null): string {
  return `${namespace ?? ''}\n${name}`;
}
