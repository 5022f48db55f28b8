import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { ApiError } from '../../schema/api-error.ts';
import {
  customTool,
  functionTool,
  isJsonObject,
  namespacedCustomTool,
  namespacedFunctionTool,
  namespaceTool,
  toolSearchTool,
} from '../../schema/create-response.ts';
import type { ToolEcho } from '../../schema/response-resource.ts';
import type { RestoredTool } from '../context.ts';
import type { TranslationSettings } from '../settings.ts';
import { invalidType, invalidValue, missingParameter, quote, readShape, unsupportedParameter } from './shape.ts';

/** A tool as it is offered to the upstream. */
export interface OfferedTool {
  /** The Chat name. */
  readonly name: string;
  readonly chat: Readonly<Record<string, unknown>>;
  /** What the Chat name stands for. */
  readonly origin: RestoredTool;
}

/** Every tool of a request, in the order they are offered. */
export interface ToolTable {
  /** Reads a `tools` array at `param`. `own` is the request's list, whose names must be unique; later lists may repeat it. */
  add(tools: readonly unknown[], param: string, own: boolean): void;
  readonly offered: ReadonlyMap<string, OfferedTool>;
  /** The request's own list as the Response repeats it. */
  readonly echo: readonly ToolEcho[];
  /** The offered tool a client means by name and namespace, or undefined. */
  find(name: string, namespace?: string | null): OfferedTool | undefined;
}

/** Tools that only OpenAI's own servers can run, or that clients run by a protocol of their own. */
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
  'local_shell',
  'shell',
  'apply_patch',
  'tool_search',
  'programmatic_tool_calling',
]);

/** What a wrapped custom tool takes: one string. */
const wrapperParameters = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The free-form text this tool takes.' } },
  required: ['input'],
  additionalProperties: false,
};

/** An empty table. `dropped` receives the name of each tool that a setting leaves out. */
export function createToolTable(settings: TranslationSettings, dropped: string[]): ToolTable {
  const { profile } = settings;
  const offered = new Map<string, OfferedTool>();
  const echo: ToolEcho[] = [];
  const byShortName = new Map<string, OfferedTool | null>(); // null: several namespaces have it
  let count = 0;

  function add(tools: readonly unknown[], param: string, own: boolean): void {
    tools.forEach((tool, index) => {
      addTool(tool, `${param}[${index}]`, param, own);
    });
  }

  function addTool(tool: unknown, at: string, listParam: string, own: boolean): void {
    const type = typeOf(tool, at);
    switch (type) {
      case 'function': {
        refuseNested(tool, at);
        const read = readShape(functionTool, tool, at);
        const origin = { kind: 'function', name: read.name } as const;
        offer(functionOf(read, read.name, read.description, origin, at), at, listParam, own);
        if (own) echo.push(functionEcho(read));
        return;
      }
      case 'custom': {
        const read = readShape(customTool, tool, at);
        offer(customOf(read, read.name, read.description, { kind: 'custom', name: read.name }), at, listParam, own);
        break;
      }
      case 'namespace':
        addNamespace(tool, at, listParam, own);
        break;
      case 'tool_search': {
        const read = readShape(toolSearchTool, tool, at);
        if (read.execution !== 'client') {
          throw unsupportedParameter(
            `${at}.type`,
            `A tool of type 'tool_search' runs here only on the client's side: send "execution": "client".`,
          );
        }
        const name = 'tool_search';
        offer(functionOf(read, name, read.description, { kind: 'tool_search' }, at), at, listParam, own);
        break;
      }
      default:
        leaveOutOrRefuse(type, at);
        return;
    }
    if (own && !settings.strictEcho) echo.push(tool as ToolEcho); // read by its schema above, so it is an object with a type
  }

  function addNamespace(tool: unknown, at: string, listParam: string, own: boolean): void {
    const { name: namespace, description, tools } = readShape(namespaceTool, tool, at);
    let preface = description ?? ''; // said once, on the first member, so that nothing is lost and little is repeated
    for (const [index, member] of tools.entries()) {
      const memberAt = `${at}.tools[${index}]`;
      const type = typeOf(member, memberAt);
      if (type !== 'function' && type !== 'custom') {
        throw unsupportedParameter(
          `${memberAt}.type`,
          `A namespace may hold tools of type 'function' and 'custom', not ${quote(type)}.`,
        );
      }
      const read = readShape(type === 'function' ? namespacedFunctionTool : namespacedCustomTool, member, memberAt);
      const name = flattenToolName(namespace, read.name);
      const described = [preface, read.description ?? ''].filter((text) => text !== '').join('\n\n');
      preface = '';
      const origin = { kind: type, name: read.name, namespace } as const;
      const made =
        type === 'function'
          ? functionOf(read as z.output<typeof functionTool>, name, described, origin, memberAt)
          : customOf(read as z.output<typeof customTool>, name, described, origin);
      offer(made, memberAt, listParam, own);
      byShortName.set(read.name, byShortName.has(read.name) ? null : made);
    }
  }

  function offer(tool: OfferedTool, at: string, listParam: string, own: boolean): void {
    if (offered.has(tool.name)) {
      if (!own) return; // clients repeat in `input` what they offer in `tools`; the first one counts
      throw invalidValue(
        `${at}.name`,
        `Invalid value for '${at}.name': a tool named ${quote(tool.name)} already exists.`,
      );
    }
    count++;
    if (count > settings.limits.maxTools) {
      throw ApiError.invalidRequest(
        'array_above_max_length',
        listParam,
        `Invalid '${listParam}': too many tools. Expected at most ${settings.limits.maxTools}, those in namespaces counted.`,
      );
    }
    offered.set(tool.name, tool);
  }

  function leaveOutOrRefuse(type: string, at: string): void {
    const family = type.replace(/_\d{4}_\d{2}_\d{2}$/, ''); // web_search_preview_2025_03_11
    if (settings.droppedTools.includes(type) || settings.droppedTools.includes(family)) {
      dropped.push(`${at}.${type}`);
      return;
    }
    const param = `${at}.type`;
    if (hostedTools.has(family) || /^[a-z0-9_-]+:[a-z0-9_-]+$/.test(type)) {
      throw unsupportedParameter(
        param,
        `Tools of type ${quote(type)} are run by the server, and there is none here that could. Offer a tool of type 'function' and run it yourself.`,
      );
    }
    throw invalidValue(
      param,
      `Invalid value: ${quote(type)} for '${param}'. Supported values are: 'function', 'custom', 'namespace', 'tool_search'.`,
    );
  }

  function functionOf(
    read: Pick<z.output<typeof functionTool>, 'parameters' | 'strict'>,
    name: string,
    description: string | null | undefined,
    origin: RestoredTool,
    at: string,
  ): OfferedTool {
    if (read.strict === true && !profile.strict) dropped.push(`${at}.strict`);
    const about = {
      name,
      ...described(description),
      parameters: completeSchema(read.parameters),
      ...(typeof read.strict === 'boolean' && profile.strict ? { strict: read.strict } : {}),
    };
    return { name, origin, chat: { type: 'function', function: about } };
  }

  function customOf(
    { format }: z.output<typeof customTool>,
    name: string,
    description: string | null | undefined,
    origin: RestoredTool,
  ): OfferedTool {
    const grammar = format?.type === 'grammar' ? { definition: format.definition, syntax: format.syntax } : null;
    if (profile.customTools === 'native') {
      const chatFormat = grammar === null ? { type: 'text' } : { type: 'grammar', grammar };
      const about = { name, ...described(description), ...(format == null ? {} : { format: chatFormat }) };
      return { name, origin, chat: { type: 'custom', custom: about } };
    }
    const rules =
      grammar === null ? '' : `The input must conform to this ${grammar.syntax} grammar:\n${grammar.definition}`;
    const text = [description ?? '', rules].filter((paragraph) => paragraph !== '').join('\n\n');
    return {
      name,
      origin,
      chat: { type: 'function', function: { name, ...described(text), parameters: wrapperParameters } },
    };
  }

  return {
    add,
    offered,
    echo,
    find(name, namespace) {
      if (namespace != null && namespace !== '') return offered.get(flattenToolName(namespace, name));
      return offered.get(name) ?? byShortName.get(name) ?? undefined;
    },
  };
}

/**
 * The Chat name of a tool in a namespace: `namespace__name`. Where that is no legal name, letters that are not allowed
 * become `_` and a hash keeps it unique; always the same for the same names, so that a later request gives it again.
 */
export function flattenToolName(namespace: string, name: string): string {
  const flat = `${namespace}__${name}`;
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(flat)) return flat;
  const hash = createHash('sha256').update(`${namespace}\n${name}`).digest('hex').slice(0, 8);
  return `${flat.replaceAll(/[^a-zA-Z0-9_-]/g, '_').slice(0, 55)}_${hash}`;
}

/** Servers want an object schema, and always one. */
function completeSchema(parameters: Record<string, unknown> | null | undefined): Record<string, unknown> {
  if (parameters == null) return { type: 'object', properties: {} };
  return parameters['type'] === undefined ? { type: 'object', ...parameters } : parameters;
}

function functionEcho(read: z.output<typeof functionTool>): ToolEcho {
  return {
    type: 'function',
    name: read.name,
    description: read.description ?? null,
    parameters: read.parameters ?? null,
    strict: read.strict ?? null,
  };
}

function described(description: string | null | undefined): { description?: string } {
  return description == null || description === '' ? {} : { description };
}

function typeOf(tool: unknown, at: string): string {
  if (!isJsonObject(tool)) throw invalidType(at, 'an object', tool);
  const type = tool['type'];
  if (type == null) throw missingParameter(`${at}.type`);
  if (typeof type !== 'string') throw invalidType(`${at}.type`, 'a string', type);
  return type;
}

/** Chat's nested form is the commonest mistake of clients that come from there. */
function refuseNested(tool: unknown, at: string): void {
  const { name, function: nested } = tool as Record<string, unknown>; // typeOf has seen that it is an object
  if (name === undefined && isJsonObject(nested)) {
    throw missingParameter(
      `${at}.name`,
      `This API takes functions flat: {"type": "function", "name": …, "parameters": …}, without a "function" object around it.`,
    );
  }
}
