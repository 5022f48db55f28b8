import { isJsonObject } from '../../../../formats/json/exact.ts';
import type { Profile } from '../../../upstream/profile.ts';
import {
  customFormats,
  customTool,
  functionTool,
  namespacedCustomTool,
  namespacedFunctionTool,
  namespaceTool,
} from '../../../wire/schema/create-response.ts';
import type { ToolEcho } from '../../../wire/schema/response-resource.ts';
import { chatToolName } from '../../shared/chat-names.ts';
import { extensionKeysOf } from '../../shared/extension-name.ts';
import type { CustomDefinition, FunctionDefinition } from '../../shared/parsed.ts';
import { missingParameter, notOneOf, quote, unsupportedParameter } from '../../shared/request-errors.ts';
import { withoutEncrypted } from '../../shared/rewrite-schemas.ts';
import { type KnownKeys, knownKeys, nameUnknown, type PassedKeys } from './known-keys.ts';
import { parseShape, readShape } from './read-shape.ts';
import { type ToolsBuilder, type ToolType, toolType, typedTool } from './tools-builder.ts';

/** Tools with a name of the client's own. */

export const functionTools: ToolType = {
  chosenBy: 'name',
  read(given, at, tools) {
    const { tool, toolAt, written } = flatTool(given, 'function', at);
    const definition = functionAt(tool, toolAt, null, tools, written);
    tools.offer(definition, isDeferred(tool) ? (tool as ToolEcho) : null);
    return functionEcho(definition, tools.settings.strictEcho);
  },
};

export const customTools: ToolType = {
  chosenBy: 'name',
  read(given, at, tools) {
    const { tool, toolAt, written } = flatTool(given, 'custom', at);
    tools.offer(customAt(tool, toolAt, null, tools, written), isDeferred(tool) ? (tool as ToolEcho) : null);
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
/** The objects that a tool is written as, each with its path. */
type Written = readonly (readonly [object: Tool, at: string])[];

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

function functionAt(
  tool: Tool,
  at: string,
  namespace: Namespace | null,
  tools: ToolsBuilder,
  written: Written = [[tool, at]],
): FunctionDefinition {
  const { settings, dropped } = tools;
  const read = parseShape(namespace === null ? functionTool : namespacedFunctionTool, tool, at);
  const own = extensionKeysOf(tool, settings.profile);
  const { cache_control } = tool;
  const isCached = settings.profile.cacheControl && namespace === null && cache_control != null;
  nameWritten(written, functionKeys, tools, isCached ? { ...own, cache_control } : own);
  const parameters = read.parameters == null ? null : withoutEncrypted(read.parameters);
  if (parameters !== null && parameters !== read.parameters) dropped.push(`${at}.parameters.encrypted`);
  return {
    kind: 'function',
    ...namedAs('function', read, at, namespace, settings.profile),
    extensions: own,
    parameters,
    strict: read.strict,
    ...(isCached ? { cacheControl: cache_control } : {}),
  };
}

function customAt(
  tool: Tool,
  at: string,
  namespace: Namespace | null,
  tools: ToolsBuilder,
  written: Written = [[tool, at]],
): CustomDefinition {
  const { profile } = tools.settings;
  const read = parseShape(namespace === null ? customTool : namespacedCustomTool, tool, at);
  const own = extensionKeysOf(tool, profile);
  nameWritten(written, customKeys, tools, own);
  const format = read.format == null ? null : customFormatAt(read.format, `${at}.format`, tools);
  return { kind: 'custom', ...namedAs('custom', read, at, namespace, profile), extensions: own, format };
}

/** Flat, or with the grammar in an object of its own, as Chat has it. */
function customFormatAt(given: Tool, at: string, tools: ToolsBuilder): CustomDefinition['format'] {
  const { profile } = tools.settings;
  const { type } = given;
  const own = profile.customTools === 'native' ? extensionKeysOf(given, profile) : null;
  if (type === 'text') return { ...readShape(customFormats.text, given, at, tools, own), extensions: own };
  if (type == null) throw missingParameter(`${at}.type`);
  if (type !== 'grammar') throw notOneOf(`${at}.type`, type, ['text', 'grammar']);
  const { grammar } = given;
  if (!isJsonObject(grammar)) return { ...readShape(customFormats.grammar, given, at, tools, own), extensions: own };
  readShape(customFormats.nested, given, at, tools, own);
  return { ...readShape(customFormats.grammar, { type, ...grammar }, `${at}.grammar`, tools), extensions: own };
}

const functionKeys = knownKeys(functionTool);
const customKeys = knownKeys(customTool);

/** Names the keys of a tool that are not read. One of a later list is what a search found: it is no longer deferred. */
function nameWritten(written: Written, keys: KnownKeys, tools: ToolsBuilder, own: PassedKeys | null): void {
  const passed = tools.isOwn ? own : { ...own, defer_loading: true };
  for (const [object, at] of written) nameUnknown(keys, object, at, tools, passed);
}

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
function flatTool(given: Tool, type: string, at: string) {
  const { [type]: nested, ...beside } = given;
  if (given['name'] !== undefined || !isJsonObject(nested))
    return { tool: given, toolAt: at, written: [[given, at]] as const };
  const toolAt = `${at}.${type}`;
  const written: Written = [
    [beside, at],
    [nested, toolAt],
  ];
  return { tool: { ...beside, ...nested, type }, toolAt, written };
}
