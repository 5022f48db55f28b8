/** Small mistakes that could be made in a source file, each as a replacement of a piece of its text. */
import { parseSync } from 'oxc-parser';

/** One mistake. `before` and `after` are the whole first line that it changes, so that a list can refer to it for years. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** Whoever comes here runs into it: in UTF-16 units of the text. */
  readonly offset: number;
  readonly kind: string;
  readonly before: string;
  readonly after: string;
  /** The mistake: what stands there from `start` to `end` is replaced. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** The file's text with the mistake in it. */
  readonly text: string;
}

/** A node of a source's syntax. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}
type Change = readonly [kind: string, start: number, end: number, replacement: string, reachedAt?: number];

const operators: Readonly<Record<string, readonly string[]>> = {
  '===': ['!=='],
  '!==': ['==='],
  '==': ['!='],
  '!=': ['=='],
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&': ['|'],
  '|': ['&'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '+=': ['-='],
  '-=': ['+='],
  '||=': ['&&='],
  '&&=': ['||='],
  '??=': ['='],
  '++': ['--'],
  '--': ['++'],
};

/** Types and names are not behaviour. */
const skipped = /^(TS(?!AsExpression|NonNull|Satisfies)|Import|ExportAll|Decorator)/;

/** Every mutant of a TypeScript file that is still a program, in the order of its text: `a && b ?? c` is none. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const changes: Change[] = [];
  visit(program as unknown as Node, null, '', (node, parent, field) =>
    changes.push(...changesOf(node, parent, field, text)),
  );
  changes.sort(([, first], [, second]) => first - second);
  return changes.flatMap(([kind, start, end, replacement, reachedAt = start]) => {
    const mutated = text.slice(0, start) + replacement + text.slice(end);
    if (parseSync(file, mutated).errors.length > 0) return [];
    const lineStart = text.lastIndexOf('\n', start - 1) + 1;
    const line = (whole: string) => (whole.slice(lineStart).split('\n', 1)[0] ?? '').trim();
    return {
      file,
      line: text.slice(0, start).split('\n').length,
      offset: reachedAt,
      kind,
      before: line(text),
      after: line(mutated),
      start,
      end,
      replacement,
      text: mutated,
    };
  });
}

function visit(
  node: Node,
  parent: Node | null,
  field: string,
  seen: (node: Node, parent: Node | null, field: string) => void,
): void {
  if (skipped.test(node.type)) return;
  seen(node, parent, field);
  for (const [name, value] of Object.entries(node)) {
    const isName = (name === 'key' && !node['computed']) || name === 'typeAnnotation' || name === 'source';
    if (isName) continue;
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, node, name, seen);
  }
}

/** Is it a node, rather than a name or a value? */
export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string' && 'start' in value;
}

function changesOf(node: Node, parent: Node | null, field: string, text: string): Change[] {
  const { start, end } = node;
  const source = text.slice(start, end);
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression': {
      const [left, right] = [node['left'] as Node, node['right'] as Node];
      const operator = String(node['operator']);
      const at = text.indexOf(operator, left.end);
      const swapped = (operators[operator] ?? []).map(
        // V8 counts `&& b` as executed where `b` is.
        (other): Change => [operator, at, at + operator.length, ` ${other} `.trim(), left.start],
      );
      // `a ?? b` as either side alone.
      const sides: Change[] =
        operator === '??' ? [['?? left', start, end, `(${text.slice(left.start, left.end)})`]] : [];
      return right.start > at ? [...swapped, ...sides] : [];
    }
    case 'UpdateExpression': {
      const operator = String(node['operator']);
      const at = node['prefix'] ? start : end - 2;
      return [[operator, at, at + 2, operators[operator]?.[0] ?? operator]];
    }
    case 'UnaryExpression':
      return node['operator'] === '!' ? [['!', start, start + 1, '']] : [];
    case 'IfStatement':
    case 'ConditionalExpression':
      return conditions(node['test'] as Node);
    case 'WhileStatement':
    case 'ForStatement':
      return isNode(node['test']) ? [condition(node['test'], 'false')] : [];
    case 'ExpressionStatement':
      return field === 'body' && parent?.type === 'Program' ? [] : [['statement', start, end, ';']];
    case 'ReturnStatement':
      return parent?.type === 'BlockStatement' && node['argument'] === null ? [['return', start, end, ';']] : [];
    case 'BreakStatement':
    case 'ContinueStatement':
      return parent?.type === 'SwitchCase' ? [] : [[node.type, start, end, ';']];
    case 'ArrayExpression':
      return (node['elements'] as unknown[]).length > 0 ? [['array', start, end, '[]']] : [];
    case 'SpreadElement':
      return parent?.type === 'ObjectExpression' ? [['spread', start, end, '...{}']] : [];
    case 'Literal':
      return literal(node, source, parent, field);
    default:
      return [];
  }
}

function conditions(test: Node): Change[] {
  return [condition(test, 'true'), condition(test, 'false')];
}

function condition({ start, end }: Node, value: string): Change {
  return [`if ${value}`, start, end, value];
}

function literal({ start, end, value }: Node, source: string, parent: Node | null, field: string): Change[] {
  if (typeof value === 'boolean') return [['boolean', start, end, String(!value)]];
  if (typeof value === 'number') return [['number', start, end, `(${source} + 1)`]];
  const isKey = field === 'key' || parent?.type === 'ExpressionStatement';
  // Prose is for people; golden cases compare it anyway if a client reads it.
  if (typeof value === 'string' && value !== '' && !value.includes(' ') && !isKey)
    return [['string', start, end, "''"]];
  return [];
}
