import { execFile, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { decodeRecorded, parseExchangeFile } from '../../src/tools/files/exchange-file.ts';
import { inspectedMesh } from '../support/inspected-mesh.ts';
import { completion, delta, done, eventStream, finish, gate, usage } from '../support/upstream.ts';
import { openWebSocket } from '../support/websocket-client.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const inspected = inspectedMesh();
const { open, answered } = inspected;

/** Makes a golden case of what the page downloaded and runs it, as `npm run golden -- --add` does. */
function caseOf(file: { readonly name: string; readonly text: string }, ...more: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-case-'));
  // Each runner wants cases of its own.
  cpSync(join(root, 'test/golden'), folder, { recursive: true });
  const download = join(folder, file.name);
  writeFileSync(download, file.text);
  const env = { ...process.env, GOLDEN_FOLDER: folder };
  const words = [join(root, 'scripts/tests/golden.ts'), '--add', download, ...more];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', env });
  rmSync(folder, { recursive: true });
  return { said: stdout + stderr };
}

describe('the inspector', () => {
  test('shows a stream while it runs: each chunk beside the events that it became', async () => {
    const [first, second] = [gate(), gate()];
    inspected.mesh.upstream.script('live', {
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
    await page.getByText('The answer is still running.').waitFor();
    await page.locator('.parts').getByText('Hel', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Events' }).click();
    const timeline = page.getByRole('listbox', { name: /chunks and the events/ });
    await timeline.getByText('content "Hel"').waitFor();
    await timeline.getByText('output_text.delta #0.0 "Hel"').waitFor();
    expect(await timeline.getByText('"lo"').count()).toBe(0);

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
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    await page.getByRole('list', { name: 'Final Response' }).getByText('"status": "completed"').waitFor();
    await page.getByText('3 → 2', { exact: true }).waitFor();
    // What matters most comes first: the end is cut off where the list is narrow.
    const row = page.getByRole('option', { name: /live.*completed/ });
    expect(await row.locator('.facts').textContent()).toMatch(/^[\d.]+ m?s · first [\d.]+ m?s · 3 → 2 tok · /);
  });

  test('shows the turns of a WebSocket together', async () => {
    const says = [delta({ content: 'Hi' }), finish('stop'), usage(3, 2), done];
    for (const model of ['turns', 'between'])
      inspected.mesh.upstream.script(model, { headers: eventStream, body: says });
    const client = await openWebSocket(`${inspected.mesh.url}/v1/responses`, { 'x-request-id': 'conversation-of-two' });
    await client.turn({ model: 'turns', input: '1' });
    await answered('between', { stream: true });
    await client.turn({ model: 'turns', input: '2' });
    await client.close();
    const { page } = await open();
    await page.getByRole('option', { name: /turns.*ws turn 2/ }).click();
    await page.getByText('conversation-of-two-turn-2').waitFor();
    await page.getByRole('button', { name: 'As it came over WebSocket' }).click();
    await page.getByLabel('Message, body', { exact: true }).getByText('"type": "response.create"').waitFor();
    await page.getByRole('listbox', { name: 'Request made of it, body' }).getByText('"stream": true').waitFor();
    await page.getByRole('button', { name: 'Show all turns' }).click();
    const list = page.getByRole('listbox', { name: /newest first/ });
    await list.getByText('between').waitFor({ state: 'detached' });
    expect(await list.getByText(/ws turn \d/).allTextContents()).toEqual([
      expect.stringContaining('ws turn 2'),
      expect.stringContaining('ws turn 1'),
    ]);
  });

  test('marks what differs between both requests, and names what was dropped', async () => {
    inspected.mesh.upstream.script('compared', { body: [completion({ content: 'Yes' })] });
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
        .getByRole('listbox', { name })
        .locator('.line')
        .evaluateAll((lines) => lines.map((line) => `${line.classList[1] ?? '-'} ${line.textContent?.trim()}`));
    await page.getByText('Dropped: tools[0].web_search').waitFor();
    await page.getByText('← instructions').waitFor();
    expect(await marks('Client sent, body')).toEqual([
      '- {',
      'same "model": "compared",',
      'moved "input": "Hi",→ messages[1].content',
      'moved "instructions": "Be brief.",→ messages[0].content',
      'same "temperature": 0.5,',
      'moved "max_output_tokens": 900,→ max_tokens',
      '- "tools": [',
      'dropped {dropped',
      'dropped "type": "web_search"',
      'dropped }',
      '- ]',
      '- }',
    ]);
    const became = await marks('It became, body');
    expect(became).toContain('same "model": "compared",');
    expect(became).toContain('moved "content": "Be brief."← instructions');
    expect(became).toContain('moved "max_tokens": 900,← max_output_tokens');

    await page.getByRole('button', { name: 'Headers' }).click();
    const headers = await marks('It became, headers');
    expect(headers).toContain('changed "accept-encoding": "identity",');
    expect(headers.find((line) => line.includes('"x-request-id"'))).toMatch(/^same /);
  });

  test('shows no key and no cookie of either side', async () => {
    const secret = 'sk-never-to-be-seen';
    inspected.mesh.upstream.script('secret', {
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
    await (await inspected.mesh.post(body, { headers, path: `/v1/responses?key=${secret}` })).arrayBuffer();
    await answered('secret');
    const response = await inspected.mesh.post({ model: 'secret', input: 'Hi' }, { headers });
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

  test('downloads a stream of which a golden case is made that passes, and of its request too', async () => {
    inspected.mesh.upstream.script('saved', {
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

    const saved = await download(() => page.getByRole('button', { name: 'Download JSON' }).click());
    expect(caseOf(saved).said).toMatch(/^stream-saved\.md:\d+: [1-9]\d* passed, 0 failed$/m);
    expect(caseOf(saved, '--request').said).toMatch(/^request-saved\.md:\d+: [1-9]\d* passed, 0 failed$/m);
  });

  test('downloads a JSON answer and a refusal of which golden cases are made that pass', async () => {
    inspected.mesh.upstream.script('whole', { body: [completion({ content: 'Hello!', reasoning_content: 'Hm.' })] });
    const { page, download } = await open();
    await answered('whole', { include: ['reasoning.encrypted_content'] });
    await answered('refused', { previous_response_id: 'resp_1' });
    const save = () => download(() => page.getByRole('button', { name: 'Download JSON' }).click());
    await page.getByRole('option', { name: /whole.*completed/ }).click();
    expect(caseOf(await save()).said).toMatch(/^completion-saved\.md:\d+: [1-9]\d* passed, 0 failed$/m);
    await page.getByRole('option', { name: /refused.*previous_response_not_found/ }).click();
    await page.getByText('The upstream was not called.').waitFor();
    expect(caseOf(await save(), '--request').said).toMatch(/^request-saved\.md:\d+: [1-9]\d* passed, 0 failed$/m);
  });

  test('downloads what explain reads', async () => {
    inspected.mesh.upstream.script('downloaded', {
      headers: eventStream,
      body: [delta({ content: 'Hi' }), finish('stop'), done],
    });
    const { page, download } = await open();
    await answered('downloaded', { stream: true });
    await page.getByRole('option', { name: /downloaded.*completed/ }).click();
    const { name, text } = await download(() => page.getByRole('button', { name: 'Download JSON' }).click());
    expect(name).toMatch(/^exchange-downloaded-\d+\.json$/);
    const file = parseExchangeFile(JSON.parse(text));
    expect(file).toMatchObject({
      outcome: 'completed',
      profile: 'generic',
      chat_request: { path: '/v1/chat/completions' },
    });
    const sent = file.chat_response?.pieces.map((piece) => decodeRecorded(piece).toString()).join('');
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
    inspected.mesh.upstream.script('<b onmouseover=alert(5)>hostile</b>', {
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
    await page.getByRole('button', { name: 'Events' }).click();
    await page.getByText('content "<script>alert(1)</script>"').click();
    await page.getByRole('button', { name: 'Headers' }).click();
    const markup = 'script:not([src="/inspect/page.js"]), b, svg[onload], a, iframe, [style*="fixed"]';
    expect(await page.locator(markup).count()).toBe(0);
    const shown = (await page.locator('body').innerText()).normalize();
    expect(shown).toContain('<script>alert(1)</script>');
    expect(shown).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
  });

  test('the form sends a request through the proxy, and shows what becomes of it', async () => {
    inspected.mesh.upstream.script('formed', {
      headers: eventStream,
      body: [delta({ content: 'Hi' }), finish('stop'), done],
    });
    const { page } = await open();
    await page.keyboard.press('n');
    await page.getByRole('dialog', { name: 'Send a request' }).waitFor();
    await page.getByRole('textbox', { name: 'Body' }).fill(JSON.stringify({ input: 'Is it raining?', stream: true }));
    await page.getByLabel('Model').fill('formed');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('heading', { name: /formed.*completed/ }).waitFor();
    await page.getByText('responses-extproc/', { exact: false }).first().waitFor();
    expect(inspected.mesh.upstream.received('formed')[0]?.json()).toMatchObject({
      stream: true,
      messages: [{ role: 'user', content: 'Is it raining?' }],
    });
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('works from the keyboard alone', async () => {
    for (const model of ['key-one', 'key-two', 'key-three']) {
      inspected.mesh.upstream.script(model, {
        headers: eventStream,
        body: [delta({ content: model }), finish('stop'), done],
      });
      await answered(model, { stream: true });
    }
    const { page } = await open();
    await page.keyboard.press('/');
    await page.keyboard.type('key-');
    await expect.poll(() => page.getByRole('option').count()).toBe(3);
    await page.keyboard.press('ArrowDown');
    const list = page.getByRole('listbox', { name: /newest first/ });
    const active = () =>
      list.evaluate((element) => [
        element.matches(':focus-visible'),
        element.querySelector(`#${element.getAttribute('aria-activedescendant') ?? 'none'} .about`)?.textContent,
      ]);
    await page.keyboard.press('ArrowDown');
    await expect.poll(active).toEqual([true, 'key-three']);
    await page.keyboard.press('ArrowDown');
    await expect.poll(active).toEqual([true, 'key-two']);
    await page.keyboard.press('End');
    await expect.poll(active).toEqual([true, 'key-one']);
    await page.getByRole('heading', { name: /key-one/ }).waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('#detail').evaluate((element) => element.matches(':focus'))).toBe(true);
    // All that can be used is reached with Tab, and shows that it has the focus.
    const reached = new Set<string>();
    for (let step = 0; step < 24; step += 1) {
      await page.keyboard.press('Tab');
      if ((await page.locator(':focus').count()) === 0) continue; // after the last one: the browser's own
      const [name, isVisible] = await page
        .locator(':focus')
        .first()
        .evaluate((element) => [
          element.getAttribute('aria-label') ?? element.textContent ?? '',
          element.matches(':focus-visible'),
        ]);
      expect(isVisible, String(name)).toBe(true);
      reached.add(String(name).trim());
    }
    for (const wanted of ['Copy as curl of: Client sent', 'Download JSON', 'Headers', 'Client sent, body'])
      expect([...reached]).toContain(wanted);
    await page.keyboard.press('Escape');
    await page.getByText('Select an exchange').waitFor();
    await page.keyboard.press('p');
    await page.getByRole('button', { name: 'Resume' }).waitFor();
  });

  test('the filter and the pause leave the list as it is while exchanges come', async () => {
    inspected.mesh.upstream.script('paused', { body: [completion({ content: 'Yes' })] });
    const { page } = await open();
    await answered('paused');
    await page.getByRole('searchbox').fill('paused completed');
    await expect.poll(() => page.getByRole('option').count()).toBe(1);
    await page.getByRole('button', { name: 'Pause' }).click();
    await answered('paused');
    await page.getByRole('button', { name: 'Resume (1 new)' }).waitFor();
    expect(await page.getByRole('option').count()).toBe(1);
    await page.getByRole('button', { name: 'Resume' }).click();
    await expect.poll(() => page.getByRole('option').count()).toBe(2);
    await page.getByRole('searchbox').fill('paused failed');
    await page.getByText('No exchange matches the filter.').waitFor();
  });

  test('a link to an exchange survives a reload; one whose exchange is gone says so', async () => {
    await answered('linked');
    await answered('newer');
    const { page } = await open();
    await page.getByRole('option', { name: /linked/ }).click();
    await page.getByRole('heading', { name: /linked/ }).waitFor();
    expect(new URL(page.url()).hash).toMatch(/^#\d+-\d+$/);
    await page.reload();
    await page.getByRole('heading', { name: /linked/ }).waitFor();
    await page.goto(`${page.url().split('#')[0]}#1-1`);
    await page.getByText('This exchange is no longer in memory').waitFor();
  });

  test('copies a body and a chunk, all of it', async () => {
    inspected.mesh.upstream.script('whole', {
      headers: eventStream,
      body: [delta({ content: 'Yes' }), finish('stop'), done],
    });
    await answered('whole', { stream: true });
    const { page } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('option', { name: /whole/ }).first().click();
    await page.getByRole('button', { name: 'Copy the body: It became' }).click();
    await page.getByText('Copied', { exact: true }).waitFor();
    const text = await page.evaluate('navigator.clipboard.readText()');
    expect(JSON.parse(String(text))).toMatchObject({
      model: 'whole',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    await page.getByRole('button', { name: 'Events' }).click();
    await page.locator('#timeline').getByRole('option').first().click();
    await page.getByRole('button', { name: 'Copy this chunk' }).click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toContain('"choices"');
  });

  test('the last line of a stream is in view when it ends', async () => {
    const last = gate();
    const long = Array.from({ length: 90 }, (_, index) => delta({ content: `word ${index} ` }));
    inspected.mesh.upstream.script('followed', {
      headers: eventStream,
      body: [...long, last.passed, delta({ content: 'end' }), finish('stop'), done],
    });
    const { page } = await open();
    const whole = answered('followed', { stream: true });
    await page.getByRole('option', { name: /followed.*running/ }).click();
    await page.getByRole('button', { name: 'Events' }).click();
    await page.getByText('output_text.delta #0.0 "word 0 "').waitFor();
    await page.evaluate('timeline.scrollTop = timeline.scrollHeight');
    await page.getByText('output_text.delta #0.0 "word 89 "').waitFor();
    last.open();
    await whole;
    await page.getByRole('heading', { name: /followed.*completed/ }).waitFor();
    expect(await page.locator('#timeline').getByText('[DONE]').last().isVisible()).toBe(true);
    const hidden = 'timeline.scrollHeight - timeline.scrollTop - timeline.clientHeight';
    await expect.poll(() => page.evaluate(hidden)).toBeLessThan(2);
  });

  test('says that it is paused', async () => {
    const { page } = await open();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('paused ·').waitFor();
    expect(await page.getByText('live ·').count()).toBe(0);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('live ·').waitFor();
  });

  test('copies a command of either side that works when pasted', async () => {
    inspected.mesh.upstream.script('copied', { body: [completion({ content: 'It’s fine' })] });
    const { page } = await open({ permissions: ['clipboard-read', 'clipboard-write'] });
    await answered('copied', { input: "It's $HOME `and` \\ more" });
    await page.getByRole('option', { name: /copied.*completed/ }).click();
    for (const body of ['Client sent', 'It became']) {
      await page.getByRole('button', { name: `Copy as curl of: ${body}` }).click();
      await page.getByText('Copied', { exact: true }).first().waitFor();
      const command = await page.evaluate('navigator.clipboard.readText()');
      const { stdout } = await run('bash', ['-c', String(command)]);
      expect(JSON.stringify(JSON.parse(stdout))).toContain('It’s fine');
    }
    const inputs = inspected.mesh.upstream
      .received('copied')
      .map((request) => request.json().messages.at(-1)?.['content']);
    expect(inputs).toEqual(Array.from({ length: 3 }, () => "It's $HOME `and` \\ more"));
  });

  test('an error is shown with its message, and what was thrown beneath it', async () => {
    inspected.mesh.upstream.script('broken', { body: ['{"choices": [nonsense'] });
    const { page } = await open();
    await answered('broken');
    await page.getByRole('option', { name: /broken/ }).click();
    const banner = page.getByRole('alert');
    await banner.getByText('The upstream’s response is not valid JSON.').waitFor();
    await banner.getByText('Cause').click();
    expect(await banner.locator('pre').textContent()).toMatch(/^SyntaxError: .*\n {4}at /);
  });

  test.each(['light', 'dark'] as const)(
    'is readable in %s: text stands out from its background',
    async (colorScheme) => {
      inspected.mesh.upstream.script('colours', {
        headers: eventStream,
        body: [delta({ content: 'Hi' }), finish('stop'), done],
      });
      const { page } = await open({ colorScheme });
      await answered('colours', { stream: true, tools: [{ type: 'web_search' }] });
      await page
        .getByRole('option', { name: /colours.*completed/ })
        .first()
        .click();
      await page.getByText('Dropped:').waitFor();
      // WCAG 2.2, 1.4.3: 4.5 to 1.
      const faint = await page.evaluate(`(() => {
      const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
      const rgb = (colour, below) => {
        canvas.fillStyle = 'rgb(' + below.join() + ')';
        canvas.fillRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      const backOf = (element) => {
        if (element === null) return [255, 255, 255];
        return rgb(getComputedStyle(element).backgroundColor, backOf(element.parentElement));
      };
      const light = (colour) => {
        const [r, g, b] = colour.map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const found = [];
      for (const element of document.querySelectorAll('body *')) {
        const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== '');
        if (!own || element.closest(':disabled, .hidden') !== null) continue;
        const back = backOf(element);
        const [a, b] = [light(rgb(getComputedStyle(element).color, back)), light(back)].sort((x, y) => y - x);
        const contrast = (a + 0.05) / (b + 0.05);
        if (contrast < 4.5) found.push(element.className + ' ' + element.textContent.slice(0, 30) + ' ' + contrast.toFixed(2));
      }
      return found;
    })()`);
      expect(faint).toEqual([]);
    },
  );

  test('fits a narrow window: one column, nothing cut off', async () => {
    inspected.mesh.upstream.script('narrow', {
      headers: eventStream,
      body: [delta({ content: 'Hi' }), finish('stop'), done],
    });
    const { page } = await open({ viewport: { width: 360, height: 640 } });
    await answered('narrow', { stream: true });
    const fits = () => page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth');
    expect(await fits()).toBe(true);
    await page.getByRole('option', { name: /narrow.*completed/ }).click();
    await page.getByRole('heading', { name: /narrow/ }).waitFor();
    expect(await page.getByRole('option', { name: /narrow.*completed/ }).isVisible()).toBe(false);
    expect(await fits()).toBe(true);
    await page.getByRole('button', { name: '← All exchanges' }).click();
    await page.getByRole('option', { name: /narrow.*completed/ }).waitFor();
  });

  test('of hundreds of exchanges those that the service keeps are listed, and only what is visible is in the document', async () => {
    inspected.mesh.upstream.script('many', { body: [completion({ content: 'Yes' })] });
    const { page } = await open();
    const send = async (count: number) => {
      let sent = 0;
      const sender = async () => {
        for (; sent < count; sent += 1) await answered('many');
      };
      await Promise.all(Array.from({ length: 16 }, sender));
    };
    await send(250);
    await expect.poll(() => page.locator('.status').textContent()).toMatch(/ 200 exchanges/);
    expect(await page.locator('*').count()).toBeLessThan(1000);
    // A list that is paused still shows what has been evicted since, and says so.
    await page.getByRole('button', { name: 'Pause' }).click();
    await send(250);
    await page.getByRole('option', { name: /many/ }).first().click();
    await page.getByText('This exchange is no longer in memory').waitFor();
  });
});
