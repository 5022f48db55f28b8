import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  type ClientId,
  clients,
  type Ending,
  type Fault,
  type Feature,
  faultedClients,
  faults,
  features,
} from '../../clients/clients.ts';
import {
  type Endings,
  eitherMark,
  endingMarks,
  faultTableOf,
  type Outcomes,
  ofAllBegin,
  tableIn,
  tableOf,
} from '../../clients/table.ts';

const page = readFileSync(new URL('../../../docs/clients.md', import.meta.url), 'utf8');
const text = tableIn(page, 'Features');
const ids = Object.keys(clients) as ClientId[];

/** What the tables say, each of them of the next clients. */
function outcomesShown(): Outcomes {
  const outcomes: Outcomes = {};
  let column = 0;
  const featureOf = (title: string) => (Object.keys(features) as Feature[]).find((one) => features[one] === title);
  const blocks = text.split('\n\n');
  for (const [index, table] of blocks.entries()) {
    if (!table.startsWith('|')) continue;
    const [header = [], , ...rows] = table.split('\n').map((row) => row.split(' | '));
    const those = ids.slice(column, column + header.length - 1);
    const ofAll = blocks[index + 1]?.slice(ofAllBegin.length, -1).split('; ') ?? [];
    const shown = [...rows, ...ofAll.map((title) => [`| ${title}`, ...those.map(() => '✓')])];
    for (const [title = '', ...cells] of shown)
      those.forEach((id, place) => {
        if (cells[place]?.startsWith('✓')) outcomes[`${id} ${featureOf(title.slice(2))}` as keyof Outcomes] = 'passed';
      });
    column += those.length;
  }
  return outcomes;
}

it('has the clients in the versions that are pinned, and every feature that is tested', () => {
  // The same ticks in tables of today's clients, versions and features are the same page.
  expect(text).toBe(tableOf(outcomesShown()));
  const outcomes = Object.keys(outcomesShown());
  for (const feature of Object.keys(features)) expect(outcomes.some((cell) => cell.endsWith(` ${feature}`))).toBe(true);
});

it('has a tick for each client', () => {
  const outcomes = Object.keys(outcomesShown());
  for (const id of ids)
    expect(
      outcomes.some((cell) => cell.startsWith(`${id} `)),
      id,
    ).toBe(true);
});

it('says how a session of each client ended after each fault', () => {
  const shown = tableIn(page, 'Faults');
  const cells = shown.split('\n').map((row) => row.slice(2, -2).split(' | '));
  const endings: Endings = {};
  for (const [row, fault] of (Object.keys(faults) as Fault[]).entries())
    for (const [column, client] of faultedClients.entries()) {
      const cell = cells[row + 2]?.[column + 1];
      const ending =
        cell === eitherMark ? 'whole' : (['whole', 'error'] as Ending[]).find((one) => endingMarks[one] === cell);
      expect(ending, `${client} ${fault}`).toBeDefined();
      if (ending !== undefined) endings[`${client} ${fault}`] = ending;
    }
  expect(shown).toBe(faultTableOf(endings));
});

it('Codex is told to wait half an hour for the first event, in milliseconds', () => {
  const pages = ['clients.md', 'guides/codex-for-a-team.md'];
  for (const name of pages) {
    const page = readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
    expect(/stream_idle_timeout_ms = (\d+)/.exec(page)?.[1], name).toBe(String(30 * 60 * 1000));
  }
});
