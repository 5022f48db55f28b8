import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** A limit on what hangs, not on speed: Playwright’s own 30 s are a limit on the machine. */
export const patienceMs = 240_000;

/** Paths of Chromium on Debian, Fedora and Arch. */
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** A real browser, installed on this machine: nothing is downloaded. Throws what to install if there is none. */
export function startBrowser(): Promise<Browser> {
  const executablePath = process.env['CHROMIUM_BIN'] ?? places.find((path) => existsSync(path));
  if (executablePath === undefined)
    throw new Error('No browser: install Debian’s package `chromium`, or set CHROMIUM_BIN to a Chromium.');
  // Tests run as root in containers, where Chromium's sandbox cannot.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: patienceMs });
}

/** The inspector's page, which collects everything that must not happen: errors, console messages, requests elsewhere. */
export interface InspectorPage {
  readonly page: Page;
  readonly problems: readonly string[];
  /** Clicks what downloads a file; resolves with its name and text. */
  download(click: () => Promise<void>): Promise<{ readonly name: string; readonly text: string }>;
  close(): Promise<void>;
}

/** Opens it; `url` is that of the admin port. */
export async function openInspector(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<InspectorPage> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('dialog', (dialog) => {
    problems.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    // The browser's own line where an exchange was dropped from memory just before the page asked for it; the page says so.
    const isGone = message.text().includes('404') && /\/inspect\/exchanges\/\d+/.test(message.location().url);
    if ((message.type() === 'error' || message.type() === 'warning') && !isGone) problems.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('blob:')) problems.push(request.url());
  });
  await page.goto(`${url}/inspect`);
  await page.getByText('live ·').waitFor();
  return {
    page,
    problems,
    async download(click) {
      const [file] = await Promise.all([page.waitForEvent('download'), click()]);
      const folder = mkdtempSync(join(tmpdir(), 'responses-extproc-download-'));
      const path = join(folder, 'file');
      await file.saveAs(path);
      const text = readFileSync(path, 'utf8');
      rmSync(folder, { recursive: true });
      return { name: file.suggestedFilename(), text };
    },
    close: () => context.close(),
  };
}
