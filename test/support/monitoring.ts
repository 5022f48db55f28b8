import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Where the dashboard and the alerts are. */
export const monitoringFolder = join(import.meta.dirname, '../../docs/monitoring');

export interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}
export interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

export const dashboard = JSON.parse(readFileSync(join(monitoringFolder, 'dashboard.json'), 'utf8')) as Dashboard;
const alerts = parse(readFileSync(join(monitoringFolder, 'alerts.yaml'), 'utf8')) as Rules;
/** Every alert. */
export const rules = alerts.groups.flatMap((group) => group.rules);
/** Every expression of both, with the name of the panel or alert. */
export const expressions = expressionsOf(dashboard, alerts);

/** Every expression of a dashboard and of rules, with the name of the panel or alert. */
export function expressionsOf(
  { panels }: Dashboard,
  { groups }: Rules,
): readonly (readonly [name: string, expression: string])[] {
  return [
    ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
    ...groups.flatMap((group) => group.rules.map(({ alert, expr }) => [alert, expr] as const)),
  ];
}
