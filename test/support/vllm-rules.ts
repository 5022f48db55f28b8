/**
 * What vLLM 0.32 refuses in a Chat request, for any model: each rule is one of its recorded refusals
 * (`test/recordings/raw`), against which this is tested. What depends on the model or the deployment (its name, its context,
 * whether it accepts images, what its grammars support) is left out. Nothing here knows how requests are translated.
 */
export function refusalsOfVllm(body: Loose): string[] {
  const refusals: string[] = [];
  if (!Array.isArray(body['messages']) || body['messages'].length === 0) refusals.push('messages');
  for (const { role, content } of entriesOf(body['messages']))
    for (const { type } of entriesOf(content)) if (role === 'user' && !parts.has(type)) refusals.push(`part ${type}`);
  for (const { type } of entriesOf(body['tools'])) if (type !== 'function') refusals.push(`tool ${type}`);
  refusals.push(...refusalsOfChoice(body), ...refusalsOfNumbers(body));
  const { reasoning_effort: effort, response_format: format } = body as { [name: string]: Loose };
  if (effort !== undefined && !efforts.has(effort)) refusals.push('reasoning_effort');
  if (format !== undefined && !formats.has(format['type'])) refusals.push('response_format');
  return refusals;
}

type Loose = { readonly [name: string]: unknown };

const efforts = new Set<unknown>(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
const formats = new Set<unknown>(['text', 'json_object', 'json_schema']);
/** Those in its error message's list that belong to the Chat API. */
const parts = new Set<unknown>(['text', 'image_url', 'input_audio', 'audio_url', 'video_url', 'refusal']);

function refusalsOfChoice({ tools, tool_choice: choice }: Loose): string[] {
  if (typeof choice !== 'object' || choice === null) return [];
  const name = (choice as { function?: { name?: unknown } }).function?.name;
  const offered = entriesOf(tools).map((tool) => (tool['function'] as Loose | undefined)?.['name']);
  return offered.includes(name) ? [] : ['tool_choice'];
}

function refusalsOfNumbers(body: Loose): string[] {
  const { temperature = 0, top_p: topP = 1, top_logprobs: top = 0, logprobs = false } = body;
  const outside = (value: unknown, from: number, to: number) =>
    !(typeof value === 'number' && value >= from && value <= to);
  const limits = [body['max_tokens'], body['max_completion_tokens']].filter((limit) => limit !== undefined);
  return [
    ...(outside(temperature, 0, Number.MAX_VALUE) ? ['temperature'] : []),
    ...(outside(topP, Number.MIN_VALUE, 1) ? ['top_p'] : []),
    ...(outside(top, 0, 20) || (top !== 0 && logprobs !== true) ? ['top_logprobs'] : []),
    ...(limits.some((limit) => outside(limit, 1, Number.MAX_VALUE)) ? ['max_tokens'] : []),
  ];
}

function entriesOf(value: unknown): readonly Loose[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'object' && entry !== null) : [];
}
