import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { patienceMs, startBrowser } from '../support/browser.ts';

const root = join(import.meta.dirname, '../..');

/** What draws the diagrams on GitHub. Not among the packages of the project: it is larger than all of them together. */
const mermaid = {
  version: '11.17.2',
  integrity: 'sha512-V6K3C8EBdEsPFZXSKMJe6ppQOENxuHARr9GvHX4hh47lAbhMRD9qf4oEK7LoaRQxULMa80/qt5gHO73aCleBBg==',
};

/** mermaid as one script, from the npm registry; kept in .cache. Throws when it cannot be had, or is another. */
function mermaidScript(): string {
  const folder = join(root, '.cache/mermaid', mermaid.version);
  const script = join(folder, 'package/dist/mermaid.min.js');
  if (existsSync(script)) return script;
  mkdirSync(folder, { recursive: true });
  run('npm', ['pack', `mermaid@${mermaid.version}`, '--silent', '--pack-destination', folder]);
  const archive = join(folder, `mermaid-${mermaid.version}.tgz`);
  const hash = createHash('sha512').update(readFileSync(archive)).digest('base64');
  expect(`sha512-${hash}`).toBe(mermaid.integrity);
  run('tar', ['-xzf', archive, '-C', folder, 'package/dist/mermaid.min.js']);
  rmSync(archive);
  return script;
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? stderr}`);
}

const tracked = spawnSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' }).stdout.trim().split('\n');
const diagrams = tracked.flatMap((file) => {
  const text = readFileSync(join(root, file), 'utf8');
  return [...text.matchAll(/^```mermaid\n(.*?)^```/gms)].map(({ index, 1: diagram = '' }) => {
    const line = text.slice(0, index).split('\n').length;
    return [`${file}:${line}`, diagram] as const;
  });
});

let browser: Browser;
let page: Page;
beforeAll(async () => {
  browser = await startBrowser();
  page = await browser.newPage();
  page.setDefaultTimeout(patienceMs);
  await page.addScriptTag({ path: mermaidScript() });
});
afterAll(() => browser.close());

test.each(diagrams)('the diagram at %s is drawn', async (_place, diagram) => {
  const width = await page.evaluate(
    `mermaid.render('diagram', ${JSON.stringify(diagram)}).then(({ svg }) => {
      document.body.innerHTML = svg;
      return document.querySelector('svg').getBoundingClientRect().width;
    })`,
  );
  expect(width).toBeGreaterThan(100);
});
