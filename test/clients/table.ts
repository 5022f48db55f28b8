import {
  type Client,
  type ClientId,
  clients,
  type Ending,
  type Fault,
  type Feature,
  faultedClients,
  faults,
  features,
  versionsOf,
} from './clients.ts';

/** What a run showed of a client and a feature: no entry where it has no test. */
export type Outcomes = Partial<Record<`${ClientId} ${Feature}`, 'passed' | 'failed'>>;

/** How each session that met a fault ended, `failed` where it was not the right end. */
export type Endings = Partial<Record<`${ClientId} ${Fault}`, Ending | 'failed'>>;

/** What is read of vitest's JSON report. */
export interface Report {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly status: string;
      readonly meta: {
        readonly client?: ClientId;
        readonly feature?: Feature;
        readonly fault?: Fault;
        readonly ending?: Ending;
      };
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

/** Reads a run's sessions with faults. */
export function endingsOf(report: Report): Endings {
  const endings: Endings = {};
  for (const { status, meta } of report.testResults.flatMap(({ assertionResults }) => assertionResults))
    if (meta.client !== undefined && meta.fault !== undefined)
      endings[`${meta.client} ${meta.fault}`] =
        status === 'passed' && meta.ending !== undefined ? meta.ending : 'failed';
  return endings;
}

const marks = { passed: '✓', failed: '✗' };
export const endingMarks = { whole: '✓', error: 'error', failed: '✗' } as const;

/** Both ends are right where a connection is lost: whether the client has read the beginning by then is a matter of milliseconds. */
const byMoment: readonly Fault[] = ['cut', 'service', 'envoy'];
export const eitherMark = '✓ or error';

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
  const table = markdownOf(ids, rows);
  const ofAll = tested.filter(isOfAll).map((feature) => features[feature]);
  return `${table}\n\n${ofAllBegin}${ofAll.join('; ')}.`;
}

/** The table of docs/clients.md that has a row for each fault. */
export function faultTableOf(endings: Endings): string {
  const rows = (Object.keys(faults) as Fault[]).map((fault) => {
    const cells = faultedClients.map((id) => {
      const ending = endings[`${id} ${fault}`];
      if (ending === undefined) return '–';
      return ending !== 'failed' && byMoment.includes(fault) ? eitherMark : endingMarks[ending];
    });
    return [faults[fault], ...cells];
  });
  return markdownOf(faultedClients, rows);
}

/** A column for each client, below its name and versions. */
function markdownOf(ids: readonly ClientId[], rows: readonly (readonly string[])[]): string {
  const titles = ids.map((id) => titleOf(clients[id]));
  const lines = [['', ...titles], ['---', ...ids.map(() => ':-:')], ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** How the list of what works with all clients of a table begins. */
export const ofAllBegin = '✓ with all of these: ';

function titleOf(client: Client): string {
  return `${client.name}<br>${versionsOf(client).join(' + ')}`;
}

/** The tables that a run writes, by the word that marks their place on the page. */
export type TableName = 'Features' | 'Faults';

/** What a run showed, as the page is to have it. */
export function tablesOf(report: Report): Readonly<Record<TableName, string>> {
  return { Features: tableOf(outcomesOf(report)), Faults: faultTableOf(endingsOf(report)) };
}

const beginOf = (name: TableName) => `<!-- ${name}, written by \`npm test -- clients --update\` -->\n\n`;
const endOf = (name: TableName) => `\n\n<!-- End of ${name} -->`;

/** Such a table as a page has it. Throws when the page has no place for it. */
export function tableIn(page: string, name: TableName): string {
  const [begin, end] = [beginOf(name), endOf(name)];
  const from = page.indexOf(begin);
  const to = page.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`The page has no ${begin.trim()} … ${end.trim()}`);
  return page.slice(from + begin.length, to);
}

/** The page with another table in the same place. */
export function withTable(page: string, name: TableName, table: string): string {
  const [begin, end] = [beginOf(name), endOf(name)];
  return page.replace(`${begin}${tableIn(page, name)}${end}`, () => `${begin}${table}${end}`);
}
