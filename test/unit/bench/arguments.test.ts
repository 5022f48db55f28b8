import { describe, expect, it } from 'vitest';
import { comparedParts, parseBenchArguments } from '../../../bench/arguments.ts';

describe('the command line of npm run bench', () => {
  it('measures every cost in five rounds unless told otherwise', () => {
    expect(parseBenchArguments([])).toEqual({ type: 'run', rounds: 5, record: false });
    const given = parseBenchArguments(['--rounds', '2', '--record']);
    expect(given).toEqual({ type: 'run', rounds: 2, record: true });
  });

  it('compares every part nine times unless told otherwise', () => {
    const compared = { type: 'compare', ref: 'main~3', only: new Set(comparedParts), rounds: 9 };
    expect(parseBenchArguments(['--compare', 'main~3'])).toEqual(compared);
    const given = parseBenchArguments(['--compare', 'v1', '--only', 'exchange,start', '--rounds', '6']);
    expect(given).toEqual({ type: 'compare', ref: 'v1', only: new Set(['exchange', 'start']), rounds: 6 });
  });

  it('takes `envoy` for the comparisons that run one', () => {
    const given = parseBenchArguments(['--compare', 'v1', '--only', 'envoy']);
    expect(given).toMatchObject({ only: new Set(['paced', 'burst', 'json', 'history', 'agent']) });
  });

  it.each([
    [['--only', 'start'], '--only is for a comparison'],
    [['--compare', 'v1', '--only', 'start,macro'], 'no part "macro"; there are micro, exchange'],
    [['--compare', 'v1', '--only', 'soak'], 'no part "soak"; there are micro, exchange'],
    [['--rounds', '0'], '--rounds: "0" is not a whole number of at least 1'],
    [['--rounds', 'many'], '--rounds: "many"'],
    [['--compare', 'v1', '--rounds', '5'], '--rounds: "5" is not a whole number of at least 6'],
    [['--compare='], '--compare needs a commit'],
    [['--compare=--force'], '--compare needs a commit'],
    [['--compere', 'v1'], '--compere'],
    [['--compare', 'v1', '--record'], '--record'],
  ])('refuses %j by name', (args, message) => {
    expect(() => parseBenchArguments(args)).toThrow(message);
  });
});
