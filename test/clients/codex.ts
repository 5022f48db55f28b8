import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readmeBlock } from '../../scripts/tests/readme-commands.ts';
import { offline } from './driver.ts';
import { clientsFolder } from './install.ts';

/** An event of `codex exec --json`. */
export interface CodexEvent {
  readonly type: string;
  readonly item?: Readonly<Record<string, unknown>> & { readonly type: string };
  readonly [field: string]: unknown;
}

/** How a run of `codex exec` went. */
export interface CodexRun {
  readonly code: number | null;
  readonly events: readonly CodexEvent[];
  /** Items that were completed, of one type. */
  items(type: string): readonly Readonly<Record<string, unknown>>[];
  /** The text of its last message, which is the answer. */
  readonly answer: unknown;
  readonly stderr: string;
}

export interface ExecOptions {
  /** Go on with the last session. */
  readonly resume?: boolean;
  /** A JSON schema that the answer is to follow. */
  readonly schema?: unknown;
}

/** Codex with a home and a project folder of its own: sessions, settings and files are found by nobody else. */
export interface Codex {
  readonly project: string;
  /** `codex exec PROMPT`; resolves when it has ended, however it did. */
  exec(prompt: string, options?: ExecOptions): Promise<CodexRun>;
  /** Types the second text into the turn that the first began, once `isRunning`; resolves with the last message of the turn. */
  steer(first: string, isRunning: Promise<unknown>, second: string): Promise<string>;
  file(name: string): string;
  remove(): void;
}

/** How Codex is told where the gateway is: as a provider of its own, by the lines of a page, or in place of OpenAI's address. */
export type Provider = 'custom' | { readonly page: string } | 'openai_base_url';

export interface CodexOptions {
  readonly url: string;
  readonly model: string;
  /** Its `OPENAI_API_KEY`. */
  readonly key?: string;
  readonly provider?: Provider;
  /** Lines of config.toml: at its top level, and of the provider's table. */
  readonly settings?: readonly string[];
  readonly providerSettings?: readonly string[];
}

/** Prepares a home for it; nothing runs until `exec`. */
export function createCodex(options: CodexOptions): Codex {
  // Codex puts its own `apply_patch` on the shell's PATH, but not from a home inside the system's temporary folder.
  const runs = join(clientsFolder, 'runs');
  mkdirSync(runs, { recursive: true });
  const home = mkdtempSync(join(runs, 'codex-'));
  const project = mkdtempSync(join(tmpdir(), 'codex-project-'));
  writeFileSync(join(home, 'config.toml'), configOf(options));
  const place = { home, project, key: options.key ?? 'sk-of-the-client' };
  return {
    project,
    exec(prompt, { resume = false, schema } = {}) {
      const schemaFile = join(home, 'schema.json');
      if (schema !== undefined) writeFileSync(schemaFile, JSON.stringify(schema));
      const args = [
        ...(resume ? ['resume', '--last'] : []),
        ...['--json', '--skip-git-repo-check'],
        ...(schema === undefined ? [] : ['--output-schema', schemaFile]),
        prompt,
      ];
      return run(args, place);
    },
    steer: (...turn) => steer(turn, place),
    file: (name) => readFileSync(join(project, name), 'utf8'),
    remove() {
      for (const folder of [home, project]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function configOf({ url, model, provider = 'custom', settings = [], providerSettings = [] }: CodexOptions): string {
  const custom = provider === 'custom';
  return [
    'approval_policy = "never"',
    'sandbox_mode = "danger-full-access"', // a container often allows no other, and the commands are ours
    'check_for_update_on_startup = false',
    ...(typeof provider === 'object'
      ? [linesOf(provider.page, url, model)]
      : [`model = ${JSON.stringify(model)}`, custom ? 'model_provider = "envoy"' : `openai_base_url = "${url}/v1"`]),
    ...settings,
    ...(custom
      ? [
          '[model_providers.envoy]',
          'name = "Envoy"',
          `base_url = "${url}/v1"`,
          'wire_api = "responses"',
          'env_key = "OPENAI_API_KEY"',
          ...providerSettings,
        ]
      : []),
    '[analytics]',
    'enabled = false',
    '[feedback]',
    'enabled = false',
    '',
  ].join('\n');
}

/** The lines that a page gives for config.toml, with another address and model. */
function linesOf(page: string, url: string, model: string): string {
  const lines = readmeBlock(readFileSync(join(import.meta.dirname, '../..', page), 'utf8'), 'toml');
  return lines.replaceAll('http://127.0.0.1:10000', url).replace('"your-model"', JSON.stringify(model));
}

/** Where a Codex runs, and with which key. */
interface Place {
  readonly home: string;
  readonly project: string;
  readonly key: string;
}

function start(args: readonly string[], { home, project, key }: Place) {
  return spawn(process.execPath, [join(clientsFolder, 'node_modules/@openai/codex/bin/codex.js'), ...args], {
    cwd: project,
    env: { PATH: process.env['PATH'], HOME: home, CODEX_HOME: home, OPENAI_API_KEY: key, ...offline },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** What its app server says: the result of a request, or something that happened. */
interface Said {
  readonly id?: number;
  readonly error?: unknown;
  readonly method?: string;
  readonly result?: { readonly thread?: { readonly id: string }; readonly turn?: { readonly id: string } };
  readonly params?: { readonly item?: { readonly type: string; readonly text?: string }; readonly turn?: unknown };
}

/** As an editor does it: in JSON lines with `codex app-server`. */
async function steer([first, isRunning, second]: Parameters<Codex['steer']>, place: Place): Promise<string> {
  const child = start(['app-server'], place);
  const said: Said[] = [];
  let wake = () => {};
  let rest = '';
  child.stdout.on('data', (text) => {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    said.push(...lines.map((line) => JSON.parse(line) as Said));
    wake();
  });
  const ended = once(child, 'close').then(() => {
    throw new Error(`Codex ended after ${JSON.stringify(said.slice(-3))}`);
  });
  const until = async (wanted: (one: Said) => boolean): Promise<Said> => {
    for (;;) {
      const found = said.find(wanted);
      if (found !== undefined) return found;
      const more = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([more, ended]);
    }
  };
  let lastId = 0;
  const ask = async (method: string, params: object) => {
    const id = ++lastId;
    child.stdin.write(`${JSON.stringify({ id, method, params })}\n`);
    const { result, error } = await until((one) => one.id === id && one.method === undefined);
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  };
  const input = (text: string) => [{ type: 'text', text, text_elements: [] }];
  try {
    await ask('initialize', { clientInfo: { name: 'test', version: '1' } });
    child.stdin.write(`${JSON.stringify({ method: 'initialized' })}\n`);
    const { thread } = await ask('thread/start', { cwd: place.project });
    const { turn } = await ask('turn/start', { threadId: thread?.id, input: input(first) });
    await Promise.race([isRunning, ended]);
    await ask('turn/steer', { threadId: thread?.id, expectedTurnId: turn?.id, input: input(second) });
    await until(({ method }) => method === 'turn/completed');
    const messages = said.filter(
      ({ method, params }) => method === 'item/completed' && params?.item?.type === 'agentMessage',
    );
    return messages.at(-1)?.params?.item?.text ?? '';
  } finally {
    ended.catch(() => {});
    child.kill();
  }
}

function run(args: readonly string[], place: Place): Promise<CodexRun> {
  const child = start(['exec', ...args], place);
  child.stdin.end();
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      const events = stdout
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as CodexEvent);
      const items = (type: string) =>
        events.flatMap((event) => (event.type === 'item.completed' && event.item?.type === type ? [event.item] : []));
      resolve({ code, events, items, answer: items('agent_message').at(-1)?.['text'], stderr });
    });
  });
}
