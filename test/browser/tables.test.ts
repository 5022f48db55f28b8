import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { patienceMs, startBrowser } from '../support/browser.ts';
import { columnWidth, docTables } from '../support/doc-tables.ts';

let browser: Browser;
let page: Page;
beforeAll(async () => {
  browser = await startBrowser();
  page = await browser.newPage({ viewport: { width: columnWidth, height: 900 } });
  page.setDefaultTimeout(patienceMs);
});
afterAll(() => browser?.close());

/** How GitHub shows a table. */
const style = `
  body { margin: 0; font: 16px/1.5 'Noto Sans', Helvetica, Arial, sans-serif }
  table { display: block; width: max-content; max-width: 100%; overflow: auto; border-collapse: collapse }
  th, td { padding: 6px 13px; border: 1px solid }
  code { padding: .2em .4em; font-size: 85%; white-space: break-spaces }`;

test.each(docTables)('%s: table %i fits the column of GitHub when it is drawn', async (_page, _number, rows) => {
  const lines = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${htmlOf(cell)}</td>`).join('')}</tr>`);
  await page.setContent(`<style>${style}</style><table>${lines.join('')}</table>`);
  const [shown, whole] = await page.evaluate<[number, number]>(
    '(({ clientWidth, scrollWidth }) => [clientWidth, scrollWidth])(document.querySelector("table"))',
  );
  expect(whole, rows[0]?.join('|')).toBeLessThanOrEqual(shown);
});

/** What of Markdown stands in cells: code, links, bold, line breaks and anchors. */
function htmlOf(cell: string): string {
  return cell
    .replaceAll('\\|', '|')
    .replaceAll(/`([^`]*)`/g, (_, code: string) => `<code>${code.replaceAll('<', '&lt;')}</code>`)
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '<a href="#">$1</a>')
    .replaceAll(/\*\*([^*]*)\*\*/g, '<b>$1</b>');
}
