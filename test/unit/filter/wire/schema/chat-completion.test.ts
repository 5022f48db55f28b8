import { expect, it } from 'vitest';
import type {
  LooseChoice,
  LooseChunk,
  LooseMessage,
  LooseToolCall,
  LooseUsage,
} from '../../../../../src/filter/wire/schema/chat-completion.ts';
import { countOf, objectOf, objectsOf, textOf } from '../../../../../src/formats/json/loose.ts';

/** Each marked line would read `undefined` for ever if it compiled; `tsc` fails where one of them does. */
const misspelt: readonly (() => unknown)[] = [
  // @ts-expect-error: service_tier
  () => textOf(objectOf<LooseChunk>({})?.service_teir),
  // @ts-expect-error: finish_reason
  () => textOf(objectOf<LooseChoice>({})?.finishReason),
  // @ts-expect-error: reasoning_content
  () => textOf(objectOf<LooseMessage>({})?.reasoning_contents),
  // @ts-expect-error: prompt_tokens
  () => countOf(objectOf<LooseUsage>({})?.prompt_token),
  // @ts-expect-error: closed types have no index signature either
  () => objectOf<LooseMessage>({})?.['reasonning'],
  // @ts-expect-error: function
  () => objectsOf<LooseToolCall>([{}]).map(({ functions }) => functions),
  // @ts-expect-error: a delta is no choice
  () => objectOf<LooseMessage>({})?.finish_reason,
  // @ts-expect-error: an object of which no field is named has none
  () => objectOf({})?.model,
  // @ts-expect-error: naming a field takes nothing about its value for granted
  () => objectOf<{ readonly model?: string }>({}),
];

it('a field that is not listed does not compile, and reads as nothing', () => {
  expect(misspelt).not.toHaveLength(0);
  for (const read of misspelt) expect(['', null, undefined, [undefined], {}]).toContainEqual(read());
});
