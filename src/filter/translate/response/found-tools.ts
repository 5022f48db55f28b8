import type { ToolSearchOutputItem } from '../../wire/schema/response-resource.ts';
import type { ToolSearchCallItem } from '../client-tools/tool-search.ts';
import type { WriterParts } from './output.ts';

type Unfinished<Item> = Omit<Item, 'status'>;

/**
 * Tells the client of a tool that was deferred what OpenAI's servers tell of a search, before the first call of it: the
 * Agents SDKs run no tool that no search has found. Here all were offered from the start.
 */
export class FoundTools {
  readonly #parts: WriterParts;
  readonly #told = new Set<string>();

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  /** To be called before the item of a call of that name is opened. */
  tell(name: string): void {
    const { newId, foundTools } = this.#parts.context;
    const tool = foundTools.get(name);
    if (tool === undefined || this.#told.has(name)) return;
    this.#told.add(name);
    const ran = { call_id: null, execution: 'server' } as const;
    const paths = [(tool as { readonly name?: unknown }).name];
    this.#add({ id: newId('tsc'), type: 'tool_search_call', ...ran, arguments: { paths } });
    this.#add({ id: newId('tso'), type: 'tool_search_output', ...ran, tools: [tool] });
  }

  #add(item: Unfinished<ToolSearchCallItem> | Unfinished<ToolSearchOutputItem>): void {
    this.#parts.output.addWhole({ ...item, status: 'in_progress' }, { ...item, status: 'completed' });
  }
}
