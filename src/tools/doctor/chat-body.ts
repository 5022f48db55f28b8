import {
  type Findings,
  fewTokens,
  hasResult,
  isAccepted,
  type Known,
  type ProbeRequest,
  type Result,
} from './findings.ts';

const ofCity = {
  type: 'object',
  properties: { city: { type: 'string', description: 'Name of the city' } },
  required: ['city'],
  additionalProperties: false,
};

export const getWeather = buildTool('get_weather', 'The weather of a city, now');
export const getTime = buildTool('get_time', 'The local time in a city, now');
export const strictWeather = buildTool('get_weather', 'The weather of a city, now', { strict: true });

export const toolNames: ReadonlySet<string> = new Set(['get_weather', 'get_time', 'write_note']);

/** A question that the model can only answer with a tool. */
export const weatherQuestion = 'What is the weather in Oslo? Use the tool get_weather.';
export const twoCities =
  'What is the weather in Oslo, and what is it in Rome? Call get_weather once for each city, both at once.';

const buildAs = (role: string) => (content: unknown) => ({ role, content });
export const buildUser = buildAs('user');
export const buildAssistant = buildAs('assistant');
export const buildSystem = buildAs('system');

/** Builds a POST to the Chat API. `many` asks for tokens enough to judge the text; `fields` override all others. */
export function buildChat(
  known: Known,
  tokens: 'few' | 'many',
  fields: Readonly<Record<string, unknown>>,
): ProbeRequest {
  const field = findLimitField(known.findings);
  const limit = tokens === 'few' ? Math.min(fewTokens, known.manyTokens) : known.manyTokens;
  const limited = field !== null && { [field]: limit };
  // Some models take tools only without reasoning: requests with tools turn it off.
  const effort = 'tools' in fields && isAccepted(known.findings, 'tools_no_effort') && { reasoning_effort: 'none' };
  return { path: 'chat', body: { model: known.model, ...limited, ...effort, ...fields } };
}

export type LimitField = 'max_tokens' | 'max_completion_tokens';

/**
 * Whether the server reads a limit field with this result. Where the usual probe is inconclusive, the one with the
 * shorter limit decides.
 */
export function hasLimitResult(findings: Findings, name: LimitField, result: Result): boolean {
  const shorter = hasResult(findings, name, 'accepted') && hasResult(findings, `${name}_short`, 'works', 'ignored');
  return hasResult(findings, shorter ? `${name}_short` : name, result);
}

/** The field that limits the length of an answer on this server; null if the server accepts neither of the two. */
function findLimitField(findings: Findings): LimitField | null {
  for (const result of ['works', 'accepted'] as const)
    for (const name of ['max_tokens', 'max_completion_tokens'] as const)
      if (hasLimitResult(findings, name, result)) return name;
  // An ignored field does no harm, and other models may read it.
  return hasLimitResult(findings, 'max_tokens', 'ignored') ? 'max_tokens' : null;
}

/** A form in which a Chat history can contain a finished call. */
export interface CallForm {
  readonly asks: string;
  readonly content: null | '';
  readonly nineCharacterIds: boolean;
  readonly signature: boolean;
}

const plainForm = { asks: 'the request after a tool call', content: null, nineCharacterIds: false, signature: false };

/** The forms in which a finished call is tried, in this order, under the names of their probes. */
export const callForms: ReadonlyMap<string, CallForm> = new Map<string, CallForm>([
  ['tool_result', plainForm],
  ['tool_result_empty', { ...plainForm, asks: 'the same, content "" in place of null', content: '' }],
  ['tool_result_ids', { ...plainForm, asks: 'the same, ids of nine characters', nineCharacterIds: true }],
  ['tool_result_both', { ...plainForm, asks: 'the same, both', content: '', nineCharacterIds: true }],
  ['tool_result_signed', { ...plainForm, asks: 'the same, with a thought signature', signature: true }],
]);

/** The form of finished calls that the server accepts; null if it accepts none, or none was tried. */
export function findCallForm(findings: Findings): CallForm | null {
  for (const [name, form] of callForms) if (isAccepted(findings, name)) return form;
  return null;
}

/** Builds an assistant's calls of `get_weather`, one for each city, and the tool's answers. */
export function buildFinishedCalls(form: CallForm, cities: readonly string[], fields: object = {}): object[] {
  const idOf = (index: number) => (form.nineCharacterIds ? `pR0b3Ca1${index}` : `call_probe_${index}`);
  const calls = cities.map((city, index) => ({
    id: idOf(index),
    type: 'function',
    function: { name: 'get_weather', arguments: JSON.stringify({ city }) },
    // Google's documented value for a call without a signature.
    ...(form.signature && { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } }),
  }));
  const results = cities.map((city, index) => ({
    role: 'tool',
    tool_call_id: idOf(index),
    content: `${city}: ${17 + index} degrees, snow`,
  }));
  return [{ role: 'assistant', content: form.content, tool_calls: calls, ...fields }, ...results];
}

function buildTool(name: string, description: string, more: object = {}) {
  return { type: 'function', function: { name, description, parameters: ofCity, ...more } };
}
