/**
 * Pictures of the inspector for the documentation, from a real run: `node scripts/screenshots.ts` starts what `npm start`
 * starts, sends requests through it and writes docs/images/inspector-light.png and inspector-dark.png. Needs Chromium.
 */
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { startBrowser } from '../test/support/browser.ts';
import { startChild } from '../tools/mesh/child-process.ts';
import { anyFreePort } from '../tools/mesh/ports.ts';

const root = join(import.meta.dirname, '..');
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

if (import.meta.main) await takeScreenshots();

async function takeScreenshots(): Promise<void> {
  const port = await anyFreePort();
  let output = '';
  const mesh = startChild('mesh', process.execPath, [join(root, 'tools/mesh/main.ts'), '--port', String(port)], {
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
    const page = await browser.newPage({ viewport: { width: 1360, height: 850 }, colorScheme });
    await page.goto(url);
    await page.getByRole('option', { name: /demo-reasoning.*completed/ }).click();
    await page
      .getByText('completed usage', { exact: false })
      .waitFor({ state: 'attached' })
      .catch(() => {});
    await page.locator('#timeline').evaluate((element) => element.scrollTo(0, 0));
    await page.getByRole('region', { name: 'Final Response' }).getByText('"completed"').waitFor();
    const path = join(folder, `inspector-${colorScheme}.png`);
    await page.screenshot({ path });
    const { size } = statSync(path);
    if (size > maxImageBytes) throw new Error(`${path} has ${size} bytes; it may have ${maxImageBytes}.`);
    console.log(`${path}: ${size} bytes`);
  }
  await browser.close();
}

/** The address that `npm start` prints; waits for it. */
async function inspectorIn(output: () => string): Promise<string> {
  for (;;) {
    const url = /http:\/\/[\d.:]+\/inspect$/m.exec(output().replaceAll(/^service .*$/gm, ''))?.[0];
    if (url !== undefined) return url;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
