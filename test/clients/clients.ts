import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';

/** What a client is asked to do here: a row of the table in docs/clients.md, in its order. */
export const features = {
  text: 'A request',
  stream: 'A request, streamed',
  tools: 'Two parallel tool calls',
  'tools-stream': 'Two parallel tool calls, streamed',
  structured: 'Structured output',
  reasoning: 'Reasoning shown, and back at the server in the next request',
  'rate-limit': 'A 429, then an answer',
  error: 'The server’s own error message reaches the program',
  cut: 'A stream that breaks off: another try or an error',
  shell: 'Commands in a shell',
  'apply-patch': 'A patch to a file',
  mcp: 'A tool of an MCP server',
  'tool-search': 'Tools that are loaded when they are needed',
  websocket: 'Turns over a WebSocket, the results of tools as a continuation',
  'code-mode': 'Code mode: a program over the tools',
  'local-compaction': 'Compaction by the client, and a fact known after it',
  compaction: 'Compaction by the server, and a fact known after it',
  catalog: 'A catalog of models',
  'text-only': 'A screenshot in the history of a model that takes no images',
  'sub-agents': 'Sub-agents that report back',
  sandbox: 'A sandbox agent with its defaults',
  'local-shell': 'The older tool `local_shell`',
  remark: 'Structured output with a remark before a tool call',
  history: 'A conversation that began with hosted tools',
  'input-tokens': 'Tokens counted before a request',
  effort: 'A change of effort within a conversation',
} as const;
export type Feature = keyof typeof features;

/** What the table says of a client, and how it is run. */
export interface Client {
  readonly name: string;
  /** The packages that make it up, in the first of the files that lists them. */
  readonly packages: readonly string[];
  readonly lock: 'package-lock.json' | 'requirements.txt';
  /** The program in drivers/ that speaks for a library; Codex is run as it is. */
  readonly driver?: string;
}

export const clients = {
  codex: { name: 'Codex CLI', packages: ['@openai/codex'], lock: 'package-lock.json' },
  openai: { name: 'openai (Node)', packages: ['openai'], lock: 'package-lock.json', driver: 'openai' },
  'openai-python': { name: 'openai (Python)', packages: ['openai'], lock: 'requirements.txt', driver: 'openai_python' },
  agents: { name: '@openai/agents', packages: ['@openai/agents'], lock: 'package-lock.json', driver: 'agents' },
  'agents-python': {
    name: 'openai-agents (Python)',
    packages: ['openai-agents'],
    lock: 'requirements.txt',
    driver: 'agents_python',
  },
  'ai-sdk-openai': {
    name: 'AI SDK, @ai-sdk/openai',
    packages: ['ai', '@ai-sdk/openai'],
    lock: 'package-lock.json',
    driver: 'ai-sdk-openai',
  },
  'ai-sdk-open-responses': {
    name: 'AI SDK, @ai-sdk/open-responses',
    packages: ['ai', '@ai-sdk/open-responses'],
    lock: 'package-lock.json',
    driver: 'ai-sdk-open-responses',
  },
  langchain: {
    name: '@langchain/openai',
    packages: ['@langchain/openai'],
    lock: 'package-lock.json',
    driver: 'langchain',
  },
  'langchain-python': {
    name: 'langchain-openai (Python)',
    packages: ['langchain-openai'],
    lock: 'requirements.txt',
    driver: 'langchain_python',
  },
  'pydantic-ai': {
    name: 'pydantic-ai (Python)',
    packages: ['pydantic-ai-slim'],
    lock: 'requirements.txt',
    driver: 'pydantic_ai_python',
  },
} as const satisfies Record<string, Client>;
export type ClientId = keyof typeof clients;

/** What goes wrong once, in the middle of a session: a row of the second table in docs/clients.md, in its order. */
export const faults = {
  cut: 'The stream breaks off in a call',
  'torn-line': 'The stream loses a piece of a call',
  stall: 'The stream stalls in a call (`UPSTREAM_IDLE_TIMEOUT_MS`)',
  'said-twice': 'The server sends a call twice',
  'retry-after': 'A 429 with `retry-after`',
  'no-retry-after': 'A 429 without `retry-after`',
  'full-context': 'The context is full',
  service: 'The service is killed in a call, and started again',
  envoy: 'Envoy is killed in a call, with another one beside it',
} as const;
export type Fault = keyof typeof faults;

/** The clients that run tools by themselves, in a loop. */
export const faultedClients = ['codex', 'agents', 'agents-python', 'ai-sdk-openai', 'ai-sdk-open-responses'] as const;

/** How a session that met a fault ended: with the work done and the answer, or with an error that its user sees. */
export type Ending = 'whole' | 'error';

declare module 'vitest' {
  interface TaskMeta {
    /** Which cell of the tables in docs/clients.md the test speaks for. */
    client?: ClientId;
    feature?: Feature;
    fault?: Fault;
    ending?: Ending;
  }
}

/** A test whose outcome is a cell of the table. */
export function clientTest(client: ClientId, feature: Feature, sentence: string, body: () => Promise<void>): void {
  test(sentence, async ({ task }) => {
    Object.assign(task.meta, { client, feature });
    await body();
  });
}

/** The version of each of its packages that is installed, as the lock file pins it. */
export function versionsOf({ packages, lock }: Client): string[] {
  const text = readFileSync(join(import.meta.dirname, lock), 'utf8');
  return packages.map((name) => {
    const version =
      lock === 'requirements.txt'
        ? text.match(new RegExp(`^${name}==(.+)$`, 'm'))?.[1]
        : (JSON.parse(text).packages[`node_modules/${name}`]?.version as string | undefined);
    if (version === undefined) throw new Error(`${lock} has no ${name}`);
    return version;
  });
}
