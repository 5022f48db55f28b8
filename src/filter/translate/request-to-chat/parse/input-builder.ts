import type * as z from 'zod/mini';
import type { Profile } from '../../../upstream/profile.ts';
import type { ExtensionKeys } from '../../../wire/schema/chat-request.ts';
import type { CreateResponseFields } from '../../../wire/schema/create-response.ts';
import type { Dropped, Reading } from '../../shared/dropped.ts';
import { extensionKeysOf } from '../../shared/extension-name.ts';
import type { InputContent, InputItem, InputMessage } from '../../shared/parsed.ts';
import type { Provenance } from '../../shared/provenance.ts';
import type { TranslationSettings } from '../../shared/settings.ts';
import { knownKeys, nameUnknown } from './known-keys.ts';
import { withinTextLimit } from './parse-content.ts';
import { parseShape } from './read-shape.ts';

/** The rule for one type of input item: adds the one at `at` to `input`. Throws `ApiError` for the first mistake. */
export type ItemType = (item: Record<string, unknown>, at: string, input: InputBuilder) => void;

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
  /** The last item is a `compaction_trigger`: a summary is asked for, not an answer. */
  endsInTrigger = false;
  /** JSON values in the reasoning envelopes read so far, which the body's own count does not include. */
  envelopeValues = 0;
  /** Created for the first output that does not name its call: most clients always do. */
  #unanswered: UnansweredCalls | null = null;

  constructor({ settings, dropped, provenance }: Reading) {
    this.settings = settings;
    this.dropped = dropped;
    this.provenance = provenance;
  }

  add(item: InputItem): void {
    this.#unanswered?.add(item);
    this.provenance.markAsRead(item);
    this.items.push(item);
  }

  /** A message of that text, within the limit for texts; none for `''`. */
  addText(role: InputMessage['role'], text: string, at: string): void {
    if (text !== '') this.add({ kind: 'message', role, content: this.textContent(text, at) });
  }

  /** The text as content, within the limit for texts. */
  textContent(text: string, at: string): readonly InputContent[] {
    return [{ type: 'text', text: withinTextLimit(text, at, this.settings) }];
  }

  /** The id of the latest call of that tool that has no output yet, or undefined. */
  latestUnanswered(name: string, namespace: string | null): string | undefined {
    this.#unanswered ??= new UnansweredCalls(this.items);
    return this.#unanswered.latestOf(name, namespace);
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

  latestOf(name: string, namespace: string | null): string | undefined {
    const calls = this.#calls.get(toolKey(name, namespace)) ?? [];
    while (this.#answered.has(calls.at(-1) ?? '')) calls.pop();
    return calls.pop();
  }
}

function toolKey(name: string, namespace: string | null): string {
  return `${namespace ?? ''}\n${name}`;
}
