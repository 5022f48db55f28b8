import { join } from 'node:path';
import { API, type Checker, SymbolFlags, type Type, TypeFlags, type TypeReference } from 'typescript/unstable/sync';

/** A JSON value of a published type, and how it differs: `content[0].detail: null`. */
export interface Variant {
  readonly what: string;
  readonly value: unknown;
}

const folder = join(import.meta.dirname, '../fixtures/published-types');

/**
 * Values of a type that `test/fixtures/published-types/types.ts` names, as the compiler reads it: for each member of a
 * union one with every field set, and from there one for each field that may be absent, that may be null, and for each
 * other value it may have, down to its content parts. Not every combination: one difference at a time.
 */
export function variantsOfPublished(name: string): readonly Variant[] {
  const api = new API({ cwd: folder });
  try {
    const project = api.updateSnapshot({ openProjects: [join(folder, 'tsconfig.json')] }).getProjects()[0];
    const file = project?.program.getSourceFile(join(folder, 'types.ts'));
    const module = file === undefined ? undefined : project?.checker.getSymbolAtLocation(file);
    const alias = [...(module?.getExports().values() ?? [])].find((symbol) => symbol.name === name);
    if (project === undefined || alias === undefined) throw new Error(`types.ts exports no ${name}`);
    const type = project.checker.getDeclaredTypeOfSymbol(project.checker.getAliasedSymbol(alias));
    if (type.isErrorType()) throw new Error(`the package has no type ${name}`);
    return new VariantMaker(project.checker).variantsOf(type);
  } finally {
    api.close();
  }
}

class VariantMaker {
  readonly #checker: Checker;
  readonly #made = new Map<number, readonly Variant[]>();
  /** Types being visited: a recursive type ends there. */
  readonly #open = new Set<number>();

  constructor(checker: Checker) {
    this.#checker = checker;
  }

  /** The first has everything set. */
  variantsOf(type: Type): readonly Variant[] {
    const made = this.#made.get(type.id);
    if (made !== undefined) return made;
    if (this.#open.has(type.id)) return [];
    this.#open.add(type.id);
    const variants = this.#make(type);
    this.#open.delete(type.id);
    this.#made.set(type.id, variants);
    return variants;
  }

  #make(type: Type): readonly Variant[] {
    const { flags } = type;
    if (type.isUnionType()) {
      const members = type.getTypes() ?? [];
      const isNull = (member: Type) => (member.flags & TypeFlags.Null) !== 0;
      // Null comes last, so that the first value is a meaningful one.
      return [...members.filter((member) => !isNull(member)), ...members.filter(isNull)].flatMap((member) =>
        this.variantsOf(member),
      );
    }
    if (type.isLiteralType()) return [{ what: `: ${JSON.stringify(type.value)}`, value: type.value }];
    // `string & {}`: any text beside the words of a union.
    if (type.isIntersectionType() && (type.getTypes() ?? []).some((one) => one.flags & TypeFlags.String))
      return [{ what: '', value: 'text' }];
    if (flags & TypeFlags.Undefined) return [];
    if (flags & TypeFlags.Null) return [{ what: ': null', value: null }];
    if (flags & TypeFlags.String) return [{ what: '', value: 'text' }];
    if (flags & TypeFlags.Number) return [{ what: '', value: 1 }];
    if (flags & TypeFlags.AnyOrUnknown) return [{ what: '', value: { any: 'thing' } }];
    if (this.#checker.isArrayType(type)) return this.#arrays(type);
    if (flags & (TypeFlags.Object | TypeFlags.Intersection)) return this.#objects(type);
    throw new Error(`no values are known for ${this.#checker.typeToString(type)}`);
  }

  #arrays(type: Type): readonly Variant[] {
    const [element] = this.#checker.getTypeArguments(type as TypeReference); // an array is one
    const elements = element === undefined ? [] : this.variantsOf(element);
    return [
      ...elements.map(({ what, value }) => ({ what: `[0]${what}`, value: [value] })),
      { what: ': []', value: [] },
    ];
  }

  #objects(type: Type): readonly Variant[] {
    const fields = this.#checker.getPropertiesOfType(type).map((symbol) => {
      const own = this.#checker.getTypeOfSymbol(symbol);
      const isOptional = (symbol.flags & SymbolFlags.Optional) !== 0;
      return { name: symbol.name, isOptional, variants: own === undefined ? [] : this.variantsOf(own) };
    });
    const filled = fields.flatMap(({ name, variants: [first] }) => (first === undefined ? [] : [[name, first.value]]));
    const base = Object.fromEntries(filled) as Record<string, unknown>;
    const kind = typeof base['type'] === 'string' ? ` ${base['type']}` : '';
    const variants: Variant[] = [{ what: kind, value: base }];
    for (const { name, isOptional, variants: values } of fields) {
      if (isOptional) {
        const { [name]: _, ...without } = base;
        variants.push({ what: `${kind} without ${name}`, value: without });
      }
      for (const { what, value } of values.slice(1))
        variants.push({ what: `${kind}.${name}${what}`, value: { ...base, [name]: value } });
    }
    return variants;
  }
}
