/**
 * Pictures of the inspector for the documentation, from real runs: `node scripts/record/screenshots.ts` starts what `npm start`
 * starts, sends requests through it and writes docs/images/inspector-light.png and inspector-dark.png; then it has Codex
 * repair a file for docs/images/inspector-conversation-….png. Needs Chromium; installs Codex where it is not there, as
 * `npm test -- clients` does.
 */

import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { findFreePort } from '../../mesh/ports.ts';
import { startChild } from '../../mesh/processes.ts';
import { answer, call } from '../../test/clients/answers.ts';
import { createCodex } from '../../test/clients/codex.ts';
import installClients from '../../test/clients/install.ts';
import { startBrowser } from '../../test/support/browser.ts';
import { startTestMesh } from '../../test/support/mesh.ts';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'docs/images');
const maxImageBytes = 300_000;

const weather = {
  type: 'function',
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  strict: true,
};
/** The last one is shown. */
const requests: readonly { readonly agent: string; readonly body: object }[] = [
  { agent: 'OpenAI/Python 2.9.0', body: { model: 'demo', input: 'Say hello in three words.', stream: true } },
  { agent: 'codex_cli_rs/0.160.0', body: { model: 'demo', input: 'List the files.', stream: true, tools: [weather] } },
  { agent: 'OpenAI/Python 2.9.0', body: { model: 'demo-error-429', input: 'Hello?' } },
  { agent: 'my-agent/1.4', body: { model: 'demo', input: 'Go on.', previous_response_id: 'resp_123' } },
  { agent: 'OpenAI/JS 7.55.0', body: { model: 'demo', input: 'What is an ext_proc filter?', stream: true } },
  {
    agent: 'my-agent/1.4',
    body: {
      model: 'demo-reasoning',
      instructions: 'You are a friendly guide. Keep it short.',
      input: [{ role: 'user', content: 'Which walk would you take in Paris today?' }],
      reasoning: { effort: 'low' },
      max_output_tokens: 400,
      tools: [{ type: 'web_search' }],
      stream: true,
    },
  },
];

/** What the model has Codex do. */
const commands = ['ls -la', 'cat total.sh', `sed -i 's/seq 1 9/seq 1 10/' total.sh`, 'sh total.sh'];

if (import.meta.main) {
  await takeScreenshots();
  await takeConversation();
}

async function takeScreenshots(): Promise<void> {
  const port = await findFreePort();
  let output = '';
  const mesh = startChild('mesh', process.execPath, [join(root, 'mesh/main.ts'), '--port', String(port)], {
    onLine(line) {
      output += `${line}\n`;
    },
  });
  const over = mesh.ended.then((how) => Promise.reject(new Error(`The mesh ended (${how}):\n${output}`)));
  over.catch(() => {});
  try {
    await Promise.race([photograph(port, () => output), over]);
  } finally {
    await mesh.stop();
  }
}

async function photograph(port: number, output: () => string): Promise<void> {
  const url = await inspectorIn(output);
  for (const { agent, body } of requests) {
    const response = await fetch(`http://127.0.0.1:${port}/v1/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'user-agent': agent, authorization: 'Bearer none' },
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
  }
  mkdirSync(folder, { recursive: true });
  const browser = await startBrowser();
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ viewport: { width: 1360, height: 960 }, colorScheme });
    await page.goto(url);
    await page.getByRole('option', { name: /demo-reasoning.*completed/ }).click();
    const client = page.getByRole('listbox', { name: 'Client sent, body' });
    await client.getByText('→ max_tokens').click();
    await page.getByRole('region', { name: 'What became of it' }).waitFor();
    await page.getByRole('region', { name: 'The answer’s text' }).getByText('Reasoning').waitFor();
    const path = join(folder, `inspector-${colorScheme}.png`);
    await save(page, path);
  }
  await browser.close();
}

/** A session of Codex as a conversation of its round trips. */
async function takeConversation(): Promise<void> {
  installClients();
  const mesh = await startTestMesh({ environment: { INSPECT: 'on' } });
  const model = 'qwen3-coder';
  let turn = 0;
  mesh.upstream.script(model, (request) => {
    const cmd = commands[turn];
    const script = cmd === undefined ? answer({ text: 'It counts to ten now.' }) : call('exec_command', { cmd });
    const { body = [], ...head } = script(request);
    const steps = [...body].filter((step) => typeof step !== 'string' || !step.includes('"usage"'));
    const done = steps.pop();
    const said = { prompt_tokens: 10_400 + 410 * turn, completion_tokens: 42, total_tokens: 10_442 + 410 * turn };
    const cached = { cached_tokens: turn === 0 ? 0 : 9_900 + 410 * turn };
    const usage = { choices: [], usage: { ...said, prompt_tokens_details: cached } };
    turn += 1;
    return { ...head, body: [250, ...steps, 150, `data: ${JSON.stringify(usage)}\n\n`, done ?? ''] };
  });
  const codex = createCodex({ url: mesh.url, model });
  try {
    writeFileSync(join(codex.project, 'total.sh'), 'seq 1 9 | paste -sd+ | bc\n');
    const { code, events } = await codex.exec('total.sh should count to ten. Repair it.');
    if (code !== 0) throw new Error(`Codex ended with ${code}: ${JSON.stringify(events.at(-1))}`);
    const browser = await startBrowser();
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ viewport: { width: 1360, height: 620 }, colorScheme });
      await page.goto(`${mesh.service.adminUrl}/inspect`);
      await page.getByRole('button', { name: 'Conversations', exact: true }).click();
      await page.getByRole('option', { name: /qwen3-coder/ }).click();
      await page.getByRole('article', { name: 'Round trip 2' }).getByText('exec_command').waitFor();
      await save(page, join(folder, `inspector-conversation-${colorScheme}.png`));
    }
    await browser.close();
  } finally {
    codex.remove();
    await mesh.close();
  }
}

async function save(page: Page, path: string): Promise<void> {
  await page.screenshot({ path });
  const { size } = statSync(path);
  if (size > maxImageBytes) throw new Error(`${path} has ${size} bytes; it may have ${maxImageBytes}.`);
  console.log(`${path}: ${size} bytes`);
}

/** The address that `npm start` prints; waits for it. */
async function inspectorIn(output: () => string): Promise<string> {
  for (;;) {
    const url = /http:\/\/[\d.:]+\/inspect$/m.exec(output().replaceAll(/^service .*$/gm, ''))?.[0];
    if (url !== undefined) return url;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
