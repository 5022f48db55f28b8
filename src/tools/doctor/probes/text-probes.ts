import { hasReasoned, type ReadAnswer, tagsIn } from '../chat-answer.ts';
import { chat, user } from '../chat-body.ts';
import { judged, quote, sayingNothing } from '../judge.ts';
import type { Answer, Facts, Finding, ProbeRequest, ProbeRow } from '../probe-types.ts';
import { fewTokens, found } from '../probe-types.ts';

const sayHello = [user('Reply with the single word: hello')];
const countToTwenty = [user('Count from 1 to 20 in words, one number after another.')];
/** If an answer has more characters per allowed token, it had more tokens. */
const maxCharactersPerToken = 20;

const count = [user('Count from 1 to 200 in words, one number after another.')];

export const textProbes: readonly ProbeRow[] = [
  limitProbe('max_tokens'),
  limitProbe('max_completion_tokens'),
  shortLimitProbe('max_tokens'),
  shortLimitProbe('max_completion_tokens'),
  {
    name: 'text',
    asks: 'a text, as JSON',
    tokens: 'many',
    essential: true,
    request: (known) => [chat(known, 'many', { messages: sayHello })],
    judge: judgeText,
    means: { refused: 'Nothing else can work.', broken: 'Nothing else can work.' },
  },
  {
    name: 'stream',
    asks: 'a text, as a stream',
    tokens: 'many',
    essential: true,
    request: (known) => [chat(known, 'many', { messages: countToTwenty, stream: true })],
    judge: judgeStream,
    means: {
      ignored: 'Codex sees nothing before the answer is complete.',
      refused: 'Agents stream: every request would fail.',
      broken: 'Agents stream: every request would fail.',
    },
  },
  {
    name: 'stream_usage',
    asks: 'usage in a stream (stream_options)',
    tokens: 'few',
    request: (known) => [
      chat(known, 'few', { messages: sayHello, stream: true, stream_options: { include_usage: true } }),
    ],
    judge: ([answer]) =>
      judged(answer, ({ usage }) =>
        usage === null
          ? { result: 'ignored', detail: 'no usage in the stream' }
          : { result: 'works', detail: `${usage.input_tokens} in, ${usage.output_tokens} out` },
      ),
    means: {
      ignored: 'Codex cannot tell when its context is full, and compacts too late.',
      refused: 'The field is not sent; usage comes only if the server adds it by itself.',
    },
  },
];

/** Asked first, since it bounds the cost of the other probes. */
function limitProbe(name: 'max_tokens' | 'max_completion_tokens'): ProbeRow {
  return {
    name,
    asks: `a limit by ${name}`,
    tokens: 'few',
    request: ({ model }): ProbeRequest[] => [{ path: 'chat', body: { model, messages: count, [name]: fewTokens } }],
    judge: ([answer]) =>
      judged(answer, ({ finish, usage, text }) => {
        const tokens = usage?.output_tokens ?? null;
        // A server's own limit ends an answer with `length` too.
        if ((tokens ?? 0) > 2 * fewTokens || text.length > maxCharactersPerToken * fewTokens)
          return { result: 'ignored', detail: `${tokens ?? 'many'} tokens, although ${fewTokens} were allowed` };
        if (finish === 'length') return { result: 'works', detail: `cut at ${tokens ?? 'the limit'}` };
        return { result: 'accepted', detail: 'ended before the limit' };
      }),
    means: { ignored: 'With this field a client’s max_output_tokens limits nothing.' },
  };
}

/** Less than any answer has. */
const minTokenLimit = 2;

/** An answer that ended by itself does not show whether the limit was read: one that it must reach does. */
function shortLimitProbe(name: 'max_tokens' | 'max_completion_tokens'): ProbeRow {
  return {
    name: `${name}_short`,
    asks: `a limit by ${name} that every answer reaches`,
    tokens: 'few',
    request: ({ model, findings }) =>
      found(findings, name, 'accepted')
        ? [{ path: 'chat', body: { model, messages: count, [name]: minTokenLimit } }]
        : 'not needed',
    judge: ([answer]) =>
      judged(answer, ({ finish, usage, text }) => {
        const tokens = usage?.output_tokens ?? null;
        if ((tokens ?? 0) > 2 * minTokenLimit || text.length > maxCharactersPerToken * minTokenLimit)
          return { result: 'ignored', detail: `${tokens ?? 'more'} tokens, although ${minTokenLimit} were allowed` };
        if (finish === 'length') return { result: 'works', detail: `cut at ${tokens ?? 'the limit'}` };
        return { result: 'accepted', detail: 'ended before the limit' };
      }),
    means: {},
  };
}

function judgeText([answer]: readonly Answer[]): Finding {
  return judged(answer, (read) => {
    const facts: Facts = { ...tagFact(read), ...fieldFact(read.reasoningFields[0]) };
    const nothing = sayingNothing(read);
    // Reasoning that was cut counts as an answer: the server works.
    if (nothing?.facts?.outOfTokens && hasReasoned(read))
      return { result: 'works', detail: 'reasoning only: raise --max-tokens', facts: { ...facts, outOfTokens: true } };
    if (nothing?.facts?.outOfTokens) return nothing;
    if (nothing !== null) return { result: 'broken', detail: nothing.detail, facts: { ...facts, reasoningOnly: true } };
    if (read.said.trim() === '') return { result: 'broken', detail: 'a 200 without text', facts };
    return { result: 'works', detail: quote(read.said), facts };
  });
}

function judgeStream([answer]: readonly Answer[]): Finding {
  return judged(answer, (read) => {
    if (!read.streamed) return { result: 'ignored', detail: 'JSON came instead of a stream' };
    if (read.deltas === 0) return { result: 'broken', detail: 'a stream without text' };
    const finish = read.finish === '' ? ', without a finish_reason' : '';
    const done = read.done ? '' : ', without [DONE]';
    const alone = read.deltas === 1 && read.text.length > 40 ? ', all at once' : '';
    return {
      result: 'works',
      detail: `${read.deltas} ${read.deltas === 1 ? 'piece' : 'pieces'}${alone}${finish}${done}`,
    };
  });
}

function fieldFact(field: string | undefined): Facts {
  return field === undefined ? {} : { reasoningField: field };
}

/** Reasoning inside the text, where there is some. */
export function tagFact({ text }: ReadAnswer): Facts {
  const tags = tagsIn(text);
  return tags === null ? {} : { tags };
}
