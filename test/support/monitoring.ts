import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** Where the dashboard and the alerts are. */
export const monitoringFolder = join(import.meta.dirname, '../../docs/monitoring');

export interface Dashboard {
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly query?: string }[];
  };
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}
export interface Rules {
  readonly groups: readonly {
    readonly rules: readonly {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: { readonly summary?: string; readonly runbook_url?: string };
    }[];
  }[];
}

export const dashboard = JSON.parse(readFileSync(join(monitoringFolder, 'dashboard.json'), 'utf8')) as Dashboard;
const alerts = parse(readFileSync(join(monitoringFolder, 'alerts.yaml'), 'utf8')) as Rules;
/** Every alert. */
export const rules = alerts.groups.flatMap((group) => group.rules);
/** Every expression of both, with the name of the panel or alert. */
export const expressions = expressionsOf(dashboard, alerts);

/** Every expression of a dashboard, its text variables at their defaults, and of rules, with the name of the panel or alert. */
export function expressionsOf(
  { panels, templating }: Dashboard,
  { groups }: Rules,
): readonly (readonly [name: string, expression: string])[] {
  const filled = (expr: string) =>
    templating.list
      .filter(({ type }) => type === 'textbox')
      .reduce((text, { name, query = '' }) => text.replaceAll(`$${name}`, query), expr);
  return [
    ...panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, filled(expr)] as const)),
    ...groups.flatMap((group) => group.rules.map(({ alert, expr }) => [alert, expr] as const)),
  ];
}
