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
import { readExtensionKeys } from '../../shared/extension-name.ts';
import type { CustomDefinition, FunctionDefinition } from '../../shared/parsed.ts';
import { missingParameter, notOneOf, quote, unsupportedParameter } from '../../shared/request-errors.ts';
import { withoutEncrypted } from '../../shared/rewrite-schemas.ts';
import { dropUnknown, type KnownKeys, knownKeys, type PassedKeys } from './known-keys.ts';
import { parseFields, parseShape, parseTyped } from './parse-shape.ts';
import { type ToolsBuilder, type ToolType, toolType } from './tools-builder.ts';

export const functionTools: ToolType = {
  chosenBy: 'name',
  parse(given, at, tools) {
    const { tool, toolAt, written } = flatTool(given, 'function', at);
    const definition = parseFunction(tool, toolAt, null, tools, written);
    tools.offer(definition, isDeferred(tool) ? (tool as ToolEcho) : null);
    return writeFunctionEcho(definition, tools.settings.strictEcho);
  },
};

export const customTools: ToolType = {
  chosenBy: 'name',
  parse(given, at, tools) {
    const { tool, toolAt, written } = flatTool(given, 'custom', at);
    tools.offer(parseCustom(tool, toolAt, null, tools, written), isDeferred(tool) ? (tool as ToolEcho) : null);
    return tools.writeEcho(tool);
  },
};

export const namespaceTools: ToolType = toolType(namespaceTool, null, ({ name, description, tools }, at, builder) => {
  // Each deferred member may reach the client by itself, and the first one carries the namespace's description.
  let toldOnce = description;
  for (const [index, given] of tools.entries()) {
    const memberAt = `${at}.tools[${index}]`;
    const [type, member] = parseTyped(given, memberAt);
    if (type !== 'function' && type !== 'custom') {
      const message = `A namespace may hold tools of type 'function' and 'custom', not ${quote(type)}. Leave it out, or offer it as a function.`;
      throw unsupportedParameter(`${memberAt}.type`, message);
    }
    // For the model, the first member alone carries the description: nothing is lost, and little is repeated.
    const namespace = { name, preface: index === 0 ? (description ?? '') : '' };
    const definition = (type === 'function' ? parseFunction : parseCustom)(member, memberAt, namespace, builder);
    builder.offer(
      definition,
      isDeferred(member) ? { type: 'namespace', name, description: toldOnce, tools: [member] } : null,
    );
    if (isDeferred(member)) toldOnce &&= '';
  }
  return true;
});

interface Namespace {
  readonly name: string;
  /** The namespace's description, in front of the tool's own; `''` for none. */
  readonly preface: string;
}

type Tool = Record<string, unknown>;
/** The objects in which the client wrote a tool, each with its path. */
type Written = readonly (readonly [object: Tool, at: string])[];

function writeFunctionEcho(
  { chatName, description, parameters, strict, origin }: FunctionDefinition,
  isPublished: boolean,
): ToolEcho {
  const isAsync = !isPublished && 'async' in origin && origin.async === true;
  return {
    type: 'function',
    name: chatName,
    description,
    parameters,
    strict: strict ?? false, // Chat's meaning of a missing `strict`
    ...(isAsync ? { async: true } : {}),
  };
}

function parseFunction(
  tool: Tool,
  at: string,
  namespace: Namespace | null,
  tools: ToolsBuilder,
  written: Written = [[tool, at]],
): FunctionDefinition {
  const { settings, dropped } = tools;
  const read = parseShape(namespace === null ? functionTool : namespacedFunctionTool, tool, at);
  const own = readExtensionKeys(tool, settings.profile);
  const { cache_control } = tool;
  const isCached = settings.profile.cacheControl && namespace === null && cache_control != null;
  listWritten(written, functionKeys, tools, isCached ? { ...own, cache_control } : own);
  const parameters = read.parameters == null ? null : withoutEncrypted(read.parameters);
  if (parameters !== null && parameters !== read.parameters) dropped.push(`${at}.parameters.encrypted`);
  return {
    kind: 'function',
    ...buildNamed('function', read, at, namespace, settings.profile),
    extensions: own,
    parameters,
    strict: read.strict,
    ...(isCached ? { cacheControl: cache_control } : {}),
  };
}

function parseCustom(
  tool: Tool,
  at: string,
  namespace: Namespace | null,
  tools: ToolsBuilder,
  written: Written = [[tool, at]],
): CustomDefinition {
  const { profile } = tools.settings;
  const read = parseShape(namespace === null ? customTool : namespacedCustomTool, tool, at);
  const own = readExtensionKeys(tool, profile);
  listWritten(written, customKeys, tools, own);
  const format = read.format == null ? null : parseCustomFormat(read.format, `${at}.format`, tools);
  return { kind: 'custom', ...buildNamed('custom', read, at, namespace, profile), extensions: own, format };
}

/** The format is flat, or has the grammar in an object of its own, as in Chat. */
function parseCustomFormat(given: Tool, at: string, tools: ToolsBuilder): CustomDefinition['format'] {
  const { profile } = tools.settings;
  const { type } = given;
  const own = profile.customTools === 'native' ? readExtensionKeys(given, profile) : null;
  if (type === 'text') return { ...parseFields(customFormats.text, given, at, tools, own), extensions: own };
  if (type == null) throw missingParameter(`${at}.type`);
  if (type !== 'grammar') throw notOneOf(`${at}.type`, type, ['text', 'grammar']);
  const { grammar } = given;
  if (!isJsonObject(grammar)) return { ...parseFields(customFormats.grammar, given, at, tools, own), extensions: own };
  parseFields(customFormats.nested, given, at, tools, own);
  return { ...parseFields(customFormats.grammar, { type, ...grammar }, `${at}.grammar`, tools), extensions: own };
}

const functionKeys = knownKeys(functionTool);
const customKeys = knownKeys(customTool);

/** Lists the keys of a tool that are not read. A tool of a later list is what a search found, and no longer deferred. */
function listWritten(written: Written, keys: KnownKeys, tools: ToolsBuilder, own: PassedKeys | null): void {
  const passed = tools.isOwn ? own : { ...own, defer_loading: true };
  for (const [object, at] of written) dropUnknown(keys, object, at, tools, passed);
}

function buildNamed(
  kind: 'function' | 'custom',
  read: { readonly name: string; readonly description?: string | null | undefined; readonly async?: unknown },
  param: string,
  namespace: Namespace | null,
  profile: Profile,
): Pick<FunctionDefinition, 'param' | 'chatName' | 'origin' | 'description'> {
  const { name, description = null } = read;
  // The output of an asynchronous tool may come later, which its calls repeat.
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

/** Clients of the Chat API write a tool one level down: `{"type": "function", "function": {…}}`. */
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
