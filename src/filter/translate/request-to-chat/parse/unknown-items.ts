import { objectOf, textOf } from '../../../../formats/json/loose.ts';
import type { Loose } from '../../../wire/schema/chat-completion.ts';
import { messageItem } from '../../../wire/schema/create-response.ts';
import { isExtensionName } from '../../shared/extension-name.ts';
import type { InputMessage } from '../../shared/parsed.ts';
import type { TranslationSettings } from '../../shared/settings.ts';

/** Where items of every known type carry text for the model. */
type LooseItem = Loose<'text' | 'content' | 'message' | 'summary' | 'output' | 'role'>;

/** Whether an unknown type is refused; with `extensions` not `provider:type`, a provider’s own by Open Responses. */
export function isRefused(type: string, { unknownItems }: Pick<TranslationSettings, 'unknownItems'>): boolean {
  return unknownItems === 'reject' || (unknownItems === 'extensions' && !isExtensionName(type));
}

/** The text in an item or part of an unknown type, in document order; `''` for none. Reads two levels deep. */
export function textCarriedBy(value: object): string {
  const item: LooseItem = objectOf<LooseItem>(value) ?? {};
  const texts = [item.text, item.content, item.message, item.summary, item.output].flatMap(textsIn);
  return texts.filter((text) => text !== '').join('\n');
}

/** The role such an item states, where a message may have it. */
export function roleStatedBy(value: object): InputMessage['role'] {
  const role = messageItem.shape.role.safeParse(objectOf<LooseItem>(value)?.role);
  return role.success ? role.data : 'user';
}

function textsIn(value: unknown): string[] {
  if (!Array.isArray(value)) return [textOf(value)];
  return value.map((part) => (typeof part === 'string' ? part : textOf(objectOf<Loose<'text'>>(part)?.text)));
}
