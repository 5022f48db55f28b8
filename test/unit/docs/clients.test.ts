import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { type ClientId, clients, type Feature, features } from '../../clients/clients.ts';
import { type Outcomes, tableIn, tableOf } from '../../clients/table.ts';

const table = tableIn(readFileSync(new URL('../../../docs/clients.md', import.meta.url), 'utf8'));

it('has the clients in the versions that are pinned, and every feature that is tested', () => {
  const [, , ...rows] = table.split('\n').map((row) => row.split(' | '));
  const outcomes: Outcomes = {};
  (Object.keys(features) as Feature[]).forEach((feature, row) => {
    (Object.keys(clients) as ClientId[]).forEach((client, column) => {
      if (rows[row]?.[column + 1]?.startsWith('✓')) outcomes[`${client} ${feature}`] = 'passed';
    });
  });
  // The same ticks in a table of today's clients, versions and features are the same page.
  expect(table).toBe(tableOf(outcomes));
});

it('has a tick for each client', () => {
  const [, , ...rows] = table.split('\n').map((row) => row.split(' | '));
  for (const [column, { name }] of Object.values(clients).entries())
    expect(rows.filter((cells) => cells[column + 1]?.startsWith('✓')).length, name).toBeGreaterThan(0);
});
