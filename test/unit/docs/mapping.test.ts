import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createResponseFields } from '../../../src/schema/create-response.ts';

const file = new URL('../../../docs/mapping.md', import.meta.url);
const text = readFileSync(file, 'utf8');
const reference = new URL('../../../../shared/reference/open-responses-2026-04-24.openapi.json', import.meta.url);

/** Fields named in the first cells of the tables. */
const rows = new Set(
  [...text.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell]) =>
    [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  ),
);

describe('docs/mapping.md', () => {
  it.each(Object.keys(createResponseFields))('has a row for %s, which is read', (name) => {
    expect(rows).toContain(name);
  });

  if (existsSync(reference))
    it.each(publishedFields())('has a row for %s of the published request schema', (name) => {
      expect(rows).toContain(name);
    });

  it('defines every decision, D1 to D21', () => {
    const labels = [...text.matchAll(/^\| (D\d+) \|/gm)].map(([, label]) => label);
    expect(labels).toEqual(Array.from({ length: 21 }, (_, index) => `D${index + 1}`));
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

/** Anchors that GitHub gives to the headings of a Markdown file. */
function anchorsOf(target: URL): string[] {
  return [...readFileSync(target, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    (heading ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{Letter}\p{Number}_\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}

interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** Every property below `CreateResponseBody`, by path: `input[].content[].text`. Members of unions share their paths. */
function publishedFields(): string[] {
  const { components } = JSON.parse(readFileSync(reference, 'utf8')) as {
    components: { schemas: Record<string, Schema> };
  };
  const found = new Set<string>();
  walk({ $ref: '#/components/schemas/CreateResponseBody' }, '');
  return [...found].sort();

  function walk(schema: Schema, path: string): void {
    if (schema.$ref !== undefined) walk(components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, path);
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
