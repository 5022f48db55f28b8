import { overflowWordings } from '../support/overflow-wordings.ts';
import {
  completion,
  cut,
  delta,
  done,
  eventStream,
  finish,
  type Received,
  type Script,
  usage as usageChunk,
} from '../support/upstream.ts';

/** What a model says: text, or calls of tools by the names they have in the Chat request. */
export interface Answer {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: unknown }[];
  /** Prompt and completion tokens. */
  readonly usage?: readonly [number, number];
}

/** A script of the upstream that gives this answer, streamed when the request asks for that. */
export function answer({ text, reasoning, calls = [], usage = [3, 2] }: Answer): (request: Received) => Script {
  return (request) => {
    const { stream, messages } = request.json();
    // Ids of calls must differ over a conversation: clients tell calls apart by them.
    const tool_calls = calls.map((call, index) => ({
      index,
      id: `call_${messages.length}_${index}`,
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.arguments) },
    }));
    const reason = tool_calls.length > 0 ? 'tool_calls' : 'stop';
    if (stream !== true) {
      const message = {
        ...(text !== undefined && { content: text }),
        ...(reasoning !== undefined && { reasoning_content: reasoning }),
        ...(tool_calls.length > 0 && { tool_calls: tool_calls.map(({ index: _, ...call }) => call) }),
      };
      return { body: [completion(message, reason)] };
    }
    return {
      headers: eventStream,
      body: [
        ...halves(reasoning).map((reasoning_content) => delta({ reasoning_content })),
        ...halves(text).map((content) => delta({ content })),
        ...tool_calls.map((call) => delta({ tool_calls: [call] })),
        finish(reason),
        usageChunk(...usage),
        done,
      ],
    };
  };
}

const fewWords = [delta({ role: 'assistant', content: '' }), delta({ content: 'Only ha' })];

/** Streams that do not reach their end, by what they do instead. */
export const brokenStreams: Readonly<Record<string, Script>> = {
  'breaks off': { headers: eventStream, body: [...fewWords, 50, cut] },
  'ends without a finish reason': { headers: eventStream, body: fewWords },
};

/** Streams that end badly within the arguments of a call. */
export const brokenCalls: Readonly<Record<string, (name: string, args: string) => Script>> = {
  'breaks off': (name, args) => ({ headers: eventStream, body: [firstPiece(name, args), 50, cut] }),
  'ends without a finish reason': (name, args) => ({ headers: eventStream, body: [firstPiece(name, args)] }),
  'ends with [DONE] alone': (name, args) => ({ headers: eventStream, body: [firstPiece(name, args), done] }),
  'loses a piece of a line': (name, args) => ({
    headers: eventStream,
    body: [
      firstPiece(name, args),
      'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"argum\n\n',
      delta({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }),
      finish('tool_calls'),
      done,
    ],
  }),
  'ends in an error': (name, args) => ({ headers: eventStream, body: [firstPiece(name, args), finish('error'), done] }),
};

/** A call in pieces, and then the whole of it once more under its id, with other white space. */
export function saidTwice(name: string, args: object): Script {
  const [text, again] = [JSON.stringify(args), JSON.stringify(args, null, 1)];
  const whole = { name, arguments: again };
  return {
    headers: eventStream,
    body: [
      firstPiece(name, text.slice(0, 8)),
      delta({ tool_calls: [{ index: 0, function: { arguments: text.slice(8) } }] }),
      delta({ tool_calls: [{ index: 0, id: 'call_half', type: 'function', function: whole }] }),
      finish('tool_calls'),
      usageChunk(3, 2),
      done,
    ],
  };
}

/** The first piece of a call, which may be all of it. */
export function firstPiece(name: string, args: string): string {
  return delta({ tool_calls: [{ index: 0, id: 'call_half', type: 'function', function: { name, arguments: args } }] });
}

/**
 * How servers say that the prompt is longer than the context: as a status, first in a stream, behind its first chunk. A quarter of the
 * wordings is enough: clients see the same error for all.
 */
export const overflows: Readonly<Record<string, Script>> = Object.fromEntries(
  overflowWordings
    .filter((_, index) => index % 4 === 0)
    .map(([who, message], index) => {
      const error = { message };
      const places: readonly Script[] = [
        { status: [400, 413, 500][index % 3] ?? 400, body: [JSON.stringify({ error })] },
        { headers: eventStream, body: [`data: ${JSON.stringify({ error })}\n\n`, done] },
        {
          headers: eventStream,
          body: [delta({ role: 'assistant', content: '' }), `event: error\ndata: ${JSON.stringify(error)}\n\n`],
        },
        { headers: eventStream, body: [`error: ${JSON.stringify({ code: 500, message })}\n\n`, done] },
      ];
      return [`${who} has no room`, places[index % places.length] ?? {}];
    }),
);

/** A 429 that asks to be tried again at once. */
export const rateLimited: Script = {
  status: 429,
  headers: { 'retry-after': '0' },
  body: [
    JSON.stringify({ error: { message: 'Slow down.', type: 'rate_limit_exceeded', code: 'rate_limit_exceeded' } }),
  ],
};

/** A turn in which the model calls the tool of this name. */
export function call(name: string, given: unknown, more: Answer = {}): (request: Received) => Script {
  return (request) => answer({ calls: [{ name: toolNamed(request, name), arguments: given }], ...more })(request);
}

/** Whether the conversation has this text. */
export function knows(request: Received, fact: string): boolean {
  return JSON.stringify(request.json().messages).includes(fact);
}

/** The name that the tool of this last part has in the Chat request: namespaces come before it. */
export function toolNamed(request: Received, name: string): string {
  const tools = request.json()['tools'] as readonly { readonly function: { readonly name: string } }[];
  const found = tools.find((tool) => tool.function.name === name || tool.function.name.endsWith(`__${name}`));
  if (found === undefined)
    throw new Error(`no tool ${name} among ${tools.map((tool) => tool.function.name).join(', ')}`);
  return found.function.name;
}

function halves(text: string | undefined): string[] {
  if (text === undefined) return [];
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}
