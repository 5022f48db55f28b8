/** The table of values in the chart's README, from the names, defaults and comments of `values.yaml`. */
import { isMap, type Pair, parseDocument, type Scalar, type YAMLMap } from 'yaml';
import { documentsWith, type Generator, markdownTable, textOf } from './generator.ts';

interface Row {
  readonly name: string;
  readonly fallback: string;
  readonly meaning: string;
}

/** The rows of a map: one for each value, and one for a map that has a comment of its own. */
function rowsOf(map: YAMLMap, path: string, first: string): readonly Row[] {
  return (map.items as Pair<Scalar<string>, unknown>[]).flatMap(({ key, value }, index) => {
    const name = path === '' ? key.value : `${path}.${key.value}`;
    // A comment before the first of several belongs to the map, in which the parser puts it.
    const before = index === 0 ? first : key.commentBefore;
    const { comment, commentBefore } = Object(value) as { comment?: string; commentBefore?: string };
    if (isMap(value) && value.flow !== true && value.items.length > 0) {
      const own = sentences(before, comment);
      const below = rowsOf(value, name, commentBefore ?? '');
      return own === '' ? below : [{ name, fallback: '', meaning: own }, ...below];
    }
    return [{ name, fallback: JSON.stringify(Object(value).toJSON?.() ?? null), meaning: sentences(before, comment) }];
  });
}

/** Comments as one text, without lines that are examples. */
function sentences(...comments: readonly (string | null | undefined)[]): string {
  const lines = comments.flatMap((comment) => (comment ?? '').split('\n'));
  return lines
    .filter((line) => !line.startsWith('  '))
    .map((line) => line.trim())
    .join(' ')
    .trim();
}

function valuesTable(): string {
  const { contents } = parseDocument(textOf('deploy/chart/values.yaml'));
  if (!isMap(contents)) throw new Error('values.yaml is no map');
  const rows = rowsOf(contents as YAMLMap, '', '').map(({ name, fallback, meaning }) => [
    `\`${name}\``,
    fallback === '' ? undefined : `\`${fallback}\``,
    meaning.replaceAll('|', '\\|'),
  ]);
  return markdownTable(['value', 'default', ''], rows);
}

export const chartValues: Generator = {
  name: 'the table of the chart’s values',
  source: 'deploy/chart/values.yaml',
  files: () => documentsWith({ 'deploy/chart/README.md': { 'chart-values': valuesTable() } }),
};
