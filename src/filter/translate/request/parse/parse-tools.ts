import type { z } from 'zod';
import { ApiError } from '../../../wire/schema/api-error.ts';
import {
  customTool,
  functionTool,
  isJsonObject,
  namespacedCustomTool,
  namespacedFunctionTool,
  namespaceTool,
  shellTool,
  toolSearchTool,
} from '../../../wire/schema/create-response.ts';
import type { ToolEcho } from '../../../wire/schema/response-resource.ts';
import { type ClientToolType, clientTools } from '../../client-tools.ts';
import type { RestoredTool } from '../../context.ts';
import type { TranslationSettings } from '../../settings.ts';
import { type Dropped, knownKeys } from '../dropped.ts';
import { flattenToolName } from '../flatten-tool-name.ts';
import type { CustomDefinition, FunctionDefinition, ListedTool, ToolDefinition } from '../parsed.ts';
import { invalidType, invalidValue, missingParameter, quote, unsupportedParameter } from '../request-errors.ts';
import { mark } from '../trace.ts';
import { withoutEncrypted } from './encrypted-parameters.ts';
import { readShape } from './read-shape.ts';

/** Collects a request's tools from its several lists, and keeps their names unique. */
export interface ToolParser {
  /**
   * Parses a `tools` array at `param`. `own` is the request's list, in which a name that is already taken is a mistake, and
   * a tool that cannot be offered is refused. Later lists are part of the history: there, a tool declared again replaces
   * the earlier one, and what cannot be offered is left out and named. Throws `ApiError` for the first mistake.
   */
  add(tools: readonly unknown[], param: string, own: boolean): void;
  /**
   * Every tool to offer, in order, once all lists are read. Where OpenAI's servers would have searched, a function that is
   * deferred belongs to a namespace of its own name, as in the API.
   */
  finish(): readonly ToolDefinition[];
  /** The request's own list. */
  readonly listed: readonly ListedTool[];
}

/** Tools that only OpenAI's own servers can run. */
const hostedTools = new Set([
  'web_search',
  'web_search_preview',
  'file_search',
  'mcp',
  'code_interpreter',
  'image_generation',
  'computer',
  'computer_use',
  'computer_use_preview',
  'tool_search',
  'programmatic_tool_calling',
]);

/** A type of tool that OpenAI's servers run, also with the date of a version. */
export function isHostedTool(type: string): boolean {
  return hostedTools.has(familyOf(type));
}

/** The type without the date of a version: `web_search_preview_2025_03_11`. */
function familyOf(type: string): string {
  return type.replace(/_\d{4}_\d{2}_\d{2}$/, '');
}

/** A parser that has seen no tools yet. `dropped` receives the name of each tool that a setting leaves out. */
export function createToolParser(settings: TranslationSettings, dropped: Dropped): ToolParser {
  const definitions: ToolDefinition[] = [];
  const listed: ListedTool[] = [];
  /** Where each name is among the definitions. */
  const places = new Map<string, number>();
  /** Deferred tools by their Chat names, as a search would give them; null for one that a search has given. */
  const deferred = new Map<string, ToolEcho | null>();
  let isSearched = false;

  function add(tools: readonly unknown[], param: string, own: boolean): void {
    tools.forEach((tool, index) => {
      addTool(tool, `${param}[${index}]`, param, own);
    });
  }

  function addTool(given: unknown, at: string, listParam: string, own: boolean): void {
    if (settings.trace !== undefined) settings.trace.field = at;
    const type = typeOf(given, at);
    const nested = isJsonObject(given) ? chatToolIn(given, type) : null;
    const tool = nested ?? given;
    if (nested !== null) at = `${at}.${type}`;
    nameUnknownKeys(type, tool);
    switch (type) {
      case 'function': {
        const read = readShape(functionTool, tool, at);
        const origin = originOf({ kind: 'function', name: read.name }, read);
        const definition = withHints(functionOf(plain(read, at), read.name, origin, at), given);
        defer(definition, tool, own, () => ({ ...(tool as object), type }));
        offer(definition, listParam, own);
        if (own) listed.push({ kind: 'function', definition });
        return;
      }
      case 'custom': {
        const read = readShape(customTool, nested === null ? tool : withFlatGrammar(nested), at);
        const definition = customOf(read, read.name, originOf({ kind: 'custom', name: read.name }, read), at);
        defer(definition, tool, own, () => ({ ...(tool as object), type }));
        offer(definition, listParam, own);
        break;
      }
      case 'namespace':
        addNamespace(tool, at, listParam, own);
        break;
      case 'tool_search': {
        const read = readShape(toolSearchTool, tool, at);
        // The search that OpenAI's servers run has nothing to find here: deferred tools are all offered.
        if (read.execution !== 'client') {
          isSearched = true;
          dropped.push(`${at}.tool_search`);
          return;
        }
        offer(functionOf(read, 'tool_search', { kind: 'tool_search' }, at), listParam, own);
        break;
      }
      case 'shell': {
        const { environment } = readShape(shellTool, tool, at);
        if (environment != null && environment.type !== 'local') {
          if (own) throw containerOnly(environment.type, at);
          dropped.push(`${at}.${type}`);
          return;
        }
        offer(clientToolOf(type, at), listParam, own);
        break;
      }
      case 'local_shell':
      case 'apply_patch':
        offer(clientToolOf(type, at), listParam, own);
        break;
      default:
        leaveOutOrRefuse(type, at, own);
        return;
    }
    // The schema above has checked that it is an object with a type.
    if (own) listed.push({ kind: 'other', given: (nested === null ? given : { ...nested, type }) as ToolEcho });
  }

  /** Names the keys of a tool that are not read; tools of other types are left out entirely. */
  function nameUnknownKeys(type: string, tool: unknown): void {
    const keys = type === 'function' ? functionKeysOf(settings) : toolKeys.get(type);
    if (keys !== undefined && isJsonObject(tool)) dropped.pushUnknownKeys(tool, keys, 'tools[]');
  }

  function addNamespace(tool: unknown, at: string, listParam: string, own: boolean): void {
    const { name: namespace, description, tools } = readShape(namespaceTool, tool, at);
    const inNamespace = (member: unknown) => ({ type: 'namespace', name: namespace, description, tools: [member] });
    let preface = description ?? ''; // only the first member repeats it: nothing is lost, and little is repeated
    for (const [index, member] of tools.entries()) {
      const memberAt = `${at}.tools[${index}]`;
      const type = typeOf(member, memberAt);
      if (type !== 'function' && type !== 'custom') {
        throw unsupportedParameter(
          `${memberAt}.type`,
          `A namespace may hold tools of type 'function' and 'custom', not ${quote(type)}.`,
        );
      }
      nameUnknownKeys(type, member);
      if (type === 'function') {
        const read = readShape(namespacedFunctionTool, member, memberAt);
        const definition = functionOf(
          plain(prefaced(read), memberAt),
          flattenToolName(namespace, read.name),
          originOf({ kind: type, name: read.name, namespace }, read),
          memberAt,
        );
        defer(definition, member, own, () => inNamespace(member));
        offer(definition, listParam, own);
      } else {
        const read = readShape(namespacedCustomTool, member, memberAt);
        const definition = customOf(
          prefaced(read),
          flattenToolName(namespace, read.name),
          originOf({ kind: type, name: read.name, namespace }, read),
          memberAt,
        );
        defer(definition, member, own, () => inNamespace(member));
        offer(definition, listParam, own);
      }
    }

    function prefaced<Tool extends { readonly description?: string | null | undefined }>(read: Tool): Tool {
      const texts = [preface, read.description ?? ''].filter((text) => text !== '');
      preface = '';
      return { ...read, description: texts.join('\n\n') };
    }
  }

  function plain<Tool extends { readonly parameters?: Record<string, unknown> | null | undefined }>(
    read: Tool,
    at: string,
  ): Tool {
    if (read.parameters == null) return read;
    const parameters = withoutEncrypted(read.parameters);
    if (parameters === read.parameters) return read;
    dropped.push(`${at}.parameters.encrypted`);
    return { ...read, parameters };
  }

  function withHints(definition: FunctionDefinition, tool: unknown): FunctionDefinition {
    const { cache_control: cacheControl } = tool as { readonly cache_control?: unknown }; // typeOf has checked it is an object
    return settings.profile.cacheControl && cacheControl != null ? { ...definition, cacheControl } : definition;
  }

  /** Notes what waits to be found; `found` is how a search would give it. */
  function defer({ chatName }: ToolDefinition, tool: unknown, own: boolean, found: () => ToolEcho): void {
    if (isJsonObject(tool) && tool['defer_loading'] === true) deferred.set(chatName, own ? found() : null);
    else deferred.delete(chatName);
  }

  function finish(): readonly ToolDefinition[] {
    if (!isSearched || deferred.size === 0) return definitions;
    return definitions.map((definition) => {
      const { chatName, origin } = definition;
      const found = deferred.get(chatName);
      if (found === undefined) return definition;
      const own =
        origin.kind === 'function' && origin.namespace === undefined ? { ...origin, namespace: origin.name } : origin;
      return { ...definition, origin: own, ...(found === null ? {} : { found }) };
    });
  }

  function offer(tool: ToolDefinition, listParam: string, own: boolean): void {
    if (settings.trace !== undefined) mark(tool, tool.param);
    const place = places.get(tool.chatName);
    if (place !== undefined) {
      if (own) {
        throw invalidValue(
          `${tool.param}.name`,
          `Invalid value for '${tool.param}.name': a tool named ${quote(tool.chatName)} already exists.`,
        );
      }
      definitions[place] = tool;
      return;
    }
    if (definitions.length >= settings.limits.maxTools) {
      throw ApiError.invalidRequest(
        'array_above_max_length',
        listParam,
        `Invalid '${listParam}': too many tools. Expected at most ${settings.limits.maxTools}, those in namespaces counted.`,
      );
    }
    places.set(tool.chatName, definitions.length);
    definitions.push(tool);
  }

  function leaveOutOrRefuse(type: string, at: string, own: boolean): void {
    const family = familyOf(type);
    const isHosted = hostedTools.has(family);
    if (settings.droppedTools.includes(type) || settings.droppedTools.includes(family) || (isHosted && !own)) {
      dropped.push(`${at}.${type}`);
      return;
    }
    const param = `${at}.type`;
    if (isHosted) {
      throw unsupportedParameter(
        param,
        `Tools of type ${quote(type)} run on OpenAI's servers and are not available here. Offer a tool of type 'function' and run it yourself.`,
      );
    }
    if (settings.unknownItems === 'reject') {
      throw invalidValue(
        param,
        `Invalid value: ${quote(type)} for '${param}'. Supported values are: 'function', 'custom', 'namespace', 'tool_search', 'shell', 'local_shell', 'apply_patch'.`,
      );
    }
    dropped.pushUnknownType({ kind: 'tool', type }, at);
  }

  return { add, finish, listed };
}

function clientToolOf(type: ClientToolType, param: string): FunctionDefinition {
  const { description, parameters } = clientTools[type];
  return { kind: 'function', param, chatName: type, origin: { kind: type }, description, parameters, strict: null };
}

function containerOnly(environment: string, at: string): ApiError {
  return unsupportedParameter(
    `${at}.environment`,
    `A shell in ${quote(environment)} runs on OpenAI's servers, and this server has none. Send "environment": {"type": "local"} and run the commands yourself.`,
  );
}

const functionKeys = knownKeys(...Object.keys(functionTool.shape));
const cachedFunctionKeys = knownKeys(...functionKeys, 'cache_control');

function functionKeysOf({ profile }: TranslationSettings): ReadonlySet<string> {
  return profile.cacheControl ? cachedFunctionKeys : functionKeys;
}

/** Keys that are read, of the other types. */
const toolKeys: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['custom', knownKeys(...Object.keys(customTool.shape))],
  ['namespace', knownKeys(...Object.keys(namespaceTool.shape))],
  ['tool_search', knownKeys(...Object.keys(toolSearchTool.shape))],
  ['shell', knownKeys(...Object.keys(shellTool.shape))],
  ['local_shell', knownKeys()],
  ['apply_patch', knownKeys()],
]);

/** The tool in Chat's form, `{"type": "function", "function": {…}}`, which clients written for that API send; else null. */
function chatToolIn(tool: Record<string, unknown>, type: string): Record<string, unknown> | null {
  const nested = type === 'function' || type === 'custom' ? tool[type] : null;
  return tool['name'] === undefined && isJsonObject(nested) ? nested : null;
}

/** Chat has the grammar of a custom tool in an object of its own. */
function withFlatGrammar(tool: Record<string, unknown>): Record<string, unknown> {
  const { format } = tool;
  return isJsonObject(format) && isJsonObject(format['grammar'])
    ? { ...tool, format: { ...format['grammar'], type: format['type'] } }
    : tool;
}

/** The client's own name of the tool, and whether its output may come later, which its calls repeat. */
function originOf(
  origin: Extract<RestoredTool, { readonly name: string }>,
  { async: isAsync }: { readonly async?: unknown },
): RestoredTool {
  return isAsync === true ? { ...origin, async: true } : origin;
}

function functionOf(
  read: Partial<Pick<z.output<typeof functionTool>, 'description' | 'parameters' | 'strict'>>,
  chatName: string,
  origin: RestoredTool,
  param: string,
): FunctionDefinition {
  const { description, parameters, strict } = read;
  return {
    kind: 'function',
    param,
    chatName,
    origin,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  };
}

function customOf(
  { description, format }: z.output<typeof customTool>,
  chatName: string,
  origin: RestoredTool,
  param: string,
): CustomDefinition {
  return { kind: 'custom', param, chatName, origin, description: description ?? null, format: format ?? null };
}

function typeOf(tool: unknown, at: string): string {
  if (!isJsonObject(tool)) throw invalidType(at, 'an object', tool);
  const type = tool['type'];
  if (type == null) throw missingParameter(`${at}.type`);
  if (typeof type !== 'string') throw invalidType(`${at}.type`, 'a string', type);
  return type;
}
