import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

type JsonObject = Record<string, unknown>;

/** A schema of the published document, as far as the tests walk it. */
export interface PublishedSchema {
  readonly $ref?: string;
  readonly anyOf?: readonly PublishedSchema[];
  readonly oneOf?: readonly PublishedSchema[];
  readonly allOf?: readonly PublishedSchema[];
  readonly items?: PublishedSchema;
  readonly properties?: Readonly<Record<string, PublishedSchema>>;
}

/** The Open Responses schema of 2026-04-24 as an oracle; `test/fixtures/open-responses/README.md` says where it is from. */
const document: { components: { schemas: Record<string, PublishedSchema> } } = JSON.parse(
  readFileSync(new URL('../fixtures/open-responses/openapi.json', import.meta.url), 'utf8'),
);

/** The schemas of the published document by name, `CreateResponseBody` for one. */
export const publishedSchemas: Readonly<Record<string, PublishedSchema>> = document.components.schemas;

interface Published {
  readonly response: ValidateFunction;
  readonly error: ValidateFunction;
  /** By event type. */
  readonly events: ReadonlyMap<string, ValidateFunction>;
}

let compiled: Published | null = null;

function published(): Published {
  if (compiled !== null) return compiled;
  const ajv = new Ajv2020({ strict: false, discriminator: true, allErrors: true });
  ajv.addSchema({ $id: 'open-responses', components: document.components });
  const events = new Map<string, ValidateFunction>();
  for (const [name, schema] of Object.entries(publishedSchemas)) {
    if (!name.endsWith('StreamingEvent')) continue;
    const { type } = schema.properties as unknown as { type: { enum: string[] } };
    for (const word of type.enum) events.set(word, validatorOf(ajv, name));
  }
  compiled = {
    response: validatorOf(ajv, 'ResponseResource'),
    error: validatorOf(ajv, 'ErrorPayload'),
    events,
  };
  return compiled;
}

function validatorOf(ajv: Ajv2020, name: string): ValidateFunction {
  return ajv.compile({ $ref: `open-responses#/components/schemas/${name}` });
}

/** What is wrong with a Response resource, a line per fault; empty when it is valid apart from what `withoutExtensions` removes. */
export function faultsOfResponse(response: unknown): string[] {
  return faults(published().response, withoutExtensions(response as JsonObject));
}

/** Likewise for the object inside `{"error": …}`. */
export function faultsOfError(error: unknown): string[] {
  return faults(published().error, error as JsonObject);
}

/** Likewise for a stream event. Only events of OpenAI's custom and shell tools and a provider's own may be missing from the published schema. */
export function faultsOfEvent(event: unknown): string[] {
  const { type, response, item, part, ...rest } = event as JsonObject;
  if (/^response\.(custom_tool_call_input|shell_call_command)\.|:/.test(String(type))) return [];
  const validate = published().events.get(String(type));
  if (validate === undefined) return [`the published schema has no event ${type}`];
  if (item !== undefined && isExtensionItem(item)) return [];
  if (part !== undefined && !isPublishedPart(part as JsonObject)) return [];
  if (/file_citation$/.test(String((rest['annotation'] as JsonObject | undefined)?.['type']))) return [];
  return faults(validate, {
    type,
    ...(response !== undefined && { response: withoutExtensions(response as JsonObject) }),
    ...(item !== undefined && { item: withPublishedAnnotations(item as JsonObject) }),
    ...rest,
    ...(part !== undefined && { part: withPublishedAnnotations(part as JsonObject) }),
  });
}

function faults(validate: ValidateFunction, value: unknown): string[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/**
 * The resource without what only OpenAI has, and not the published schema: custom tools, tool search, tools the client runs, a format's own
 * `schema` (choice D16), efforts outside the published words (D17), a named custom tool choice.
 */
/** Is it a part of the API, and not the upstream's own, or one of Chat's that was passed on? */
function isPublishedPart({ type }: JsonObject): boolean {
  return !/:|_url$/.test(String(type));
}

/** Of an item or a part, without the citations of files, which OpenAI's SDKs have alone. */
function withPublishedAnnotations(value: JsonObject): JsonObject {
  const { annotations, content } = value;
  return {
    ...value,
    ...(Array.isArray(annotations) && { annotations: annotations.filter(({ type }) => type === 'url_citation') }),
    ...(Array.isArray(content) && { content: content.filter(isPublishedPart).map(withPublishedAnnotations) }),
  };
}

function withoutExtensions(response: JsonObject): JsonObject {
  const { output, tools, text, reasoning, tool_choice } = response;
  const format = (text as JsonObject | undefined)?.['format'] as JsonObject | undefined;
  const effort = (reasoning as JsonObject | undefined)?.['effort'];
  const chosen = String((tool_choice as JsonObject | null | undefined)?.['type']);
  const isCustomChoice = ['custom', 'shell', 'local_shell', 'apply_patch'].includes(chosen);
  return {
    ...response,
    ...(Array.isArray(output) && {
      output: output.filter((item) => !isExtensionItem(item)).map(withPublishedAnnotations),
    }),
    ...(Array.isArray(tools) && { tools: tools.filter((tool) => tool?.type === 'function') }),
    ...(format?.['type'] === 'json_schema' && {
      text: { ...(text as JsonObject), format: { ...format, schema: null } },
    }),
    ...(['minimal', 'max'].includes(effort as string) && {
      reasoning: { ...(reasoning as JsonObject), effort: null },
    }),
    ...(isCustomChoice && { tool_choice: 'auto' }),
  };
}

function isExtensionItem(item: unknown): boolean {
  const type = (item as JsonObject | null)?.['type'];
  return extensionItems.has(String(type));
}

const extensionItems = new Set([
  'custom_tool_call',
  'tool_search_call',
  'tool_search_output',
  'shell_call',
  'local_shell_call',
  'apply_patch_call',
  'image_generation_call',
]);
