import { existsSync, readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';

/**
 * The Open Responses schema of 2026-04-24 as an oracle. It belongs to its authors and is not part of this repository:
 * put their `openapi.json` beside it, or name it in OPEN_RESPONSES_SCHEMA.
 */
const file =
  process.env['OPEN_RESPONSES_SCHEMA'] ??
  new URL('../../../shared/reference/open-responses-2026-04-24.openapi.json', import.meta.url);

/** False where the published file is not at hand; the tests that need it then say so instead of passing. */
export const hasPublishedSchema = existsSync(file);

type JsonObject = Record<string, unknown>;

interface Published {
  readonly response: ValidateFunction;
  readonly error: ValidateFunction;
  /** By event type. */
  readonly events: ReadonlyMap<string, ValidateFunction>;
}

let compiled: Published | null = null;

function published(): Published {
  if (compiled !== null) return compiled;
  const document = JSON.parse(readFileSync(file, 'utf8'));
  const ajv = new Ajv2020({ strict: false, discriminator: true, allErrors: true });
  ajv.addSchema({ $id: 'open-responses', components: document.components });
  const events = new Map<string, ValidateFunction>();
  for (const [name, schema] of Object.entries<JsonObject>(document.components.schemas)) {
    if (!name.endsWith('StreamingEvent')) continue;
    const { type } = schema['properties'] as { type: { enum: string[] } };
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

/** What is wrong with a Response resource, a line per fault; empty when it is valid but for `withoutExtensions`. */
export function faultsOfResponse(response: unknown): string[] {
  return faults(published().response, withoutExtensions(response as JsonObject));
}

/** Likewise for the object inside `{"error": …}`. */
export function faultsOfError(error: unknown): string[] {
  return faults(published().error, error as JsonObject);
}

/** Likewise for a stream event. Events the published schema does not know (OpenAI's custom tools) have no faults here. */
export function faultsOfEvent(event: unknown): string[] {
  const { type, response, item, ...rest } = event as JsonObject;
  const validate = published().events.get(String(type));
  if (validate === undefined || (item !== undefined && isExtensionItem(item))) return [];
  return faults(validate, {
    type,
    ...(response !== undefined && { response: withoutExtensions(response as JsonObject) }),
    ...(item !== undefined && { item }),
    ...rest,
  });
}

function faults(validate: ValidateFunction, value: unknown): string[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

/**
 * The resource without what OpenAI has and the published schema has not: custom tools and tool search, a format's own
 * `schema` (decision D16), efforts outside the published words (D17), a named custom tool choice.
 */
function withoutExtensions(response: JsonObject): JsonObject {
  const { output, tools, text, reasoning, tool_choice } = response;
  const format = (text as JsonObject | undefined)?.['format'] as JsonObject | undefined;
  const effort = (reasoning as JsonObject | undefined)?.['effort'];
  const isCustomChoice = (tool_choice as JsonObject | null | undefined)?.['type'] === 'custom';
  return {
    ...response,
    ...(Array.isArray(output) && { output: output.filter((item) => !isExtensionItem(item)) }),
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
  return type === 'custom_tool_call' || type === 'tool_search_call';
}
