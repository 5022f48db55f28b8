import { type Client, type ClientId, clients, type Feature, features, versionsOf } from './clients.ts';

/** What a run showed of a client and a feature: no entry where it has no test. */
export type Outcomes = Partial<Record<`${ClientId} ${Feature}`, 'passed' | 'failed'>>;

/** What is read of vitest's JSON report. */
export interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string;
      readonly meta: { readonly client?: ClientId; readonly feature?: Feature };
    }[];
  }[];
}

/** Reads a run: a feature works where every test of it passed. */
export function outcomesOf(report: Report): Outcomes {
  const outcomes: Outcomes = {};
  for (const { status, meta } of report.testResults.flatMap(({ assertionResults }) => assertionResults)) {
    if (meta.client === undefined || meta.feature === undefined) continue;
    const cell = `${meta.client} ${meta.feature}` as const;
    outcomes[cell] = status === 'passed' && outcomes[cell] !== 'failed' ? 'passed' : 'failed';
  }
  return outcomes;
}

const marks = { passed: '✓', failed: '✗' };

/** Columns that fit GitHub's page. */
const widest = 5;

/**
 * The tables of docs/clients.md: a row for each feature, a column for each client with the versions that are pinned. Below each
 * stands what works with all of its clients.
 */
export function tableOf(outcomes: Outcomes): string {
  const ids = Object.keys(clients) as ClientId[];
  const groups = Array.from({ length: Math.ceil(ids.length / widest) }, (_, group) =>
    ids.slice(group * widest, (group + 1) * widest),
  );
  return groups.map((group) => tableOfGroup(group, outcomes)).join('\n\n');
}

/** Without the features that were tested with none of these clients. */
function tableOfGroup(ids: readonly ClientId[], outcomes: Outcomes): string {
  const tested = (Object.keys(features) as Feature[]).filter((feature) =>
    ids.some((id) => outcomes[`${id} ${feature}`] !== undefined),
  );
  const isOfAll = (feature: Feature) => ids.every((id) => outcomes[`${id} ${feature}`] === 'passed');
  const rows = tested
    .filter((feature) => !isOfAll(feature))
    .map((feature) => {
      const cells = ids.map((id) => {
        const outcome = outcomes[`${id} ${feature}`];
        return outcome === undefined ? '–' : marks[outcome];
      });
      return [features[feature], ...cells];
    });
  const titles = ids.map((id) => titleOf(clients[id]));
  const table = [['', ...titles], ['---', ...ids.map(() => ':-:')], ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  const ofAll = tested.filter(isOfAll).map((feature) => features[feature]);
  return `${table.join('\n')}\n\n${ofAllBegin}${ofAll.join('; ')}.`;
}

/** How the list of what works with all clients of a table begins. */
export const ofAllBegin = '✓ with all of these: ';

function titleOf(client: Client): string {
  return `${client.name}<br>${versionsOf(client).join(' + ')}`;
}

const begin = '<!-- Written by `npm run test:clients -- --update` -->\n\n';
const end = '\n\n<!-- End of the table -->';

/** The tables as a page has them. Throws when the page has no place for one. */
export function tableIn(page: string): string {
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`The page has no ${begin.trim()} … ${end.trim()}`);
  return page.slice(from + begin.length, to);
}

/** The page with other tables in the same place. */
export function withTable(page: string, table: string): string {
  return page.replace(`${begin}${tableIn(page)}${end}`, () => `${begin}${table}${end}`);
}
