import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Where the dashboard and the alerts are. */
export const monitoringFolder = join(import.meta.dirname, '../../docs/monitoring');

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}
interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

export const dashboard = JSON.parse(readFileSync(join(monitoringFolder, 'dashboard.json'), 'utf8')) as Dashboard;
const { groups } = parse(readFileSync(join(monitoringFolder, 'alerts.yaml'), 'utf8')) as Rules;
/** Every alert. */
export const rules = groups.flatMap((group) => group.rules);
/** Every expression of both, with the name of the panel or alert. */
export const expressions: readonly (readonly [name: string, expression: string])[] = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
];
