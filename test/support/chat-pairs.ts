import type { ChatMessage } from '../../src/filter/wire/schema/chat-request.ts';
import { marksIn } from './scripted-answers.ts';
import type { Item } from './tool-kinds.ts';

/** For each output, its call: by their marks. */
export function pairsIn(messages: readonly ChatMessage[]): readonly string[] {
  const calls = new Map<string, string | undefined>();
  const pairs: string[] = [];
  for (const { tool_calls = [], tool_call_id, content } of messages) {
    for (const { id, ...call } of tool_calls) calls.set(id, callMark(call));
    const [mark] = tool_call_id === undefined ? [] : marksIn(content);
    if (mark !== undefined) pairs.push(`${calls.get(String(tool_call_id))} ${mark}`);
  }
  return pairs.toSorted();
}

/** Of what a call says; its signature has another. */
export function callMark({ extra_content: _, ...call }: Item): string | undefined {
  const { provider_specific_fields: __, thoughtSignature: ___, thought_signature: ____, ...said } = call;
  return marksIn(said)[0];
}
