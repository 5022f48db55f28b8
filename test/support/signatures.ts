import { readFileSync } from 'node:fs';
import { type Node, parseSync } from 'oxc-parser';

/** A function that others call: the types of ours that its parameters and its result name. */
export interface Signature {
  readonly where: string;
  readonly types: readonly string[];
  /** A parameter has the type of an object without a name, or the result has none. */
  readonly unnamed: boolean;
}

/** The signatures of that exported name: of a function, of a class’s public methods; of a constant the type it is declared with. */
export function signaturesIn(file: string, name: string): Signature[] {
  const { program } = parseSync(file, readFileSync(file, 'utf8'));
  // Types of the language and of Node are neither declared nor imported.
  const ours = new Set<string>();
  const signatures: Signature[] = [];
  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration' && statement.source.value.startsWith('.'))
      for (const { local } of statement.specifiers) ours.add(local.name);
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement;
    if (declared !== null && 'id' in declared && declared.id?.type === 'Identifier') ours.add(declared.id.name);
  }
  const add = (where: string, parameters: readonly Node[], result: Node | null, wantsResult: boolean) => {
    const nodes = result === null ? parameters : [...parameters, result];
    const types = nodes.flatMap((node) => [...typesIn(node)]);
    signatures.push({
      where,
      types: types.flatMap((type) => (type !== null && ours.has(type) ? [type] : [])),
      unnamed: (wantsResult && result === null) || types.includes(null),
    });
  };
  for (const statement of program.body) {
    if (statement.type !== 'ExportNamedDeclaration' || statement.declaration === null) continue;
    const { declaration } = statement;
    if (declaration.type === 'FunctionDeclaration' && declaration.id?.name === name)
      add(name, declaration.params, declaration.returnType ?? null, true);
    if (declaration.type === 'ClassDeclaration' && declaration.id?.name === name)
      for (const member of declaration.body.body)
        if (member.type === 'MethodDefinition' && member.key.type === 'Identifier')
          add(
            `${name}.${member.key.name}`,
            member.value.params,
            member.value.returnType ?? null,
            member.kind !== 'constructor',
          );
    if (declaration.type === 'VariableDeclaration')
      for (const { id } of declaration.declarations)
        if (id.type === 'Identifier' && id.name === name && id.typeAnnotation != null)
          add(name, [], id.typeAnnotation, false);
  }
  return signatures;
}

/** Names of the types in that node; null for an object’s type that has none. */
function* typesIn(node: unknown): Generator<string | null> {
  if (Array.isArray(node)) for (const one of node) yield* typesIn(one);
  else if (typeof node === 'object' && node !== null) {
    const { type, typeName } = node as { readonly type?: string; readonly typeName?: { readonly name?: string } };
    if (type === 'TSTypeLiteral') yield null;
    if (type === 'TSTypeReference' && typeName?.name !== undefined) yield typeName.name;
    for (const part of Object.values(node)) yield* typesIn(part);
  }
}
