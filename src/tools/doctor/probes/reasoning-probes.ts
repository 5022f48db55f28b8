import { hasReasoned, type ReadAnswer, readChatAnswer, tagsIn } from '../chat-answer.ts';
import { callFormOf, chat, finishedCalls, getWeather, user, weatherQuestion } from '../chat-body.ts';
import { acceptance, judged } from '../judge.ts';
import { type Answer, type Facts, type Finding, factOf, found, type Known, type ProbeRow } from '../probe-types.ts';
import { tagFact } from './text-probes.ts';

const riddle = [user('How many prime numbers are there between 10 and 40? Think first, then give the number.')];
const earlier = 'The user asks for the weather in Oslo. I will look it up with the tool, as I was told to do.';

/** Every effort of the Responses API, from least to most. */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** Fields in which servers take earlier reasoning back, as the flag names them. */
export const replayFields = ['reasoning_content', 'reasoning'] as const;

export const reasoningProbes: readonly ProbeRow[] = [
  {
    name: 'reasoning',
    asks: 'reasoning, and where it comes',
    tokens: 'many',
    request: (known) => [chat(known, 'many', { messages: riddle })],
    judge: judgeReasoning,
    means: {
      works: 'Shown to the client as reasoning.',
      ignored: 'The reasoning is part of the text: think tags are read as reasoning (thinkTags).',
    },
  },
  fieldProbe('reasoning_split', { reasoning_split: true }),
  fieldProbe('reasoning_format', { reasoning_format: 'parsed' }),
  ...efforts.map(
    (effort): ProbeRow => ({
      name: `effort_${effort}`,
      asks: `reasoning_effort "${effort}"`,
      tokens: 'few',
      request: (known) => [chat(known, 'few', { messages: riddle, reasoning_effort: effort })],
      judge: effort === 'none' ? judgeNoEffort : acceptance,
      means: {
        refused: 'Another effort is sent in its place, and that is named.',
        ignored: 'The model reasons although it was told not to.',
      },
    }),
  ),
  {
    name: 'reasoning_replay',
    asks: 'earlier reasoning given back',
    requests: 1 + replayFields.length,
    tokens: 'few',
    request: askReplay,
    judge: judgeReplay,
    means: {
      works: 'Reasoning goes back with the calls it led to: better work over many turns.',
      ignored: 'The prompt is as long without it: the server or the template leaves earlier reasoning out.',
      refused: 'Earlier reasoning is not sent.',
    },
  },
];

/** Reasoning inside the text, and a field that is known to move it out. */
function fieldProbe(name: 'reasoning_split' | 'reasoning_format', field: object): ProbeRow {
  return {
    name,
    asks: `reasoning out of the text by ${name}`,
    tokens: 'many',
    request: (known) => {
      if (factOf(known.findings, 'tags') === undefined) return 'no reasoning in the text';
      if (found(known.findings, 'reasoning_split', 'works')) return 'reasoning_split does it';
      return [chat(known, 'many', { messages: riddle, ...field })];
    },
    judge: ([answer]) =>
      judged(answer, (read) =>
        tagFact(read).tags === undefined && hasReasoned(read)
          ? { result: 'works', detail: `in ${fieldsOf(read)}` }
          : { result: 'ignored', detail: 'no difference' },
      ),
    means: { works: 'The profile sends it with every request.' },
  };
}

function judgeReasoning([answer]: readonly Answer[]): Finding {
  return judged(answer, (read) => {
    const counted = read.usage?.output_tokens_details.reasoning_tokens ?? 0;
    const [field] = read.reasoningFields;
    const tags = tagFact(read);
    const facts: Facts = {
      ...tags,
      ...(field !== undefined && { reasoningField: field }),
      ...(isExtra(read, counted) && { reasoningExtra: true }),
    };
    if (field !== undefined) return { result: 'works', detail: `in ${fieldsOf(read)}`, facts };
    if (tags.tags !== undefined)
      return {
        result: 'ignored',
        detail: `in the text, ${tags.tags === 'whole' ? 'in tags' : 'with a closing tag alone'}`,
        facts,
      };
    if (counted > 0) return { result: 'accepted', detail: `hidden: ${counted} tokens`, facts };
    return { result: 'not_tested', detail: 'the model did not reason', facts };
  });
}

/** More tokens in all than in and out together: reasoning is counted beside (xAI). */
function isExtra({ usage }: ReadAnswer, reasoning: number): boolean {
  return usage !== null && reasoning > 0 && usage.total_tokens >= usage.input_tokens + usage.output_tokens + reasoning;
}

function judgeNoEffort([answer]: readonly Answer[], { findings }: Known): Finding {
  return judged(answer, (read) => {
    if (hasReasoned(read)) return { result: 'ignored', detail: `reasoning in ${fieldsOf(read)}` };
    if (tagsIn(read.text) === 'whole') return { result: 'ignored', detail: 'reasoning in the text' };
    const reasoned = found(findings, 'reasoning', 'works') && read.said.trim() !== '';
    return { result: reasoned ? 'works' : 'accepted', detail: reasoned ? 'no reasoning' : 'answered' };
  });
}

function askReplay(known: Known) {
  const form = callFormOf(known.findings);
  if (form === null) return 'no finished call was taken';
  return [{}, ...replayFields.map((field) => ({ [field]: earlier }))].map((fields) =>
    chat(known, 'few', {
      messages: [user(weatherQuestion), ...finishedCalls(form, ['Oslo'], fields)],
      tools: [getWeather],
    }),
  );
}

/** Earlier reasoning that is read makes the prompt longer. */
function judgeReplay(answers: readonly Answer[]): Finding {
  const [without, ...withFields] = answers.map(readChatAnswer);
  if (without?.type !== 'answer') return judged(answers[0], () => ({ result: 'accepted', detail: '' }));
  const before = without.usage?.input_tokens ?? 0;
  const refused = replayFields.filter((_field, index) => withFields[index]?.type === 'error');
  const read = replayFields.filter((_field, index) => {
    const answer = withFields[index];
    return answer?.type === 'answer' && before > 0 && (answer.usage?.input_tokens ?? 0) > before;
  });
  const facts: Facts = { replayRead: read, replayRefused: refused };
  if (read.length > 0) return { result: 'works', detail: `read from ${read.join(' and ')}`, facts };
  if (refused.length > 0) return { result: 'refused', detail: `${refused.join(' and ')} refused`, facts };
  if (before === 0) return { result: 'accepted', detail: 'prompt tokens are not counted', facts };
  return { result: 'ignored', detail: 'it adds no token to the prompt', facts };
}

function fieldsOf({ reasoningFields }: ReadAnswer): string {
  return reasoningFields.join(' and ');
}
