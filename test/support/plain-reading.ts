import type { ResponseResource } from '../../src/filter/wire/schema/response-resource.ts';

/** The contents of an answer that every reader must agree on. */
export interface Said {
  readonly text: string;
  readonly refusal: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  readonly usage: { readonly input: number; readonly output: number } | null;
}

interface Delta {
  readonly content?: string | null | readonly { readonly type?: string; readonly text?: string }[];
  readonly refusal?: string | null;
  readonly tool_calls?:
    | readonly {
        readonly index?: number;
        readonly id?: string;
        readonly function?: { readonly name?: string | null; readonly arguments?: string | null };
      }[]
    | null;
  readonly function_call?: { readonly name?: string; readonly arguments?: string } | null;
}

interface Body {
  readonly choices?: readonly { readonly index?: number; readonly message?: Delta; readonly delta?: Delta }[];
  readonly usage?: Usage | null;
  /** Groq, in streams. */
  readonly x_groq?: { readonly usage?: Usage } | null;
}

interface Usage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly total_tokens?: number;
  readonly prompt_tokens_details?: { readonly audio_tokens?: number } | null;
}

/**
 * Reads a completion, or a stream of chunks, strictly as the Chat Completions API is documented, independent of `src/`: the
 * first choice's texts joined, its calls joined by index, the last usage.
 */
export function plainReading(body: string): Said {
  let text = '';
  let refusal = '';
  let usage: Said['usage'] = null;
  const calls = new Map<number, { name: string; arguments: string }>();
  for (const { choices = [], x_groq: groq, usage: given = groq?.usage } of bodiesIn(body)) {
    if (given?.prompt_tokens !== undefined) usage = countedIn(given);
    const [choice] = choices.filter(({ index = 0 }) => index === 0);
    // Perplexity has both: the other repeats everything so far, or is empty.
    const delta = (isWhole(body) ? choice?.message : choice?.delta) ?? {};
    text += textOf(delta.content);
    refusal += delta.refusal ?? '';
    const entries = delta.tool_calls ?? (delta.function_call?.name ? [{ function: delta.function_call }] : []);
    for (const [place, { index = place, function: called }] of entries.entries()) {
      const call = calls.get(index) ?? { name: '', arguments: '' };
      calls.set(index, {
        name: call.name || (called?.name ?? ''),
        arguments: call.arguments + (called?.arguments ?? ''),
      });
    }
  }
  return { text: withoutThinking(text), refusal, calls: [...calls.values()].map(normal), usage };
}

/** The same for what the product made of it. */
export function saidBy({ output, usage }: ResponseResource): Said {
  const parts = output.flatMap((item) => (item.type === 'message' ? item.content : []));
  return {
    text: parts
      .map((part) => (part.type === 'output_text' ? part.text : ''))
      .join('')
      .trim(),
    refusal: parts.map((part) => (part.type === 'refusal' ? part.refusal : '')).join(''),
    calls: output.flatMap((item) => (item.type === 'function_call' ? [normal(item)] : [])),
    usage: usage === null ? null : { input: usage.input_tokens, output: usage.output_tokens },
  };
}

/**
 * What the total has beside the two counts: Mistral's sounds are the prompt's, and the rest is thinking, which xAI lists and
 * Gemini does not.
 */
function countedIn({
  prompt_tokens: input = 0,
  completion_tokens: output = 0,
  total_tokens: total = 0,
  prompt_tokens_details: details,
}: Usage): Said['usage'] {
  const beside = Math.max(0, total - input - output);
  const isOfPrompt = beside === details?.audio_tokens;
  return isOfPrompt ? { input: input + beside, output } : { input, output: output + beside };
}

/** Thinking that a server left at the start of the text is not part of it; if it was cut off, everything is thinking. */
function withoutThinking(text: string): string {
  return text.replace(/^\s*<think>(?:.*?<\/think>|.*$)/s, '').trim();
}

/** Empty arguments mean an empty object, which is what clients must get. */
function normal({ name, arguments: text }: Said['calls'][number]): Said['calls'][number] {
  return { name, arguments: text.trim() === '' ? '{}' : text.trim() };
}

function textOf(content: Delta['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map(({ type, text = '' }) => (type === 'text' ? text : '')).join('');
}

function isWhole(body: string): boolean {
  return body.trimStart().startsWith('{');
}

function bodiesIn(body: string): readonly Body[] {
  if (isWhole(body)) return [JSON.parse(body) as Body];
  return body.split(/\r?\n/).flatMap((line) => {
    const data = /^data: ?(.*)$/.exec(line)?.[1]?.trim() ?? '';
    return data === '' || data === '[DONE]' ? [] : [JSON.parse(data) as Body];
  });
}
