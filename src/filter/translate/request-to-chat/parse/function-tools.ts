import { isJsonObject } from '../../../../formats/json/exact.ts';
import type { Profile } from '../../../upstream/profile.ts';
import {
  customTool,
  functionTool,
  namespacedCustomTool,
  namespacedFunctionTool,
  namespaceTool,
} from '../../../wire/schema/create-response.ts';
import type { ToolEcho } from '../../../wire/schema/response-resource.ts';
import { chatToolName } from '../../shared/chat-tool-name.ts';
import { knownKeys } from '../../shared/dropped.ts';
import { extensionKeysOf } from '../../shared/extension-name.ts';
import type { CustomDefinition, FunctionDefinition } from '../../shared/parsed.ts';
import { quote, unsupportedParameter } from '../../shared/request-errors.ts';
import { withoutEncrypted } from './encrypted-parameters.ts';
import { readShape } from './read-shape.ts';
import { type ToolsBuilder, type ToolType, toolType, typedTool } from './tools-builder.ts';

/** Tools with a name of the client's own. */

export const functionTools: ToolType = {
  chosenBy: 'name',
  read(given, at, tools) {
    const { tool, toolAt } = flatTool(given, 'function', at);
    const { cache_control: cacheControl } = given;
    const isCached = tools.settings.profile.cacheControl && cacheControl != null;
    const definition = { ...functionAt(tool, toolAt, null, tools), ...(isCached ? { cacheControl } : {}) };
    tools.offer(definition, isDeferred(tool) ? (tool as ToolEcho) : null);
    return functionEcho(definition, tools.settings.strictEcho);
  },
};

export const customTools: ToolType = {
  chosenBy: 'name',
  read(given, at, tools) {
    const { tool, toolAt } = flatTool(given, 'custom', at);
    const read = tool === given ? tool : withFlatGrammar(tool);
    tools.offer(customAt(read, toolAt, null, tools), isDeferred(tool) ? (tool as ToolEcho) : null);
    return tools.echoOf(tool);
  },
};

export const namespaceTools: ToolType = toolType(namespaceTool, null, ({ name, description, tools }, at, builder) => {
  // Each of its tools may be told to the client by itself: the first of them says what the namespace is.
  let told = description;
  for (const [index, given] of tools.entries()) {
    const memberAt = `${at}.tools[${index}]`;
    const [type, member] = typedTool(given, memberAt);
    if (type !== 'function' && type !== 'custom') {
      throw unsupportedParameter(
        `${memberAt}.type`,
        `A namespace may hold tools of type 'function' and 'custom', not ${quote(type)}. Leave it out, or offer it as a function.`,
      );
    }
    // Only the first member repeats the description: nothing is lost, and little is repeated.
    const namespace = { name, preface: index === 0 ? (description ?? '') : '' };
    const definition = (type === 'function' ? functionAt : customAt)(member, memberAt, namespace, builder);
    builder.offer(
      definition,
      isDeferred(member) ? { type: 'namespace', name, description: told, tools: [member] } : null,
    );
    if (isDeferred(member)) told &&= '';
  }
  return true;
});

interface Namespace {
  readonly name: string;
  /** Text before its own description. */
  readonly preface: string;
}

type Tool = Record<string, unknown>;

function functionEcho(
  { chatName, description, parameters, strict, origin }: FunctionDefinition,
  isPublished: boolean,
): ToolEcho {
  const isAsync = !isPublished && 'async' in origin && origin.async === true;
  return {
    type: 'function',
    name: chatName,
    description,
    parameters,
    strict: strict ?? false, // it is never added, and not strict is what Chat means without it
    ...(isAsync ? { async: true } : {}),
  };
}

function functionAt(tool: Tool, at: string, namespace: Namespace | null, tools: ToolsBuilder): FunctionDefinition {
  const { settings, dropped } = tools;
  const own = extensionKeysOf(tool, settings.profile);
  dropped.pushUnknownKeys(tool, settings.profile.cacheControl ? cachedFunctionKeys : functionKeys, 'tools[]', own);
  const read = readShape(namespace === null ? functionTool : namespacedFunctionTool, tool, at);
  const parameters = read.parameters == null ? null : withoutEncrypted(read.parameters);
  if (parameters !== null && parameters !== read.parameters) dropped.push(`${at}.parameters.encrypted`);
  return {
    kind: 'function',
    ...namedAs('function', read, at, namespace, settings.profile),
    extensions: own,
    parameters,
    strict: read.strict,
  };
}

function customAt(
  tool: Tool,
  at: string,
  namespace: Namespace | null,
  { dropped, settings }: ToolsBuilder,
): CustomDefinition {
  const own = extensionKeysOf(tool, settings.profile);
  dropped.pushUnknownKeys(tool, customKeys, 'tools[]', own);
  const read = readShape(namespace === null ? customTool : namespacedCustomTool, tool, at);
  const named = namedAs('custom', read, at, namespace, settings.profile);
  return { kind: 'custom', ...named, extensions: own, format: read.format ?? null };
}

const functionKeys = knownKeys(...Object.keys(functionTool.shape));
const cachedFunctionKeys = knownKeys(...functionKeys, 'cache_control');
const customKeys = knownKeys(...Object.keys(customTool.shape));

function namedAs(
  kind: 'function' | 'custom',
  read: { readonly name: string; readonly description?: string | null | undefined; readonly async?: unknown },
  param: string,
  namespace: Namespace | null,
  profile: Profile,
): Pick<FunctionDefinition, 'param' | 'chatName' | 'origin' | 'description'> {
  const { name, description = null } = read;
  // Whether its output may come later, which its calls repeat.
  const isAsync = read.async === true ? { async: true as const } : {};
  const origin = { kind, name, ...isAsync };
  const chatName = chatToolName(name, namespace?.name, profile);
  if (namespace === null) return { param, chatName, origin, description };
  return {
    param,
    chatName,
    origin: { ...origin, namespace: namespace.name },
    description: [namespace.preface, description ?? ''].filter((text) => text !== '').join('\n\n'),
  };
}

function isDeferred(tool: Tool): boolean {
  return tool['defer_loading'] === true;
}

/** Chat has such a tool one level down, `{"type": "function", "function": {…}}`; clients written for that API send it so. */
function flatTool(given: Tool, type: string, at: string): { readonly tool: Tool; readonly toolAt: string } {
  const { [type]: nested, ...beside } = given;
  if (given['name'] !== undefined || !isJsonObject(nested)) return { tool: given, toolAt: at };
  return { tool: { ...beside, ...nested, type }, toolAt: `${at}.${type}` };
}

/** Chat has the grammar of a custom tool in an object of its own. */
function withFlatGrammar(tool: Tool): Tool {
  const { format } = tool;
  return isJsonObject(format) && isJsonObject(format['grammar'])
    ? { ...tool, format: { ...format['grammar'], type: format['type'] } }
    : tool;
}
