/**
 * A source with several mutants in it, each behind a switch: tests that are loaded once can then run under any of them.
 * `globalThis.mutationSwitches` says which is on, and sees which parts are reached.
 */
import { parseSync } from 'oxc-parser';
import { isNode, type Mutant, type Node } from './mutants.ts';

declare global {
  /** What the sources with switches look at. */
  var mutationSwitches: {
    /** The number of the mutant that is on; 0 for none. */
    chosen: number;
    /** By the number of a mutant: 1 once its place was reached. */
    reached: Uint8Array;
    /** How often loops may turn; below 0 they throw, since a mutant may never end. */
    turns: number;
  };
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** A text that goes before (`opens`) or after the text of a node. */
interface Insertion {
  readonly at: number;
  readonly text: string;
  readonly opens: boolean;
  /** Where the node begins. */
  readonly from: number;
}

/** The body of a function, or the value of a class's field: what is run anew each time. */
interface Body extends Range {
  readonly isBlock: boolean;
}

const countTurn = 'if(--mutationSwitches.turns<0)throw new Error("endless");';

/**
 * The text with those mutants of it that stand in a function, by their numbers. `fixed` are the others: tables and constants,
 * which are computed when the module is loaded.
 */
export function withSwitches(
  file: string,
  text: string,
  mutants: ReadonlyMap<number, Mutant>,
): { readonly text: string; readonly fixed: ReadonlySet<number> } {
  const insertions: Insertion[] = [];
  const bodies: Body[] = [];
  const parts: (Range & { readonly insert: (text: string) => void })[] = [];

  function wrap({ type, start, end }: Node, before: string, isStatement: boolean): (text: string) => void {
    const isBlock = type === 'BlockStatement';
    const [opening, closing] = isBlock ? ['', ''] : isStatement ? ['{', '}'] : ['(', ')'];
    const at = isBlock ? start + 1 : start;
    const needed = before !== '';
    const put = (inserted: string) => {
      insertions.push({ at, text: opening + inserted, opens: true, from: start });
      if (closing !== '') insertions.push({ at: end, text: closing, opens: false, from: start });
    };
    if (!needed) return put;
    put(before);
    return (inserted) => insertions.push({ at: isBlock ? at : start, text: inserted, opens: true, from: start });
  }

  visit(parseSync(file, text).program as unknown as Node, (node) => {
    const part = (child: Node, before = '', isStatement = true) =>
      parts.push({ start: child.start, end: child.end, insert: wrap(child, before, isStatement) });
    if (isFunction(node) && isNode(node['body'])) {
      const { body } = node;
      const isBlock = body.type === 'BlockStatement';
      bodies.push({ start: body.start, end: body.end, isBlock });
      part(body, '', isBlock);
    } else if (node.type === 'PropertyDefinition' && !node['static'] && isNode(node['value'])) {
      if (isFunction(node['value'])) return;
      bodies.push({ start: node['value'].start, end: node['value'].end, isBlock: false });
      part(node['value'], '', false);
    } else if (/^(While|DoWhile|For|ForOf|ForIn)Statement$/.test(node.type)) part(node['body'] as Node, countTurn);
    else if (node.type === 'IfStatement') {
      for (const child of [node['consequent'], node['alternate']]) if (isNode(child)) part(child);
    } else if (node.type === 'SwitchCase') {
      const [first] = node['consequent'] as readonly Node[];
      if (first === undefined) return;
      const { start } = first;
      parts.push({
        start,
        end: node.end,
        insert: (inserted) => insertions.push({ at: start, text: inserted, opens: true, from: start }),
      });
    }
  });

  const fixed = new Set<number>();
  for (const [number, mutant] of mutants) {
    const body = smallest(bodies, mutant);
    if (body === undefined) fixed.add(number);
    else {
      const place = smallest(parts, { start: mutant.offset, end: mutant.offset + 1 });
      const isExpression = place !== undefined && bodies.some((one) => one.start === place.start && !one.isBlock);
      place?.insert(`mutationSwitches.reached[${number}]=1${isExpression ? ',' : ';'}`);
    }
  }

  // Those of an outer node come first, since it was visited first; what closes it comes last.
  const opening = insertions.filter(({ opens }) => opens);
  const closing = insertions.filter(({ opens }) => !opens).reverse();
  const ordered = [...closing, ...opening].sort((one, other) => one.at - other.at);
  let [prepared, end] = ['', 0];
  for (const { at, text: inserted } of ordered) {
    prepared += text.slice(end, at) + inserted;
    end = at;
  }
  prepared += text.slice(end);
  const movedStart = (start: number) =>
    ordered.reduce((place, { at, text: { length } }) => (at <= start ? place + length : place), start);
  const moved = (range: Range): Range => ({
    start: movedStart(range.start),
    end: ordered.reduce(
      (place, { at, opens, from, text: { length } }) =>
        at < range.end || (at === range.end && !opens && from > range.start) ? place + length : place,
      range.end,
    ),
  });

  const own = new Map<Body, string[]>();
  for (const [number, mutant] of mutants) {
    const body = smallest(bodies, mutant);
    if (body === undefined) continue;
    const [whole, changed] = [moved(body), moved(mutant)];
    const made =
      prepared.slice(whole.start, changed.start) + mutant.replacement + prepared.slice(changed.end, whole.end);
    own.set(body, [
      ...(own.get(body) ?? []),
      body.isBlock ? `case ${number}:${made}return;` : `mutationSwitches.chosen===${number}?(${made}):`,
    ]);
  }
  const replacements = [...own]
    .map(([body, alternatives]) => ({ ...moved(body), isBlock: body.isBlock, alternatives }))
    .sort((one, other) => other.start - one.start);
  // From the last to the first, so that an inner body is done before the outer one, and places before it stay what they are.
  let grown = prepared;
  for (const { start, isBlock, alternatives } of replacements) {
    const all = alternatives.join('');
    grown = isBlock
      ? `${grown.slice(0, start + 1)}switch(mutationSwitches.chosen){${all}}${grown.slice(start + 1)}`
      : `${grown.slice(0, start)}${all}${grown.slice(start)}`;
  }
  return { text: grown, fixed };
}

function isFunction({ type }: Node): boolean {
  return type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression';
}

function smallest<Part extends Range>(parts: readonly Part[], { start, end }: Range): Part | undefined {
  const around = parts.filter((part) => part.start <= start && end <= part.end);
  return around.sort((one, other) => one.end - one.start - (other.end - other.start))[0];
}

/** Each node but those of types, an outer one before its inner ones. */
function visit(node: Node, seen: (node: Node) => void): void {
  if (/^TS(?!AsExpression|NonNull|Satisfies)/.test(node.type)) return;
  seen(node);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child, seen);
}
