import type { Profile } from '../../upstream/profile.ts';
import type { ChatTool } from '../../wire/schema/chat-request.ts';
import type { ToolEcho } from '../../wire/schema/response-resource.ts';
import { chatToolName } from '../shared/chat-names.ts';
import type { RestoredTool } from '../shared/context.ts';
import type { Reading } from '../shared/dropped.ts';
import type { Growth } from '../shared/growth.ts';
import type { CustomDefinition, FunctionDefinition, ToolDefinition } from '../shared/parsed.ts';
import { carry, carryKeys } from '../shared/provenance.ts';
import { ToolSchemas } from './tool-schema-to-chat.ts';

export interface OfferedTool {
  readonly name: string;
  readonly chat: ChatTool;
  readonly origin: RestoredTool;
  /** The tool as a search would give it: only for a deferred tool that no search has given. */
  readonly found: ToolEcho | null;
}

export type ToolTable = ReturnType<typeof createToolTable>;

const wrapperParameters = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The free-form text this tool takes.' } },
  required: ['input'],
  additionalProperties: false,
};

/** The tools as the profile's server takes them. Each `strict` that it does not know is dropped and listed. */
export function createToolTable(
  definitions: readonly ToolDefinition[],
  { settings: { profile }, dropped }: Reading,
  growth: Growth,
) {
  const schemas = new ToolSchemas(profile, growth);
  const offered: OfferedTool[] = [];
  const byName = new Map<string, OfferedTool>();
  const byShortName = new Map<string, OfferedTool | null>(); // null: several namespaces have it
  for (const definition of definitions) {
    const { chatName: name, origin, found = null } = definition;
    const chat = writeTool(definition);
    growth.add([chat, found], definition.param);
    carry(chat, definition);
    const tool = { name, chat, origin, found };
    offered.push(tool);
    byName.set(name, tool);
    if ('namespace' in origin && origin.namespace !== undefined) {
      byShortName.set(origin.name, byShortName.has(origin.name) ? null : tool);
    }
  }

  function writeTool(definition: ToolDefinition): ChatTool {
    switch (definition.kind) {
      case 'function':
        return writeFunction(definition);
      case 'custom':
        return writeCustomTool(definition, profile);
      case 'extension':
        return { ...definition.tool };
    }
  }

  function writeFunction(definition: FunctionDefinition): ChatTool {
    const { param, chatName: name, description, parameters, strict, cacheControl, extensions } = definition;
    let isLoosened = false;
    const schema = schemas.toChat(parameters, `${param}.parameters`, (keyword) => {
      isLoosened = true;
      dropped.push(`${param}.parameters.${keyword}`);
    });
    // Strict schemas have rules of their own, which a schema made of several would break.
    const isStrict = profile.strict && !isLoosened;
    if (strict === true && !isStrict) dropped.push(`${param}.strict`);
    const strictness = strict != null && isStrict ? { strict } : {};
    const offer = { name, ...described(description), parameters: schema, ...strictness };
    carryKeys(offer, definition, ['name', 'description', 'parameters', 'strict']);
    return {
      type: 'function',
      function: offer,
      ...(cacheControl === undefined ? {} : { cache_control: cacheControl }),
      ...extensions,
    };
  }

  return {
    offered,
    find(name: string, namespace?: string | null): OfferedTool | undefined {
      const tool = byName.get(chatToolName(name, namespace, profile));
      if (tool !== undefined) return tool;
      if (namespace == null || namespace === '') return byShortName.get(name) ?? undefined;
      // A deferred function may stand in a namespace of its own name.
      return namespace === name ? byName.get(chatToolName(name, null, profile)) : undefined;
    },
  };
}

/** A custom tool as itself, or wrapped in a function of one string where the server knows functions only. */
function writeCustomTool(definition: CustomDefinition, profile: Profile): ChatTool {
  const { chatName: name, description, format, extensions } = definition;
  const grammar = format?.type === 'grammar' ? { definition: format.definition, syntax: format.syntax } : null;
  if (profile.customTools === 'native') {
    const chatFormat = grammar === null ? ({ type: 'text' } as const) : ({ type: 'grammar', grammar } as const);
    const offer = {
      name,
      ...described(description),
      ...(format === null ? {} : { format: { ...chatFormat, ...format.extensions } }),
    };
    carryKeys(offer, definition, ['name', 'description', 'format']);
    return { type: 'custom', custom: offer, ...extensions };
  }
  const rules =
    grammar === null ? '' : `The input must conform to this ${grammar.syntax} grammar:\n${grammar.definition}`;
  const text = [description ?? '', rules].filter((paragraph) => paragraph !== '').join('\n\n');
  const strict = profile.customTools === 'wrapped_strict' ? { strict: true } : {};
  const wrapper = { name, ...described(text), parameters: wrapperParameters, ...strict };
  return { type: 'function', function: wrapper, ...extensions };
}

function described(description: string | null): { description?: string } {
  return description === null || description === '' ? {} : { description };
}
