import type * as z from 'zod/mini';
import { ApiError } from '../../../wire/schema/api-error.ts';
import type { ToolEcho } from '../../../wire/schema/response-resource.ts';
import type { Dropped, Reading } from '../../shared/dropped.ts';
import type { ToolDefinition } from '../../shared/parsed.ts';
import type { Provenance } from '../../shared/provenance.ts';
import { invalidValue, quote } from '../../shared/request-errors.ts';
import type { TranslationSettings } from '../../shared/settings.ts';
import { dropUnknown, knownKeys } from './known-keys.ts';
import { parseShape } from './parse-shape.ts';

export interface ToolType {
  /** The key by which `tool_choice` names the tool; null where the tool cannot be chosen. */
  readonly chosenBy: 'name' | 'type' | null;
  /** Offers the tool, and returns its echo; null where the Response does not repeat it. Throws `ApiError`. */
  parse(tool: Record<string, unknown>, at: string, tools: ToolsBuilder): ToolEcho | null;
}

/** A type of tool with a schema. Further keys are dropped and listed. `offer` returns false where the tool is left out. */
export function toolType<Schema extends z.ZodMiniObject>(
  schema: Schema,
  chosenBy: ToolType['chosenBy'],
  offer: (fields: z.output<Schema>, at: string, tools: ToolsBuilder) => boolean,
): ToolType {
  const keys = knownKeys(schema);
  return {
    chosenBy,
    parse(tool, at, tools) {
      const read = parseShape(schema, tool, at);
      dropUnknown(keys, tool, at, tools);
      return offer(read, at, tools) ? tools.writeEcho(tool) : null;
    },
  };
}

/** A request's tools while its several lists are read, one after the other. Names stay unique. */
export class ToolsBuilder implements Reading {
  readonly settings: TranslationSettings;
  readonly dropped: Dropped;
  readonly provenance: Provenance;
  readonly listed: ToolEcho[] = [];
  param = '';
  /**
   * The list that is read is the request's own: a name that is taken is a mistake, and a tool that cannot be offered is refused. Later lists
   * are history: a tool that is declared again replaces the earlier one, and one that cannot be offered is dropped and listed.
   */
  isOwn = true;
  /** The request has a search that OpenAI's servers would run. */
  isSearched = false;
  readonly #definitions: ToolDefinition[] = [];
  readonly #places = new Map<string, number>();
  /** Deferred tools by their Chat names, as a search would give them; null for a tool that a search has given. */
  readonly #deferred = new Map<string, ToolEcho | null>();

  constructor({ settings, dropped, provenance }: Reading) {
    this.settings = settings;
    this.dropped = dropped;
    this.provenance = provenance;
  }

  /** What the Response repeats of a tool that is not a function: with STRICT_ECHO nothing, since Open Responses has functions only. */
  writeEcho(tool: Record<string, unknown>): ToolEcho | null {
    return this.settings.strictEcho ? null : (tool as ToolEcho);
  }

  /** `found` is a deferred tool as a search would give it. */
  offer(tool: ToolDefinition, found: ToolEcho | null = null): void {
    this.provenance.mark(tool, tool.param);
    if (found === null) this.#deferred.delete(tool.chatName);
    else this.#deferred.set(tool.chatName, this.isOwn ? found : null);
    const place = this.#places.get(tool.chatName);
    if (place !== undefined) {
      if (this.isOwn) {
        const message = `Invalid value for '${tool.param}.name': a tool named ${quote(tool.chatName)} already exists. Choose another name.`;
        throw invalidValue(`${tool.param}.name`, message);
      }
      this.#definitions[place] = tool;
      return;
    }
    if (this.#definitions.length >= this.settings.limits.maxTools) {
      const message = `Invalid '${this.param}': too many tools. Expected at most ${this.settings.limits.maxTools}, including tools in namespaces.`;
      throw ApiError.invalidRequest('array_above_max_length', this.param, message);
    }
    this.#places.set(tool.chatName, this.#definitions.length);
    this.#definitions.push(tool);
  }

  /** All tools, in order. Where OpenAI's servers would search, a deferred function is in a namespace of its own name. */
  finish(): readonly ToolDefinition[] {
    if (!this.isSearched || this.#deferred.size === 0) return this.#definitions;
    return this.#definitions.map((definition) => {
      const { chatName, origin } = definition;
      const found = this.#deferred.get(chatName);
      if (found === undefined) return definition;
      const own =
        origin.kind === 'function' && origin.namespace === undefined ? { ...origin, namespace: origin.name } : origin;
      return { ...definition, origin: own, ...(found === null ? {} : { found }) };
    });
  }
}
