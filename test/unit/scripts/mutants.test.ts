import { parseSync } from 'oxc-parser';
import { beforeEach, describe, expect, it } from 'vitest';
import { mutantsOf } from '../../../scripts/tests/mutation/mutants.ts';
import { withSwitches } from '../../../scripts/tests/mutation/switches.ts';

const afterOf = (text: string) => mutantsOf('a.ts', text).map(({ after }) => after);

it('each mistake is one change of the text, told by the first line that it changes', () => {
  const text = 'export function f(a: number) {\n  if (a > 5) return "x";\n  return a;\n}\n';
  expect(mutantsOf('a.ts', text).map(({ line, kind, after }) => [line, kind, after])).toEqual([
    [2, 'if true', 'if (true) return "x";'],
    [2, 'if false', 'if (false) return "x";'],
    [2, '>', 'if (a >= 5) return "x";'],
    [2, '>', 'if (a <= 5) return "x";'],
    [2, 'number', 'if (a > (5 + 1)) return "x";'],
    [2, 'string', "if (a > 5) return '';"],
  ]);
});

it('what is no program is no mistake: it would be seen by whoever reads the file', () => {
  const text = 'export const f = (a?: number, b?: number, c?: number) => a ?? b ?? c;\n';
  expect(afterOf(text).length).toBeGreaterThan(0);
  for (const { text: mutated } of mutantsOf('a.ts', text)) expect(parseSync('a.ts', mutated).errors).toEqual([]);
  expect(afterOf(text).join('\n')).not.toContain('b && c');
});

describe('a source with all of its mutants behind switches', () => {
  const source = `
const table = { one: 1 };
export class Counter {
  #step = table.one + 1;
  #next = (at) => at + this.#step;
  count(list, most = 3) {
    let sum = 0;
    for (const one of list) if (one > most) sum += one; else sum -= this.#next(one);
    for (let at = 0; at < 3; at++) { if (at === 1) continue; sum += at; }
    const twice = list.map((one) => ({ two: one * 2 }));
    switch (sum) {
      case 0: return 'zero';
      default: sum += twice.length;
    }
    while (sum > 100) sum = sum >> 1;
    return twice.filter(({ two }) => two > 4 && two < 20).map(({ two }) => \`\${two}\`).join('-') + sum;
  }
}
export const outcome = () => [[], [1, 5, 9], [7, 7, 80, 99]].map((list) => new Counter().count(list));
`;
  const mutants = new Map(mutantsOf('a.ts', source).map((mutant, index) => [index + 1, mutant]));
  const { text, fixed } = withSwitches('a.ts', source, mutants);

  /** What it gives, or that it never ends, or fails. */
  async function outcomeOf(module: string): Promise<string> {
    const { outcome } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
    try {
      return JSON.stringify(outcome());
    } catch (error) {
      return (error as Error).message;
    }
  }

  beforeEach(() => {
    globalThis.mutationSwitches = { chosen: 0, reached: new Uint8Array(mutants.size + 1), turns: 10_000 };
  });

  it('gives what it gave, where none is on', async () => {
    expect(await outcomeOf(text)).toBe(await outcomeOf(source));
  });

  it('gives what the mutant gives that is on, or ends where that one would not', async () => {
    expect(mutants.size - fixed.size).toBeGreaterThan(50);
    for (const [number, mutant] of mutants) {
      if (fixed.has(number)) continue;
      const counted = withSwitches('a.ts', mutant.text, new Map()).text;
      const expected = await outcomeOf(counted);
      mutationSwitches.turns = 10_000;
      mutationSwitches.chosen = number;
      expect(await outcomeOf(text), `${mutant.line}: ${mutant.after}`).toBe(expected);
      mutationSwitches.turns = 10_000;
    }
  });

  it('sees which of them are reached', async () => {
    await outcomeOf(text);
    const places = [...mutants].filter(([number]) => !fixed.has(number));
    const missed = places.filter(([number]) => mutationSwitches.reached[number] === 0).map(([, { before }]) => before);
    expect(missed).toEqual(missed.filter((line) => line.startsWith("case 0: return 'zero'")));
  });

  it('has no switch for what stands in no function: tables, and values of parameters', () => {
    expect([...fixed].map((number) => mutants.get(number)?.before)).toEqual([
      'const table = { one: 1 };',
      'count(list, most = 3) {',
    ]);
  });
});
