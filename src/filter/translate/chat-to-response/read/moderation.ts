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

/** Joins the values of two texts, by the fields of their results. A flag of one text counts for both, and so does the higher score. */
const joins = {
  categories: (a, b) => a === true || b === true,
  category_scores: (a, b) => Math.max(Number(a ?? 0), Number(b ?? 0)),
  category_applied_input_types: (a, b) => [...new Set([...arrayOf(a), ...arrayOf(b)])],
} satisfies Partial<Record<keyof LooseModerationResult, (a: unknown, b: unknown) => unknown>>;

function joined(one: LooseModerationResult, other: LooseModerationResult): LooseModerationResult {
  const fields = (Object.keys(joins) as (keyof typeof joins)[]).map((name) => [
    name,
    merged(one[name], other[name], joins[name]),
  ]);
  return { ...one, flagged: one.flagged === true || other.flagged === true, ...Object.fromEntries(fields) };
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
