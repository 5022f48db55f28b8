import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type InspectorPage, openInspector, startBrowser } from '../support/browser.ts';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { delta, done, eventStream, finish, usage } from '../support/upstream.ts';

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
});
