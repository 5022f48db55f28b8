import { findTags, hasReasoned, type ReadAnswer, readChatAnswer } from '../chat-answer.ts';
import { buildChat, buildFinishedCalls, buildUser, findCallForm, getWeather, weatherQuestion } from '../chat-body.ts';
import { type ChatRow, judgeAnswer, type ProbeRow } from '../chat-probe.ts';
import {
  type Answers,
  accepted,
  type Facts,
  type Finding,
  findFact,
  hasResult,
  ignored,
  type Known,
  notTested,
  refused,
  works,
} from '../findings.ts';
import { findTagFact } from './text-probes.ts';

const riddle = [buildUser('How many prime numbers are there between 10 and 40? Think first, then give the number.')];
const earlier = 'The user asks for the weather in Oslo. I will look it up with the tool, as I was told to do.';

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

/** The message fields in which servers accept earlier reasoning, as the flag names them. */
export const replayFields = ['reasoning_content', 'reasoning'] as const;

export const reasoningProbes: readonly (ChatRow | ProbeRow)[] = [
  {
    name: 'reasoning',
    asks: 'reasoning, and where it comes',
    sends: { messages: riddle },
    judge: judgeReasoning,
    means: {
      works: 'Shown to the client as reasoning.',
      ignored: 'The reasoning is part of the text: think tags are read as reasoning (thinkTags).',
    },
  },
  buildFieldProbe('reasoning_split', true),
  buildFieldProbe('reasoning_format', 'parsed'),
  ...efforts.map(
    (effort): ChatRow => ({
      name: `effort_${effort}`,
      asks: `reasoning_effort "${effort}"`,
      sends: { messages: riddle, reasoning_effort: effort },
      ...(effort === 'none' && { tokens: 'few', judge: judgeNoEffort }),
      means: {
        failed: 'Another effort is sent instead, and x-responses-dropped lists it.',
        ignored: 'The model reasons although it was told not to.',
      },
    }),
  ),
  {
    name: 'reasoning_replay',
    asks: 'earlier reasoning given back',
    requests: 1 + replayFields.length,
    tokens: 'few',
    request: buildReplayRequests,
    judge: judgeReplay,
    means: {
      works: 'Reasoning goes back with the calls it led to: better work over many requests.',
      ignored:
        'Earlier reasoning does not reach the model, which may repeat its thoughts. Some templates have a switch for it.',
      refused: 'Earlier reasoning is not sent.',
    },
  },
];

function buildFieldProbe(name: 'reasoning_split' | 'reasoning_format', value: unknown): ChatRow {
  return {
    name,
    asks: `reasoning out of the text by ${name}`,
    sends: ({ findings }) => {
      if (findFact(findings, 'tags') === undefined) return 'no reasoning in the text';
      if (hasResult(findings, 'reasoning_split', 'works')) return 'reasoning_split does it';
      return { messages: riddle, [name]: value };
    },
    judge: (read) =>
      findTagFact(read).tags === undefined && hasReasoned(read)
        ? works(`in ${listReasoningFields(read)}`)
        : ignored('no difference'),
    means: { works: 'The profile sends it with every request.' },
  };
}

function judgeReasoning(read: ReadAnswer): Finding {
  const counted = read.usage?.output_tokens_details.reasoning_tokens ?? 0;
  const [reasoningField] = read.reasoningFields;
  const { tags } = findTagFact(read);
  const facts: Facts = {
    ...(tags !== undefined && { tags }),
    ...(reasoningField !== undefined && { reasoningField }),
    ...(isExtra(read, counted) && { reasoningExtra: true }),
  };
  if (reasoningField !== undefined) return works(`in ${listReasoningFields(read)}`, facts);
  if (tags !== undefined)
    return ignored(`in the text, ${tags === 'whole' ? 'in tags' : 'with a closing tag alone'}`, facts);
  return counted > 0 ? accepted(`hidden: ${counted} tokens`, facts) : notTested('the model did not reason', facts);
}

/** Whether the total exceeds input and output together, because the server (xAI) counts reasoning beside them. */
function isExtra({ usage }: ReadAnswer, reasoning: number): boolean {
  return usage !== null && reasoning > 0 && usage.total_tokens >= usage.input_tokens + usage.output_tokens + reasoning;
}

function judgeNoEffort(read: ReadAnswer, { findings }: Known): Finding {
  if (hasReasoned(read)) return ignored(`reasoning in ${listReasoningFields(read)}`);
  if (findTags(read.text) === 'whole') return ignored('reasoning in the text');
  const reasoned = hasResult(findings, 'reasoning', 'works') && read.said.trim() !== '';
  return reasoned ? works('no reasoning') : accepted('answered');
}

function buildReplayRequests(known: Known) {
  const form = findCallForm(known.findings);
  if (form === null) return 'no finished call was taken';
  return [{}, ...replayFields.map((field) => ({ [field]: earlier }))].map((fields) =>
    buildChat(known, 'few', {
      messages: [buildUser(weatherQuestion), ...buildFinishedCalls(form, ['Oslo'], fields)],
      tools: [getWeather],
    }),
  );
}

/** Judges which fields of earlier reasoning the server reads. Reasoning that is read makes the prompt longer. */
function judgeReplay(answers: Answers): Finding {
  const withFields = answers.slice(1).map(readChatAnswer);
  return judgeAnswer(answers[0], ({ usage }) => {
    const before = usage?.input_tokens ?? 0;
    const replayRefused = replayFields.filter((_field, index) => withFields[index]?.type === 'error');
    const replayRead = replayFields.filter((_field, index) => {
      const answer = withFields[index];
      return answer?.type === 'answer' && before > 0 && (answer.usage?.input_tokens ?? 0) > before;
    });
    const facts = { replayRead, replayRefused };
    if (replayRead.length > 0) return works(`read from ${replayRead.join(' and ')}`, facts);
    if (replayRefused.length > 0) return refused(`${replayRefused.join(' and ')} refused`, facts);
    if (before === 0) return accepted('prompt tokens are not counted', facts);
    return ignored('it adds no token to the prompt', facts);
  });
}

function listReasoningFields({ reasoningFields }: ReadAnswer): string {
  return reasoningFields.join(' and ');
}
