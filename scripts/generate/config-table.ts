/** The tables of variables in README.md and docs/settings.md. */
import { type Setting, type SettingTable, settingsIn } from '../../src/service/settings/setting.ts';
import { settings } from '../../src/service/settings/settings-table.ts';
import { documentsWith, type Generator, markdownTable } from './generator.ts';

/** The variables on the first page: what most people set. All of them are in docs/settings.md. */
export const readmeVariables = [
  'LISTEN',
  'ADMIN_LISTEN',
  'UPSTREAM_PROFILE',
  'UPSTREAM_PROFILES_FILE',
  'WORKERS',
  'LOG_LEVEL',
] as const;

/** What a group of settings applies to, as the documentation's heading. */
const headings: Readonly<Record<keyof typeof settings, string>> = {
  process: 'The process',
  upstream: 'The upstream',
  exchange: 'Each exchange',
  translation: 'The translation',
  webSocket: 'WebSockets',
};

/** Who sets a variable. One that nobody needs is removed. */
const needs: readonly (readonly [who: string, variables: string])[] = [
  ['every installation', 'LISTEN ADMIN_LISTEN LOG_LEVEL UPSTREAM_PROFILE'],
  ['a profile or a path of your own', 'UPSTREAM_PROFILES_FILE UPSTREAM_PATH'],
  ['more than one core on a host', 'WORKERS'],
  ['other sizes than the chart’s', 'MAX_EXCHANGES MAX_BUFFERED_BYTES WEBSOCKET_MAX_CONNECTIONS'],
  ['other health checks, longer streams', 'DRAIN_DELAY_MS DRAIN_TIMEOUT_MS'],
  ['a proxy on another host', 'TLS_CERT_FILE TLS_KEY_FILE TLS_CLIENT_CA_FILE'],
  ['the inspector', 'INSPECT INSPECT_SEND_TO ADMIN_HOSTS'],
  ['gateways of many models', 'METRICS_MAX_MODELS DEFAULT_MODEL'],
  [
    'traces',
    'OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_ENDPOINT OTEL_TRACES_SAMPLER_ARG OTEL_BSP_SCHEDULE_DELAY OTEL_SERVICE_NAME',
  ],
  ['several upstreams with a prefix cache each', 'SESSION_HEADER SESSION_HASH_KEY_FILE'],
  ['proxies that send no `protocol_config`', 'REQUEST_BODY_MODE RESPONSE_BODY_MODE'],
  [
    'larger or smaller prompts, files, answers or tool lists',
    'MAX_REQUEST_BYTES MAX_RESPONSE_BYTES MAX_ERROR_BYTES MAX_SSE_EVENT_BYTES MAX_REQUEST_VALUES MAX_INPUT_ITEMS MAX_TEXT_BYTES MAX_IMAGE_URL_BYTES MAX_FILE_BYTES MAX_TOOLS MAX_NESTING',
  ],
  ['slow models, load balancers that close idle connections', 'UPSTREAM_IDLE_TIMEOUT_MS HEARTBEAT_INTERVAL_MS'],
  ['clients that expect a state, or none', 'OMITTED_STORE CONTEXT_MANAGEMENT'],
  ['clients that read one kind of reasoning events', 'REASONING_EVENTS'],
  ['agents that stop without a word', 'REASONING_ALONE'],
  ['clients that check the published schema', 'STRICT_ECHO'],
  [
    'refusals in place of parts left out, or the reverse',
    'DROPPED_TOOLS UNSUPPORTED_ITEMS UNKNOWN_ITEMS UNKNOWN_FIELDS LATEST_IMAGES',
  ],
  ['agents that cut their history', 'ORPHAN_OUTPUTS MISSING_OUTPUTS'],
  ['agents that compact conversations', 'COMPACTION_PROMPT_FILE COMPACTION_MAX_TOKENS MODEL_CONTEXT_WINDOW'],
  ['Codex', 'MODEL_CATALOG_FILE CATALOG_INSTRUCTIONS_FILE'],
  ['clients on WebSockets', 'WEBSOCKET_LISTEN WEBSOCKET_FORWARD_TO WEBSOCKET_MAX_LANES WEBSOCKET_LIFETIME_MS'],
  ['pages in browsers', 'WEBSOCKET_ORIGINS'],
];

const neededBy = needOfEach(needs);

/** Who sets each variable. Throws for one that is listed twice. */
export function needOfEach(list: typeof needs): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [who, variables] of list)
    for (const name of variables.split(' ')) {
      if (found.has(name)) throw new Error(`scripts/generate/config-table.ts: ${name} is listed for two needs.`);
      found.set(name, who);
    }
  return found;
}

/** All variables, a table for each group. Throws for a variable without a need, and for a need without a variable. */
function allTables(): string {
  const groups = Object.entries(settings) as [keyof typeof settings, SettingTable][];
  settingsNamed([...neededBy.keys()]);
  const unneeded = settingsIn(settings).filter(({ variable }) => !neededBy.has(variable));
  if (unneeded.length > 0) {
    const names = unneeded.map(({ variable }) => variable).join(', ');
    throw new Error(
      `scripts/generate/config-table.ts: nobody in \`needs\` needs ${names}. Say who does, or remove it.`,
    );
  }
  const tables = groups.map(([group, table]) => `## ${headings[group]}\n\n${tableOf(settingsIn(table))}`);
  const list = needs.map(([who, variables]) => `- ${who}: \`${variables.replaceAll(' ', '`, `')}\``);
  return [...tables, `## Who needs which\n\n${list.join('\n')}`].join('\n\n');
}

/** The variables with these names, in that order. Throws when there is no such variable. */
export function settingsNamed(names: readonly string[]): readonly Setting[] {
  return names.map((name) => {
    const found = settingsIn(settings).find(({ variable }) => variable === name);
    if (found === undefined) throw new Error(`There is no variable ${name}.`);
    return found;
  });
}

function inShort(one: Setting): Setting {
  return { ...one, meaning: `${one.meaning.split(/[.;] | \(/)[0]?.replace(/\.$/, '')}.` };
}

function tableOf(shown: readonly Setting[]): string {
  const rows = shown.map(({ variable, form, fallback, meaning }) => {
    const value = fallback === '' ? '' : `\`${fallback}\``;
    const about = form.values === null ? meaning : `${meaning} ${form.values}`;
    return [`\`${variable}\``, value, about.replaceAll('|', '\\|')];
  });
  return markdownTable(['variable', 'default', 'meaning'], rows);
}

export const configTables: Generator = {
  name: 'tables of variables',
  source: 'src/service/settings',
  files: () =>
    documentsWith({
      // What it is, without how it behaves.
      'README.md': { variables: tableOf(settingsNamed(readmeVariables).map(inShort)) },
      'docs/settings.md': { variables: allTables() },
    }),
};
