import type { ResponseContext, RestoredTool } from '../../shared/context.ts';

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
