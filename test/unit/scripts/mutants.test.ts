import { parseSync } from 'oxc-parser';
import { expect, it } from 'vitest';
import { mutantsOf } from '../../../scripts/mutation/mutants.ts';

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
