import { jsonOf, objectOf } from '../../../../formats/json/loose.ts';
import type { Loose } from '../../../wire/schema/chat-completion.ts';
import type {
  ClientToolCallItem,
  CustomToolCallItem,
  FunctionCallItem,
  ItemStatus,
} from '../../../wire/schema/response-resource.ts';
import { type CallIds, clientItemOf } from '../../client-tools/client-tool.ts';
import { clientTools } from '../../client-tools/client-tools.ts';
import type { ResponseContext, RestoredTool } from '../../shared/context.ts';
import { CustomInputDecoder } from './custom-input.ts';

export type CallItem = FunctionCallItem | CustomToolCallItem | ClientToolCallItem;

/** Finds the tools that the calls of one answer mean. Each name is looked up once, and the tools are listed once for all of them. */
export class CalledNames {
  readonly #context: Pick<ResponseContext, 'toolNames' | 'restoredTools'>;
  readonly #found = new Map<string, string>();
  /** The Chat names of tools of a namespace, by what models call them; null where several tools are called so. */
  #ofNamespaces: Map<string, string | null> | null = null;

  constructor(context: Pick<ResponseContext, 'toolNames' | 'restoredTools'>) {
    this.#context = context;
  }

  /**
   * The Chat name of the tool that a model means. Most models use that name. Servers that do not read gpt-oss's Harmony
   * format to its end leave `functions.` in front of the name, or a marker behind it (`get_tide<|channel|>commentary`); small
   * models write brackets behind it; and models call a tool of a namespace by its own name, which is enough where only one has
   * it, also with a namespace that ends in `__` in front of it. Other names are left as they are.
   */
  of(name: string): string {
    if (this.#context.toolNames.has(name)) return name;
    let found = this.#found.get(name);
    if (found === undefined) {
      found = this.#find(name);
      this.#found.set(name, found);
    }
    return found;
  }

  #find(name: string): string {
    const marker = name.indexOf('<|');
    const bare = marker > 0 ? name.slice(0, marker).trimEnd() : name.replace(/\(\)$/, '');
    this.#ofNamespaces ??= this.#listNamespaces();
    for (const candidate of [bare, bare.replace(/^functions\./, '')]) {
      if (this.#context.toolNames.has(candidate)) return candidate;
      const meant = this.#ofNamespaces.get(candidate);
      if (meant != null) return meant;
    }
    return bare;
  }

  #listNamespaces(): Map<string, string | null> {
    const listed = new Map<string, string | null>();
    for (const [chatName, tool] of this.#context.restoredTools) {
      if (!('namespace' in tool) || tool.namespace === undefined) continue;
      const { name, namespace } = tool;
      for (const called of namespace.endsWith('__') ? [name, `${namespace}${name}`] : [name])
        listed.set(called, listed.has(called) ? null : chatName);
    }
    return listed;
  }
}

/**
 * Returns the tool that a call of that name is returned as. A name that was never offered stands for itself: the client
 * answers.
 */
export function restoredToolOf(
  { name, isCustom }: { readonly name: string; readonly isCustom: boolean },
  { restoredTools }: Pick<ResponseContext, 'restoredTools'>,
): RestoredTool {
  const restored = restoredTools.get(name);
  if (!isCustom) return restored ?? { kind: 'function', name };
  return restored?.kind === 'custom' ? restored : { kind: 'custom', name };
}

/** No arguments, or a placeholder for those that follow. */
export const emptyArguments = '{}';

/** The prefix of the item's id. */
export function callItemPrefixOf({ kind }: RestoredTool): string {
  return kind === 'function' ? 'fc' : kind === 'custom' ? 'ctc' : clientTools[kind].idPrefix;
}

/** The output item of a call; `text` is its arguments, or a custom tool's input itself. Shortened and flattened names are restored. */
export function callItemOf(restored: RestoredTool, ids: CallIds, status: ItemStatus, text: string): CallItem {
  if (restored.kind !== 'function' && restored.kind !== 'custom')
    return clientItemOf(clientTools[restored.kind], ids, status, text);
  const { kind, name, namespace, async: isAsync } = restored;
  const names = {
    call_id: ids.call_id,
    name,
    ...(namespace !== undefined && { namespace }),
    ...(isAsync === true && { async: isAsync }),
  };
  return kind === 'function'
    ? { id: ids.id, type: 'function_call', status, ...names, arguments: text }
    : { id: ids.id, type: 'custom_tool_call', status, ...names, input: text };
}

/**
 * Arguments as the object that the schema of an offered tool wants: `null` is an object of nothing, and a JSON string that holds an
 * object is that object. Others are as they came.
 */
export function objectArgumentsOf(text: string): string {
  if (!mayHideObject(text)) return text;
  const value = jsonOf(text);
  if (value === null) return emptyArguments;
  return typeof value === 'string' && objectOf(jsonOf(value)) !== null ? value : text;
}

/** Do these arguments, or those that begin so, stand for an object without being one? */
export function mayHideObject(text: string): boolean {
  return /^\s*["n]/.test(text);
}

/** `{}` for no arguments, since clients parse them; `''` for a call that was cut, so that nobody runs it. */
export function argumentsOf(text: string, status: ItemStatus): string {
  return text === '' && status !== 'incomplete' ? emptyArguments : text;
}

/**
 * The input of a custom tool that was offered as a function with one parameter, `input`. Models also rename the parameter,
 * or write the input bare: a single string property counts as it, and text that is not JSON is the input. Where the text
 * begins as it should, it is read as in a stream: also when it is cut, or not quite JSON.
 */
export function customInputOf(text: string): string {
  const decoder = new CustomInputDecoder();
  const input = decoder.push(text) + decoder.finish();
  if (decoder.isReading()) return input;
  const value = jsonOf(text);
  if (typeof value === 'string') {
    const within = objectOf<Loose<'input'>>(jsonOf(value))?.input;
    return typeof within === 'string' ? within : value;
  }
  const object = objectOf<Loose<'input'>>(value);
  if (object === null) return text;
  if (typeof object.input === 'string') return object.input;
  const strings = Object.values(object).filter((property) => typeof property === 'string');
  if (strings.length === 1 && strings[0] !== undefined) return strings[0];
  return Object.keys(object).length === 0 ? '' : text;
}
