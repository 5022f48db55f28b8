import { parseSync } from 'oxc-parser';

/** A word of the API, and where it is declared. */
export interface Literal {
  readonly kind: 'item' | 'part' | 'tool' | 'event' | 'include' | 'field' | 'value';
  readonly value: string;
  /** The type that has it, and the field. */
  readonly declaration: string;
}

interface Node {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The types that a `.d.ts` file declares, by name; those in a namespace by `Namespace.Name`. */
export type Declarations = ReadonlyMap<string, Node>;

/** The declarations in files; for a name in several files, the first. */
export function declarationsOf(...files: readonly string[]): Declarations {
  const found = new Map<string, Node>();
  for (const text of files)
    collect((parseSync('types.d.ts', text).program as unknown as Node)['body'] as Node[], '', found);
  return found;
}

function collect(statements: readonly Node[], prefix: string, found: Map<string, Node>): void {
  for (const statement of statements) {
    const declaration = (statement['declaration'] as Node | null | undefined) ?? statement;
    const name = (declaration['id'] as { name?: string } | undefined)?.name;
    if (name === undefined) continue;
    if (declaration.type === 'TSModuleDeclaration')
      collect(((declaration['body'] as Node | null)?.['body'] as Node[] | undefined) ?? [], `${prefix}${name}.`, found);
    else if (!found.has(prefix + name)) found.set(prefix + name, declaration);
  }
}

/** The unions of which every member's `type` is a word of the API. */
const unions = [
  ['item', 'ResponseInputItem'],
  ['item', 'ResponseOutputItem'],
  ['part', 'ResponseInputContent'],
  ['part', 'ResponseFunctionCallOutputItem'],
  ['tool', 'Tool'],
  ['event', 'ResponseStreamEvent'],
] as const;

/** Every word of the API, once for each kind. Throws if a root type is no longer declared. */
export function literalsOf(declarations: Declarations): Literal[] {
  const literals = new Map<string, Literal>();
  const add = (kind: Literal['kind'], value: string, declaration: string): void => {
    if (!literals.has(`${kind} ${value}`)) literals.set(`${kind} ${value}`, { kind, value, declaration });
  };
  for (const [kind, union] of unions)
    for (const name of membersOf(union)) for (const value of typesOf(name)) add(kind, value, name);
  for (const value of stringsIn(aliasOf('ResponseIncludable'))) add('include', value, 'ResponseIncludable');
  for (const { name, annotation } of fieldsOf('ResponseCreateParamsBase')) {
    add('field', name, 'ResponseCreateParamsBase');
    for (const value of stringsIn(annotation)) add('value', value, `ResponseCreateParamsBase.${name}`);
  }
  for (const { name, annotation } of fieldsOf('Reasoning')) {
    add('field', name, 'Reasoning');
    for (const value of stringsIn(annotation)) add('value', value, `Reasoning.${name}`);
  }
  return [...literals.values()];

  function declared(name: string): Node {
    const node = declarations.get(name);
    if (node === undefined) throw new Error(`The package declares no ${name} any more.`);
    return node;
  }

  function aliasOf(name: string): Node {
    return declared(name)['typeAnnotation'] as Node;
  }

  /** The names of the interfaces in a union, with those of unions inside it. */
  function membersOf(name: string): string[] {
    const node = declared(name);
    if (node.type === 'TSInterfaceDeclaration') return [name];
    const annotation = node['typeAnnotation'] as Node;
    const types = annotation.type === 'TSUnionType' ? (annotation['types'] as Node[]) : [annotation];
    return types.flatMap((type) =>
      type.type === 'TSTypeReference' ? membersOf(nameOf(type['typeName'] as Node)) : [],
    );
  }

  function typesOf(name: string): string[] {
    return fieldsOf(name).flatMap((field) => (field.name === 'type' ? stringsIn(field.annotation) : []));
  }

  function fieldsOf(name: string): { readonly name: string; readonly annotation: Node }[] {
    const body = (declared(name)['body'] as Node)['body'] as Node[];
    return body.flatMap((member) => {
      const key = member['key'] as { name?: string } | undefined;
      const annotation = (member['typeAnnotation'] as Node | undefined)?.['typeAnnotation'] as Node | undefined;
      return key?.name === undefined || annotation === undefined ? [] : [{ name: key.name, annotation }];
    });
  }
}

/** The string literals that a type is, itself or as members of a union. */
function stringsIn(type: Node): string[] {
  if (type.type === 'TSUnionType') return (type['types'] as Node[]).flatMap(stringsIn);
  const value = type.type === 'TSLiteralType' ? (type['literal'] as { value?: unknown }).value : undefined;
  return typeof value === 'string' ? [value] : [];
}

function nameOf(name: Node): string {
  if (name.type === 'Identifier') return name['name'] as string;
  return `${nameOf(name['left'] as Node)}.${nameOf(name['right'] as Node)}`;
}
