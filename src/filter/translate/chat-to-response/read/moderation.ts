import { arrayOf, objectOf, objectsOf } from '../../../../formats/json/loose.ts';
import type { LooseModeration, LooseModerationResult, LooseVerdict } from '../../../wire/schema/chat-completion.ts';

/** Reads OpenAI's verdicts on a prompt and an answer. A Response has one verdict on each, Chat a list with a result for each text. */
export function readModeration(value: unknown): object | null {
  const moderation = objectOf<LooseModeration>(value);
  if (moderation === null) return null;
  return { ...moderation, input: readVerdict(moderation.input), output: readVerdict(moderation.output) };
}

function readVerdict(value: unknown): unknown {
  const results = objectsOf<LooseModerationResult>(objectOf<LooseVerdict>(value)?.results);
  const [first, ...others] = results;
  return first === undefined ? value : others.reduce<LooseModerationResult>(joined, first);
}

/** Joins the results of two texts: a flag of one text counts for both, and so does the higher score. */
function joined(one: LooseModerationResult, other: LooseModerationResult): LooseModerationResult {
  return {
    ...one,
    flagged: one.flagged === true || other.flagged === true,
    categories: merged(one.categories, other.categories, (a, b) => a === true || b === true),
    category_scores: merged(one.category_scores, other.category_scores, (a, b) =>
      Math.max(Number(a ?? 0), Number(b ?? 0)),
    ),
    category_applied_input_types: merged(
      one.category_applied_input_types,
      other.category_applied_input_types,
      (a, b) => [...new Set([...arrayOf(a), ...arrayOf(b)])],
    ),
  };
}

type Values = Readonly<Record<string, unknown>>;

function merged(one: unknown, other: unknown, join: (a: unknown, b: unknown) => unknown): object {
  const [a, b] = [readValues(one), readValues(other)];
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return Object.fromEntries(Array.from(names, (name) => [name, join(a[name], b[name])]));
}

function readValues(value: unknown): Values {
  return objectOf<Values>(value) ?? {};
}
