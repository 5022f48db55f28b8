import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { anchorOf } from '../../../scripts/generate/github-anchor.ts';
import { requestFields } from '../../../src/filter/translate/shared/request-fields.ts';
import { mappingRows } from '../../../src/tools/explain/mapping-rows.ts';
import { type PublishedSchema, publishedSchemas } from '../../support/published-schema.ts';

const file = new URL('../../../docs/mapping.md', import.meta.url);
const text = readFileSync(file, 'utf8');

const golden = fileURLToPath(new URL('../../golden', import.meta.url));
const requestCases = globSync('request*.md', { cwd: golden })
  .map((name) => readFileSync(join(golden, name), 'utf8'))
  .join('');

/** Fields named in the first cells of the tables. */
const rows = new Set(
  [...text.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell]) =>
    [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  ),
);

describe('docs/mapping.md', () => {
  it.each([...requestFields.keys()])('has a row for %s, and a golden case shows it', (name) => {
    expect(rows).toContain(name);
    expect(requestCases).toContain(`"${name}":`);
  });

  it.each(publishedFields())('has a row for %s of the published request schema', (name) => {
    expect(rows).toContain(name);
  });

  it('defines every decision, D1 to D21', () => {
    const labels = [...text.matchAll(/^\| <a id="row-d\d+"><\/a>(D\d+) \|/gm)].map(([, label]) => label);
    expect(labels).toEqual(Array.from({ length: 21 }, (_, index) => `D${index + 1}`));
  });

  it('has an anchor for every row, each its own', () => {
    const tables = text.slice(0, text.indexOf('## The catalog for Codex')) + text.slice(text.indexOf('## The body'));
    const headers = /^\|.*\n\| ---/gm;
    const first = [...tables.replaceAll(headers, '').matchAll(/^\| (?!---)(.*)$/gm)].map(([, line = '']) => line);
    expect(first.length).toBeGreaterThan(100);
    const anchors = first.map((line) => /^<a id="(row-[\w-]+)"><\/a>/.exec(line)?.[1] ?? `none: ${line}`);
    expect(anchors.filter((anchor) => anchor.startsWith('none'))).toEqual([]);
    expect(new Set(anchors).size).toBe(anchors.length);
    // What `explain` prints links to these.
    const shown = mappingRows.map(({ anchor }) => anchor);
    expect(anchors.filter((anchor) => shown.includes(anchor))).toEqual(shown);
  });

  it('has rules that read on their own in a terminal', () => {
    // Nothing that only the page around it explains: a label, a table, another row.
    const pointer = /\bD\d+\b|\b(see|likewise|below|above|next table|untouched)\b|^like |\bwhy\b|\]\(/i;
    const pointing = mappingRows
      .filter(({ rule }) => pointer.test(rule))
      .map(({ anchor, rule }) => `${anchor}: ${rule}`);
    expect(pointing).toEqual([]);
  });

  it('links cases that exist', () => {
    const links = [...text.matchAll(/\]\(([^)#\s]*)(?:#([^)]+))?\)/g)];
    expect(links.length).toBeGreaterThan(80);
    for (const [, path, anchor] of links) {
      const target = path === '' ? file : new URL(path ?? '', file);
      expect(existsSync(target), path).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(target), `${path}#${anchor}`).toContain(anchor);
    }
  });
});

function anchorsOf(target: URL): string[] {
  return [...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
}

/** Every property below `CreateResponseBody`, by path: `input[].content[].text`. Members of unions share their paths. */
function publishedFields(): string[] {
  const found = new Set<string>();
  walk({ $ref: '#/components/schemas/CreateResponseBody' }, '');
  return [...found].sort();

  function walk(schema: PublishedSchema, path: string): void {
    if (schema.$ref !== undefined) walk(publishedSchemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, path);
    for (const member of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
      walk(member, path);
    if (schema.items !== undefined) walk(schema.items, `${path}[]`);
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const at = path === '' ? name : `${path}.${name}`;
      found.add(at);
      walk(property, at);
    }
  }
}
