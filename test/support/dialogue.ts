import { translateCompletion } from '../../src/filter/translate/chat-to-response/completion.ts';
import type { ResponseContext } from '../../src/filter/translate/shared/context.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import type { OutputItem, ResponseResource } from '../../src/filter/wire/schema/response-resource.ts';
import type { TurnPlan } from './arbitrary-dialogues.ts';
import { resultOf } from './ask.ts';
import { runStream } from './run-stream.ts';
import { type Answer, chunksOf, completionOf, type Habits, type Marks, sseOf } from './scripted-answers.ts';
import { eventsOf } from './stream-lines.ts';
import { type Item, kindOfCall } from './tool-kinds.ts';

/** What a client of a dialogue sends first. */
export function questionOf({ question, hasPicture }: TurnPlan, marks: Marks): Item {
  const text = marks.in(question);
  if (!hasPicture) return { role: 'user', content: text };
  const image_url = `https://${marks.in('#')}.test/a.png`;
  return {
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text },
      { type: 'input_image', image_url },
    ],
  };
}

/** The Response that the answer becomes, and the items of its events; or the error. */
export function receive(
  answer: Answer,
  habits: Habits,
  sizes: readonly number[],
  form: TurnPlan['form'],
  context: ResponseContext,
): { readonly response: ResponseResource; readonly done: readonly unknown[]; readonly stream: Buffer } | ApiError {
  if (form === 'json') {
    const translated = resultOf(() => translateCompletion(completionOf(answer, habits, sizes), context));
    if (translated instanceof ApiError) return translated;
    const { response } = translated;
    return { response: JSON.parse(JSON.stringify(response)), done: response.output, stream: Buffer.alloc(0) };
  }
  const { bytes } = runStream([sseOf(chunksOf(answer, habits, sizes, form))], context, { committed: true });
  const events = eventsOf(bytes.toString());
  const { response } = events.at(-1) as unknown as { response: ResponseResource };
  const done = events.flatMap(({ type, item }) => (type === 'response.output_item.done' ? [item] : []));
  return { response, done, stream: bytes };
}

/** The client's items after an output: an output for each call that it may run, what is said between, and what follows. */
export function repliesTo(output: readonly OutputItem[], plan: TurnPlan, marks: Marks): readonly Item[] {
  const calls = output.flatMap((item) =>
    'call_id' in item && item.call_id !== null && item.type.endsWith('_call') && item.status === 'completed'
      ? [item]
      : [],
  );
  const outputs = calls.map((call): Item => {
    const kind = kindOfCall(call);
    const text = marks.in('out#');
    if (kind === null) return { type: 'function_call_output', call_id: call.call_id, output: text };
    return kind.output(call.call_id as string, text);
  });
  // The output of an asynchronous call that comes after another message is one of its own.
  const isNoted = plan.note !== null && outputs.length > 0 && !calls.some((call) => 'async' in call);
  const note = !isNoted ? [] : [{ role: plan.note, content: marks.in('note #') }];
  return [...note, ...(plan.isReversed ? outputs.toReversed() : outputs)];
}

/** An output item as clients keep it that leave out what they do not need. */
export function leanCopyOf(item: Item): Item {
  const { id, phase: _, status, ...kept } = item;
  if (id === undefined) return item;
  return status === undefined || status === 'completed' ? kept : { ...kept, status };
}
