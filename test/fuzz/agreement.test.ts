import fc from 'fast-check';
import { expect, it } from 'vitest';
import { translateCompletion } from '../../src/filter/translate/chat-to-response/completion.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import type { ReasoningItem, ResponseResource } from '../../src/filter/wire/schema/response-resource.ts';
import {
  answers,
  type Fields,
  habits,
  requestFields,
  type Server,
  servers,
  tokenSizes,
} from '../support/arbitrary-dialogues.ts';
import { ask, resultOf } from '../support/ask.ts';
import { fuzzTimeout, tries } from '../support/fuzz-options.ts';
import { runStream } from '../support/run-stream.ts';
import {
  type AnswerPlan,
  chunksOf,
  completionOf,
  type Habits,
  inMessageOrder,
  Marks,
  possibleHabits,
  repeatingAll,
  type StreamForm,
  speak,
  sseOf,
} from '../support/scripted-answers.ts';
import { inPiecesOf } from '../support/split.ts';
import { eventsOf } from '../support/stream-lines.ts';
import { toolKinds } from '../support/tool-kinds.ts';

/**
 * The first of five readings (docs/architecture.md): an answer in JSON, as one chunk, as many, and cut anywhere, is the same
 * Response, field by field. Different on purpose, with the golden case of each:
 *
 * - what a model says after its calls, since a message in JSON has no such order: the parts are sorted here (C17);
 * - without a finish reason a stream with a native custom call has failed, since nothing says where the call ends (S8);
 * - an item that only carries what must go back stands first in JSON, and where it came in a stream (B9).
 */
it('an answer is the same Response, whether it comes whole or in pieces', { timeout: fuzzTimeout }, () => {
  fc.assert(
    fc.property(
      servers,
      requestFields,
      habits,
      answers,
      tokenSizes,
      fc.constantFrom<StreamForm>('one', 'pieces', 'pieces', 'pieces_and_message'),
      fc.boolean(),
      fc.integer({ min: 1, max: 200 }),
      (server, fields, given, plan, sizes, form, cumulativeDeltas, size) => {
        const asked = ask({ input: 'Hi', ...fields }, server);
        if (asked instanceof ApiError) return;
        const context = { ...asked.context, profile: { ...asked.context.profile, cumulativeDeltas } };
        const own = possibleHabits(given, context.profile);
        const answer = speak(inMessageOrder(plan), own, new Marks(), asked.chat, context.profile);
        if (answer.reason === null && answer.sayings.some(({ call }) => call?.isCustom)) return;
        const asJson = resultOf(() => translateCompletion(completionOf(answer, own, sizes), context).response);
        const chunks = chunksOf(answer, own, sizes, form);
        const bytes = sseOf(cumulativeDeltas && form !== 'one' ? repeatingAll(chunks) : chunks);
        const { bytes: stream } = runStream(inPiecesOf(size, bytes), context, { committed: true });
        const { response } = eventsOf(stream.toString('utf8')).at(-1) as unknown as { response: ResponseResource };
        // Nothing at all, and no reason for it, is a failure: in JSON one with a status of its own.
        if (asJson instanceof ApiError) expect(response.status).toBe('failed');
        else expect(comparable(response)).toEqual(comparable(asJson));
      },
    ),
    { ...tries(300), examples: [nativeCalls(false), nativeCalls(true)] },
  );
});

/** Two native custom calls of one id, which were once read as one; with deltas that repeat, the property seldom comes to such calls. */
function nativeCalls(
  cumulativeDeltas: boolean,
): [Server, Fields, Habits, AnswerPlan, number[], StreamForm, boolean, number] {
  const server = { profile: 'azure', flags: {}, model: 'test-model', reasoningEvents: 'summary' } as const;
  const said = { thinks: 'reasoning', signs: 'function', ids: 'same', choices: 'one' } as const;
  const call = { type: 'call', tool: 'custom', text: '#.', isSigned: false } as const;
  const plan = { parts: [call, call], reason: 'tool_calls', cutAfter: null };
  const sends = { ...said, hasIndex: true, repeatsIds: false };
  return [server, { tools: [{ ...toolKinds.custom.tool }] }, sends, plan, [1], 'pieces', cumulativeDeltas, 9];
}

/** The Response with its ids numbered by where they stand, and what it carries back as one. */
function comparable(response: ResponseResource): unknown {
  const carried: Record<string, unknown>[] = [];
  const output = response.output.flatMap((item): object[] => {
    if (!('encrypted_content' in item) || item.type !== 'reasoning') return [item];
    const { encrypted_content: envelope, ...rest } = item;
    carried.push(JSON.parse(Buffer.from(String(envelope).slice('orr1.'.length), 'base64url').toString()));
    return isCarrier(rest) ? [] : [rest];
  });
  const places = new Map<string, number>();
  const placed = (id: string) => {
    if (!places.has(id)) places.set(id, places.size);
    return `id_${places.get(id)}`;
  };
  // A stream that fails has not come to its usage, and nobody continues it.
  const atEnd = response.error === null ? { carried: joined(carried) } : { usage: null };
  const text = JSON.stringify({ ...response, output, ...atEnd });
  return JSON.parse(text.replaceAll(/\b[a-z]+_\d+x\d+\b/g, placed));
}

/** Without a text. */
function isCarrier({ summary, content = [] }: Pick<ReasoningItem, 'summary' | 'content'>): boolean {
  return summary.length + content.length === 0;
}

/** Lists one after the other, objects as one; texts as a list. */
function joined(envelopes: readonly Record<string, unknown>[]): unknown {
  const all: Record<string, unknown> = {};
  for (const envelope of envelopes)
    for (const [key, value] of Object.entries(envelope)) {
      const before = all[key];
      if (key === 'p') all[key] = value;
      else if (typeof value === 'object' && !Array.isArray(value)) all[key] = { ...(before as object), ...value };
      else all[key] = [...((before as unknown[]) ?? []), ...(Array.isArray(value) ? value : [value])];
    }
  return all;
}
