import { parseArgs } from 'node:util';
import { fewestPairs } from './verdict.ts';

/** Loads that are sent through an Envoy. */
export const scenarioNames = ['paced', 'burst', 'json', 'history', 'agent'] as const;
export type ScenarioName = (typeof scenarioNames)[number];

/**
 * `envoy` translates nothing and has no filter beside it, `noop-go` and `noop` send every body back as it came, on grpc-go and on
 * grpc-js; `service` is this project, built.
 */
export const contenderNames = ['envoy', 'noop-go', 'noop', 'service'] as const;
export type ContenderName = (typeof contenderNames)[number];

/** Parts of a comparison; `envoy` means all scenarios. */
export const comparedParts = ['micro', 'exchange', 'start', 'idle', 'young', ...scenarioNames] as const;
export type ComparedPartName = (typeof comparedParts)[number];

export type BenchArguments =
  | {
      readonly type: 'run';
      readonly rounds: number;
      /** The table goes into `bench/results.json`, from which the documentation has its figures. */
      readonly record: boolean;
    }
  | {
      readonly type: 'compare';
      /** Anything that git accepts as a commit. */
      readonly ref: string;
      readonly only: ReadonlySet<ComparedPartName>;
      readonly rounds: number;
    };

const defaultRounds = { run: 5, compare: 9 } as const;

/** What the command line asks for. Throws an Error that names the option and what it may be. */
export function parseBenchArguments(args: readonly string[]): BenchArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      compare: { type: 'string' },
      record: { type: 'boolean' },
    },
  });
  if (values.compare === undefined) {
    if (values.only !== undefined) throw new Error('--only is for a comparison: add --compare COMMIT.');
    return {
      type: 'run',
      rounds: roundsOf(values.rounds, defaultRounds.run, 1),
      record: values.record ?? false,
    };
  }
  if (values.record) throw new Error('--record is for figures of this tree: leave out --compare.');
  // git would take it for one of its options.
  if (values.compare === '' || values.compare.startsWith('-'))
    throw new Error('--compare needs a commit, tag or branch.');
  const only = (values.only?.split(',') ?? comparedParts).flatMap((name): readonly ComparedPartName[] =>
    name === 'envoy' ? scenarioNames : [oneOf(comparedParts, name, ', envoy')],
  );
  return {
    type: 'compare',
    ref: values.compare,
    only: new Set(only),
    rounds: roundsOf(values.rounds, defaultRounds.compare, fewestPairs),
  };
}

function oneOf<Name extends string>(names: readonly Name[], given: string, more = ''): Name {
  const name = names.find((candidate) => candidate === given);
  if (name === undefined) throw new Error(`--only: there is no part "${given}"; there are ${names.join(', ')}${more}.`);
  return name;
}

function roundsOf(given: string | undefined, otherwise: number, least: number): number {
  if (given === undefined) return otherwise;
  const rounds = Number(given);
  if (!Number.isInteger(rounds) || rounds < least)
    throw new Error(`--rounds: "${given}" is not a whole number of at least ${least}.`);
  return rounds;
}
