import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { bytesOf, readExchangeFile } from '../../src/exchange-file.ts';
import { type InspectorPage, openInspector, startBrowser } from '../support/browser.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { completion, delta, done, eventStream, finish, usage } from '../support/upstream.ts';

const root = join(import.meta.dirname, '../..');
let browser: Browser;
let mesh: TestMesh;
let opened: InspectorPage[] = [];
beforeAll(async () => {
  mesh = await startTestMesh({ environment: { INSPECT: 'on', INSPECT_SEND_TO: '{proxy}/v1' } });
  browser = await startBrowser();
});
afterAll(async () => {
  await browser.close();
  await mesh.close();
});
afterEach(async () => {
  const pages = opened;
  opened = [];
  for (const { problems, close } of pages) {
    expect(problems).toEqual([]);
    await close();
  }
});

async function open(options: Parameters<typeof openInspector>[2] = {}): Promise<InspectorPage> {
  const inspector = await openInspector(browser, mesh.service.adminUrl, options);
  opened.push(inspector);
  return inspector;
}

/** A request that has its whole answer. */
async function answered(model: string, request: object = {}): Promise<void> {
  const response = await mesh.post({ model, input: 'Hi', ...request });
  await response.arrayBuffer();
}

/** A promise that the test fulfils: the upstream waits for it. */
function gate(): { open(): void; readonly passed: () => Promise<void> } {
  let open = () => {};
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), passed: () => promise };
}

/** Runs a saved case in the runner of that kind: how vitest ended, and how many of its tests passed. */
function runCase(file: { readonly name: string; readonly text: string }, runner: string) {
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-case-'));
  writeFileSync(join(folder, file.name), file.text);
  const report = join(folder, 'report.json');
  const { status, stdout, stderr } = spawnSync(
    join(root, 'node_modules/.bin/vitest'),
    ['run', '--project=unit', `test/golden/${runner}.test.ts`, '--reporter=json', `--outputFile.json=${report}`],
    { cwd: root, encoding: 'utf8', env: { ...process.env, GOLDEN_FOLDER: folder } },
  );
  if (!existsSync(report)) throw new Error(`vitest left no report:\n${stdout}${stderr}\n${file.text}`);
  const passed: unknown = JSON.parse(readFileSync(report, 'utf8')).numPassedTests;
  rmSync(folder, { recursive: true });
  return { status, passed };
}

describe('the inspector', () => {
  test('shows a stream while it runs: each chunk beside the events that it became', async () => {
    const [first, second] = [gate(), gate()];
    mesh.upstream.script('live', {
      headers: eventStream,
      body: [
        delta({ role: 'assistant', content: '' }),
        delta({ content: 'Hel' }),
        first.passed,
        delta({ content: 'lo' }),
        second.passed,
        finish('stop'),
        usage(3, 2),
        done,
      ],
    });
    const { page } = await open();
    const response = answered('live', { stream: true });

    await page.getByRole('option', { name: /live.*running/ }).click();
    const timeline = page.getByRole('listbox', { name: /chunks and the events/ });
    await timeline.getByText('content "Hel"').waitFor();
    await timeline.getByText('output_text.delta #0.0 "Hel"').waitFor();
    expect(await timeline.getByText('"lo"').count()).toBe(0);
    await page.getByText('The stream is still running.').waitFor();

    first.open();
    const next = timeline.getByRole('option', { name: /content "lo"/ });
    await next.waitFor();
    expect(await next.textContent()).toMatch(/^\d+\.\dcontent "lo"output_text.delta #0.0 "lo"$/);
    expect(
      await page
        .getByRole('listbox', { name: /newest first/ })
        .getByText('running')
        .count(),
    ).toBe(1);

    second.open();
    await response;
    await page.getByRole('heading', { name: /live.*completed/ }).waitFor();
    await timeline.getByText(/^completed .*usage 3\+2=5$/).waitFor();
    const final = page.getByRole('region', { name: 'Final Response' });
    await final.getByText('"status": "completed"').waitFor();
    await page.getByText('3 → 2', { exact: true }).waitFor();
  });

  test('marks what differs between both requests, and names what was dropped', async () => {
    mesh.upstream.script('compared', { body: [completion({ content: 'Yes' })] });
    const { page } = await open();
    await answered('compared', {
      instructions: 'Be brief.',
      temperature: 0.5,
      max_output_tokens: 900,
      tools: [{ type: 'web_search' }],
    });
    await page.getByRole('option', { name: /compared.*completed/ }).click();

    const marks = (name: string) =>
      page
        .getByRole('list', { name })
        .locator('.line')
        .evaluateAll((lines) => lines.map((line) => `${line.classList[1] ?? '-'} ${line.textContent?.trim()}`));
    await page.getByText('Dropped: tools[0].web_search').waitFor();
    expect(await marks('Client sent, body')).toEqual([
      '- {',
      'same "model": "compared",',
      'only "input": "Hi",→ messages',
      'only "instructions": "Be brief.",→ messages',
      'same "temperature": 0.5,',
      'only "max_output_tokens": 900,→ max_tokens',
      'only "tools": [not sent',
      'dropped {',
      'dropped "type": "web_search"',
      'dropped }',
      'only ]',
      '- }',
    ]);
    const became = await marks('It became, body');
    expect(became).toContain('same "model": "compared",');
    expect(became).toContain('only "messages": [← input, instructions');
    expect(became).toContain('only "max_tokens": 900← max_output_tokens');

    await page.getByRole('button', { name: 'Headers' }).click();
    const header = (name: string) => page.getByRole('row', { name: new RegExp(`^${name} `) });
    expect(await header('accept-encoding').getAttribute('class')).toBe('changed');
    expect(await header('x-request-id').getAttribute('class')).toBe('');
  });

  test('shows no key and no cookie of either side', async () => {
    const secret = 'sk-never-to-be-seen';
    mesh.upstream.script('secret', {
      headers: { 'set-cookie': `session=${secret}`, 'x-api-key': secret },
      body: [completion({ content: 'Yes' })],
    });
    const { page, download } = await open();
    const headers = {
      authorization: `Bearer ${secret}`,
      cookie: `a=${secret}`,
      'x-api-key': secret,
      'api-key': secret,
    };
    const mcp = { type: 'mcp', server_label: 's', server_url: 'https://mcp.example', authorization: secret };
    const body = { model: 'secret', input: 'Hi', tools: [mcp] };
    await (await mesh.post(body, { headers, path: `/v1/responses?key=${secret}` })).arrayBuffer();
    await answered('secret');
    const response = await mesh.post({ model: 'secret', input: 'Hi' }, { headers });
    await response.arrayBuffer();

    await expect.poll(() => page.getByRole('option', { name: /secret/ }).count()).toBe(3);
    for (const index of [0, 1, 2]) {
      await page
        .getByRole('option', { name: /secret/ })
        .nth(index)
        .click();
      await page.getByRole('button', { name: 'Headers' }).click();
      const { text } = await download(() => page.getByRole('button', { name: 'Download JSON' }).click());
      expect(text).not.toContain(secret);
      expect(await page.content()).not.toContain(secret);
    }
  });

  test('saves a stream as a golden case that passes, and its request too', async () => {
    mesh.upstream.script('saved', {
      headers: eventStream,
      body: [
        delta({ reasoning_content: 'Let me see.' }),
        delta({ content: 'It is `sunny`\n```\nin Köln\u202e' }),
        delta({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'get_weather', arguments: '{"city":' } }] }),
        delta({ tool_calls: [{ index: 0, function: { arguments: '"Rome"}' } }] }),
        finish('tool_calls'),
        usage(7, 5),
        done,
      ],
    });
    const { page, download } = await open();
    const parameters = { type: 'object', properties: { city: { type: 'string' } } };
    await answered('saved', {
      stream: true,
      instructions: 'Be brief.',
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', name: 'get_weather', parameters }, { type: 'web_search' }],
    });
    await page.getByRole('option', { name: /saved.*completed/ }).click();

    const save = (item: string) =>
      download(async () => {
        await page.getByText('Save as golden case').click();
        await page.getByRole('menuitem', { name: item }).click();
      });
    const answer = await save('Chat answer → Response');
    expect(answer.name).toMatch(/^stream-saved-.*\.md$/);
    expect(runCase(answer, 'stream')).toEqual({ status: 0, passed: 6 });
    const request = await save('Request → Chat request');
    expect(request.name).toMatch(/^request-saved-.*\.md$/);
    expect(runCase(request, 'request').status).toBe(0);
    // It is a test: with another outcome it fails.
    expect(runCase({ ...answer, text: answer.text.replace('"Rome', '"Oslo') }, 'stream').status).toBe(1);
  });

  test('saves a JSON answer and a refusal as golden cases that pass', async () => {
    mesh.upstream.script('whole', { body: [completion({ content: 'Hello!', reasoning_content: 'Hm.' })] });
    const { page, download } = await open();
    await answered('whole', { include: ['reasoning.encrypted_content'] });
    await answered('refused', { previous_response_id: 'resp_1' });
    const save = (item: string) =>
      download(async () => {
        await page.getByText('Save as golden case').click();
        await page.getByRole('menuitem', { name: item }).click();
      });
    await page.getByRole('option', { name: /whole.*completed/ }).click();
    expect(runCase(await save('Chat answer → Response'), 'completion').status).toBe(0);
    await page.getByRole('option', { name: /refused.*previous_response_not_found/ }).click();
    await page.getByText('The upstream was not called.').waitFor();
    expect(runCase(await save('Request → Chat request'), 'request').status).toBe(0);
  });

  test('downloads what explain reads', async () => {
    mesh.upstream.script('downloaded', {
      headers: eventStream,
      body: [delta({ content: 'Hi' }), finish('stop'), done],
    });
    const { page, download } = await open();
    await answered('downloaded', { stream: true });
    await page.getByRole('option', { name: /downloaded.*completed/ }).click();
    const { name, text } = await download(() => page.getByRole('button', { name: 'Download JSON' }).click());
    expect(name).toMatch(/^exchange-downloaded-\d+\.json$/);
    const file = readExchangeFile(JSON.parse(text));
    expect(file).toMatchObject({
      outcome: 'completed',
      profile: 'generic',
      chat_request: { path: '/v1/chat/completions' },
    });
    const sent = file.chat_response?.pieces.map((piece) => bytesOf(piece).toString()).join('');
    expect(sent).toContain('data: [DONE]');
  });

  test('what a model says is text: no script runs, no markup, no turned text', async () => {
    const hostile = [
      '<script>alert(1)</script>',
      '<img src=x onerror="alert(2)"><svg onload=alert(3)>',
      '</pre></span><a href="javascript:alert(4)" style="position:fixed;inset:0">x</a>',
      'abc\u202ecba\u2066\u0000\u001b[31m',
      'x'.repeat(400_000),
    ];
    mesh.upstream.script('<b onmouseover=alert(5)>hostile</b>', {
      headers: { ...eventStream, 'x-hostile': '<script>alert(6)</script>' },
      body: [...hostile.map((content) => delta({ content })), finish('stop'), done],
    });
    const { page } = await open();
    await answered('<b onmouseover=alert(5)>hostile</b>', {
      stream: true,
      input: hostile.join('\n'),
      instructions: hostile[0],
      tools: [{ type: '<script>alert(7)</script>' }],
    });
    await page.getByRole('option', { name: /hostile/ }).click();
    await page.getByRole('heading', { name: /hostile.*completed/ }).waitFor();
    await page.getByText('content "<script>alert(1)</script>"').click();
    await page.getByRole('button', { name: 'Headers' }).click();
    const markup = 'script:not([src="/inspect/page.js"]), b, svg[onload], a, iframe, [style*="fixed"]';
    expect(await page.locator(markup).count()).toBe(0);
    const shown = (await page.locator('body').innerText()).normalize();
    expect(shown).toContain('<script>alert(1)</script>');
    expect(shown).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
  });
});
