import { builtInProfiles } from '../../../filter/index.ts';
import { findTags, hasReasoned, type ReadAnswer } from '../chat-answer.ts';
import { buildUser, type LimitField } from '../chat-body.ts';
import { type ChatRow, judgeSilence, quoteBeginning } from '../chat-probe.ts';
import { accepted, broken, type Facts, type Finding, fewTokens, hasResult, ignored, works } from '../findings.ts';

const sayHello = [buildUser('Reply with the single word: hello')];
const countToTwenty = [buildUser('Count from 1 to 20 in words, one number after another.')];
const count = [buildUser('Count from 1 to 200 in words, one number after another.')];

/** An answer with more characters for each allowed token must have had more tokens than were allowed. */
const maxCharactersPerToken = 20;

/** A token limit below the length of any answer. */
const minTokenLimit = 2;

export const textProbes: readonly ChatRow[] = [
  // The limits are asked for first, because they bound the cost of the other probes.
  buildLimitProbe('max_tokens'),
  buildLimitProbe('max_completion_tokens'),
  buildShortLimitProbe('max_tokens'),
  buildShortLimitProbe('max_completion_tokens'),
  {
    name: 'text',
    asks: 'a text, as JSON',
    essential: true,
    sends: { messages: sayHello },
    judge: judgeText,
    means: { failed: 'Nothing else can work.' },
  },
  {
    name: 'stream',
    asks: 'a text, as a stream',
    essential: true,
    sends: { messages: countToTwenty, stream: true },
    judge: judgeStream,
    means: {
      ignored: 'Codex sees nothing before the answer is complete.',
      failed: 'Agents stream: every request would fail.',
    },
  },
  {
    name: 'stream_usage',
    asks: 'usage in a stream (stream_options)',
    tokens: 'few',
    sends: { messages: sayHello, stream: true, stream_options: { include_usage: true } },
    judge: ({ usage }) =>
      usage === null
        ? ignored('no usage in the stream')
        : works(`${usage.input_tokens} in, ${usage.output_tokens} out`),
    means: {
      ignored: 'Streams have no usage: Codex cannot tell when its context is full, and compacts too late.',
      failed: 'Streams have no usage, unless the server adds it by itself: Codex compacts too late.',
    },
  },
];

function buildLimitProbe(name: LimitField): ChatRow {
  return {
    name,
    asks: `a limit by ${name}`,
    tokens: 'few',
    sends: buildLimited(name, fewTokens),
    judge: (answer) => judgeLimit(answer, fewTokens),
    means: { ignored: 'With this field a client’s max_output_tokens limits nothing.' },
  };
}

/**
 * Builds a probe whose limit every answer reaches: an answer that ends by itself does not show whether the limit was
 * read.
 */
function buildShortLimitProbe(name: LimitField): ChatRow {
  return {
    name: `${name}_short`,
    asks: `a limit by ${name} that every answer reaches`,
    tokens: 'few',
    sends: ({ findings }) => (hasResult(findings, name, 'accepted') ? buildLimited(name, minTokenLimit) : 'not needed'),
    judge: (answer) => judgeLimit(answer, minTokenLimit),
  };
}

function buildLimited(name: LimitField, limit: number) {
  return { messages: count, max_tokens: undefined, max_completion_tokens: undefined, [name]: limit };
}

function judgeLimit({ finish, usage, text }: ReadAnswer, limit: number): Finding {
  const tokens = usage?.output_tokens ?? null;
  // A server's own limit ends an answer with `length` too.
  if ((tokens ?? 0) > 2 * limit || text.length > maxCharactersPerToken * limit)
    return ignored(`${tokens ?? 'many'} tokens, although ${limit} were allowed`);
  return finish === 'length' ? works(`cut at ${tokens ?? 'the limit'}`) : accepted('ended before the limit');
}

function judgeText(read: ReadAnswer): Finding {
  const [reasoningField] = read.reasoningFields;
  const facts: Facts = {
    ...findEngineFact(read),
    ...findTagFact(read),
    ...(reasoningField !== undefined && { reasoningField }),
  };
  const nothing = judgeSilence(read);
  // Reasoning that was cut counts as an answer: the server works.
  if (nothing?.facts?.outOfTokens && hasReasoned(read)) return works('reasoning only: raise --max-tokens', facts);
  if (nothing?.facts?.outOfTokens) return nothing;
  if (nothing !== null) return broken(nothing.detail, { ...facts, reasoningOnly: true });
  return read.said.trim() === '' ? broken('a 200 without text', facts) : works(quoteBeginning(read.said), facts);
}

/** The engine that an answer's `system_fingerprint` gives away. */
function findEngineFact({ fingerprint }: ReadAnswer): Facts {
  const own = [...builtInProfiles.values()].find(
    ({ recognisedBy }) => 'engine' in recognisedBy && recognisedBy.engine.fingerprint?.test(fingerprint),
  );
  return own === undefined ? {} : { software: own.profile.name };
}

function judgeStream({ streamed, deltas, text, finish, done, isCumulative }: ReadAnswer): Finding {
  if (!streamed) return ignored('JSON came instead of a stream');
  if (deltas === 0) return broken('a stream without text');
  const parts = [
    `${deltas} ${deltas === 1 ? 'piece' : 'pieces'}`,
    isCumulative ? 'each with all of the text before it' : '',
    deltas === 1 && text.length > 40 ? 'all at once' : '',
    finish === '' ? 'without a finish_reason' : '',
    done ? '' : 'without [DONE]',
  ];
  return works(parts.filter((part) => part !== '').join(', '), isCumulative ? { cumulative: true } : {});
}

export function findTagFact({ text }: ReadAnswer): Facts {
  const tags = findTags(text);
  return tags === null ? {} : { tags };
}
