import { translateError } from '../../../filter/index.ts';
import { arrayOf, jsonOf, objectsOf } from '../../../formats/json/loose.ts';
import { readChatAnswer } from '../chat-answer.ts';
import { buildChat, buildUser } from '../chat-body.ts';
import { judgeAnswer, type ProbeRow } from '../chat-probe.ts';
import {
  type Answer,
  type Answers,
  accepted,
  broken,
  type Finding,
  findFact,
  ignored,
  type Known,
  type Meanings,
  notTested,
  refused,
  works,
} from '../findings.ts';

const sayHello = [buildUser('Say hello.')];

/** A larger prompt is not sent, because it would cost too much. */
export const maxOverflowTokens = 10_000;

export const limitProbes: readonly ProbeRow[] = [
  buildErrorProbe(
    'error_model',
    'a model that does not exist',
    (known) => [buildChat(known, 'few', { messages: sayHello, model: 'no-such-model-0' })],
    { ignored: 'Any name is answered: a wrong model in a client’s configuration goes unnoticed.' },
  ),
  buildErrorProbe(
    'error_field',
    'a field of the wrong type',
    (known) => [buildChat(known, 'few', { messages: 'hello' })],
    {
      ignored: 'A client’s mistakes go unnoticed.',
      refused: 'SDKs repeat requests that got a 5xx, although these cannot succeed.',
      broken: 'Errors reach the client without their reason.',
    },
  ),
  buildErrorProbe(
    'error_key',
    'a wrong key',
    (known) =>
      known.hasKey ? [{ ...buildChat(known, 'few', { messages: sayHello }), key: 'wrong' }] : 'no key is needed',
    { ignored: 'The server does not check keys: anyone who reaches it can use it.' },
  ),
  {
    name: 'overflow',
    asks: 'a prompt larger than the context window',
    tokens: 'few',
    request(known) {
      const window = findFact(known.findings, 'contextWindow');
      if (window === undefined) return 'the server does not report its context window';
      const words = Math.ceil(window * 1.1) + 64;
      if (words > maxOverflowTokens) return `a window of ${window} would cost too much`;
      return [buildChat(known, 'few', { messages: [buildUser('one '.repeat(words))] })];
    },
    judge: judgeOverflow,
    means: {
      works: 'The client gets context_length_exceeded, on which agents compact.',
      ignored:
        'Prompts that are too long are cut silently: the agent forgets its task. Raise the server’s context window.',
      refused:
        'The error for a prompt that is too long is not recognised: agents do not compact on it. Please report its text.',
    },
  },
  {
    name: 'cancel',
    asks: 'that a disconnect frees the server',
    requests: 4,
    tokens: 'many',
    request(known) {
      const activity = findFact(known.findings, 'activity');
      const long = [buildUser('Count from 1 to 1000 in words, one number after another.')];
      const looks = activity === undefined ? [] : [100, 900].map((wait) => ({ path: activity, wait }));
      return [
        { ...buildChat(known, 'many', { messages: long, stream: true }), until: 'first_event' },
        ...looks,
        buildChat(known, 'few', { messages: sayHello }),
      ];
    },
    judge: judgeCancel,
    means: {
      works: 'Abandoned answers cost nothing.',
      accepted: 'The next request was answered; whether the first continued is not visible.',
      ignored:
        'The server continues generating after the client has disconnected (Esc in Codex), and keeps the slot busy.',
    },
  },
];

function buildErrorProbe(name: string, asks: string, request: ProbeRow['request'], means: Meanings): ProbeRow {
  return { name, asks, tokens: 'few', expectsRefusal: true, request, judge: judgeError, means };
}

function judgeError([answer]: Answers): Finding {
  const { status } = answer;
  const read = readChatAnswer(answer);
  if (read.type === 'answer') return ignored(`${status}, and an answer`);
  if (read.type === 'broken') return broken(read.message);
  if (read.type === 'unanswered') return notTested(read.message);
  if (status >= 400 && status < 500) return works(`${status}: ${read.message}`);
  return refused(`an error, with the status ${status}: ${read.message}`, { serverError: true });
}

function judgeOverflow([answer]: Answers, { findings }: Known): Finding {
  const window = findFact(findings, 'contextWindow') ?? 0;
  if (answer.status >= 400 && translateError(answer).code === 'context_length_exceeded')
    return works(`${answer.status}, in a known wording`);
  return judgeAnswer(answer, ({ usage }) => {
    const tokens = usage?.input_tokens ?? 0;
    if (tokens === 0) return accepted('answered, and the tokens of the prompt are not counted');
    return tokens > window
      ? accepted(`${tokens} tokens were taken: the window is larger than the server says`)
      : ignored(`answered from ${tokens} tokens: the prompt was cut`);
  });
}

function judgeCancel([first, ...others]: Answers): Finding {
  if (first.outcome === 'answered')
    return judgeAnswer(first, () => notTested('the answer was over before it could be cancelled'));
  if (first.outcome !== 'aborted') return notTested(first.reason);
  const busy = others.slice(0, -1).map(isRunning);
  if (busy.at(-1) === true) return ignored('still busy a second after the disconnect');
  const last = others.at(-1) as Answer;
  return judgeAnswer(last, () => {
    const answered = `the next request took ${(last.milliseconds / 1000).toFixed(1)} s`;
    return busy.length === 0 ? accepted(answered) : works(`free within ${busy[0] ? '1' : '0.1'} s; ${answered}`);
  });
}

/** Whether a request is running, by llama.cpp's `/slots` or vLLM's `/metrics`. */
function isRunning({ body }: Answer): boolean {
  const slots = arrayOf(jsonOf(body));
  if (slots.length > 0)
    return objectsOf<{ is_processing?: unknown }>(slots).some((slot) => slot.is_processing === true);
  const counts = [...body.matchAll(/^vllm:num_requests_running\{.*\} ([\d.]+)$/gm)];
  return counts.some(([, count]) => Number(count) > 0);
}
