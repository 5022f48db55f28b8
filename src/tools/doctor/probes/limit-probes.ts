import { saysContextOverflow } from '../../../filter/translate/chat/context-overflow.ts';
import { arrayOf, jsonOf, objectsOf } from '../../../filter/translate/chat/loose.ts';
import { readChatAnswer } from '../chat-answer.ts';
import { chat, contextWindowOf, user } from '../chat-body.ts';
import { judged } from '../judge.ts';
import { type Answer, type Finding, factOf, type Known, type ProbeRequest, type ProbeRow } from '../probe-types.ts';

const sayHello = [user('Say hello.')];

/** Larger context windows are not tested: it would cost too much. */
export const maxOverflowTokens = 10_000;

export const limitProbes: readonly ProbeRow[] = [
  {
    name: 'error_model',
    asks: 'a model that does not exist',
    tokens: 'few',
    expectsRefusal: true,
    request: (known) => [chat(known, 'few', { messages: sayHello, model: 'no-such-model-0' })],
    judge: expectError,
    means: { ignored: 'Any name is answered: a wrong model in a client’s configuration goes unnoticed.' },
  },
  {
    name: 'error_field',
    asks: 'a field of the wrong type',
    tokens: 'few',
    expectsRefusal: true,
    request: (known) => [chat(known, 'few', { messages: 'hello' })],
    judge: expectError,
    means: {
      ignored: 'A client’s mistakes go unnoticed.',
      refused: 'SDKs repeat requests that got a 5xx, although these cannot succeed.',
      broken: 'Errors reach the client without their reason.',
    },
  },
  {
    name: 'error_key',
    asks: 'a wrong key',
    tokens: 'few',
    expectsRefusal: true,
    request: (known) =>
      known.hasKey ? [{ ...chat(known, 'few', { messages: sayHello }), key: 'wrong' }] : 'no key is needed',
    judge: expectError,
    means: { ignored: 'The server does not check keys: anyone who reaches it can use it.' },
  },
  {
    name: 'overflow',
    asks: 'a prompt larger than the context window',
    tokens: 'few',
    request(known): readonly ProbeRequest[] | string {
      const window = contextWindowOf(known.findings);
      if (window === null) return 'the server does not report its context window';
      const words = Math.ceil(window * 1.1) + 64;
      if (words > maxOverflowTokens) return `a window of ${window} would cost too much`;
      return [chat(known, 'few', { messages: [user('one '.repeat(words))] })];
    },
    judge: judgeOverflow,
    means: {
      works: 'The client gets context_length_exceeded, on which agents compact.',
      ignored: 'Long conversations silently lose their beginning: raise the server’s context window.',
      refused: 'The error is not recognised as an overflow: agents do not compact on it.',
    },
  },
  {
    name: 'cancel',
    asks: 'that a disconnect frees the server',
    requests: 4,
    tokens: 'many',
    request(known): ProbeRequest[] {
      const activity = factOf(known.findings, 'activity');
      const long = [user('Count from 1 to 1000 in words, one number after another.')];
      return [
        { ...chat(known, 'many', { messages: long, stream: true }), until: 'first_event' },
        ...(activity === undefined
          ? []
          : [
              { path: activity, wait: 100 },
              { path: activity, wait: 900 },
            ]),
        chat(known, 'few', { messages: sayHello }),
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

function expectError([answer]: readonly Answer[]): Finding {
  const read = answer === undefined ? null : readChatAnswer(answer);
  if (answer === undefined || read === null) return { result: 'not_tested', detail: 'no request was sent' };
  if (read.type === 'answer') return { result: 'ignored', detail: `${answer.status}, and an answer` };
  if (read.type === 'broken') return { result: 'broken', detail: read.message };
  if (read.type === 'unanswered') return { result: 'not_tested', detail: read.message };
  if (answer.status >= 400 && answer.status < 500)
    return { result: 'works', detail: `${read.status}: ${read.message}` };
  return {
    result: 'refused',
    detail: `an error, with the status ${answer.status}: ${read.message}`,
    facts: { serverError: true },
  };
}

function judgeOverflow([answer]: readonly Answer[], { findings }: Known): Finding {
  const window = contextWindowOf(findings) ?? 0;
  if (answer !== undefined && answer.status >= 400 && saysContextOverflow(answer.body, []))
    return { result: 'works', detail: `${answer.status}, in a known wording` };
  return judged(answer, ({ usage }) => {
    const tokens = usage?.input_tokens ?? 0;
    return tokens > window
      ? { result: 'accepted', detail: `${tokens} tokens were taken: the window is larger than the server says` }
      : { result: 'ignored', detail: `answered from ${tokens} tokens: the prompt was cut` };
  });
}

function judgeCancel(answers: readonly Answer[]): Finding {
  const [first, ...others] = answers;
  const last = others.at(-1);
  if (first?.outcome === 'answered') {
    const read = readChatAnswer(first);
    if (read.type !== 'answer') return judged(first, () => ({ result: 'accepted', detail: '' }));
    return { result: 'not_tested', detail: 'the answer was over before it could be cancelled' };
  }
  if (first?.outcome !== 'aborted') return { result: 'not_tested', detail: first?.reason ?? 'no answer' };
  const busy = others.slice(0, -1).map(runningIn);
  if (busy.at(-1) === true) return { result: 'ignored', detail: 'still busy a second after the disconnect' };
  return judged(last, () => {
    const answered = `the next request took ${((last?.milliseconds ?? 0) / 1000).toFixed(1)} s`;
    if (busy.length === 0) return { result: 'accepted', detail: answered };
    return { result: 'works', detail: `free within ${busy[0] ? '1' : '0.1'} s; ${answered}` };
  });
}

/** Is a request running? By llama.cpp's `/slots`, or vLLM's `/metrics`. */
function runningIn({ body }: Answer): boolean {
  const slots = arrayOf(jsonOf(body));
  if (slots.length > 0)
    return objectsOf<{ is_processing?: unknown }>(slots).some((slot) => slot.is_processing === true);
  const counts = [...body.matchAll(/^vllm:num_requests_running\{.*\} ([\d.]+)$/gm)];
  return counts.some(([, count]) => Number(count) > 0);
}
