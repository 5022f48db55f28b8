import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { terminalFile, terminalStillFile } from '../../scripts/record/terminal-recording.ts';
import { patienceMs, startBrowser } from '../support/browser.ts';

const readmeFile = join(import.meta.dirname, '../../README.md');

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

/** The picture as README shows it, with its animations at `seconds`. */
async function openAt(seconds: number, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 900, height: 640 }, ...options });
  page.setDefaultTimeout(patienceMs);
  await page.goto(pathToFileURL(terminalFile).href);
  await page.evaluate(`for (const animation of document.getAnimations()) {
    animation.pause();
    animation.currentTime = ${seconds * 1000};
  }`);
  return page;
}

test('begins empty, and ends with the whole answer', async () => {
  const begin = await openAt(0);
  expect(await begin.getByText('[DONE]').isVisible()).toBe(false);
  expect(await begin.getByText('ready http', { exact: false }).isVisible()).toBe(false);
  const end = await openAt(60);
  expect(await end.getByText('[DONE]').isVisible()).toBe(true);
});

test('shows its last frame, at once, to who asks for less motion', async () => {
  const end = await (await openAt(60)).screenshot();
  const itself = await openAt(0, { reducedMotion: 'reduce' });
  expect(await itself.evaluate('document.getAnimations().length')).toBe(0);
  expect((await itself.screenshot()).equals(end)).toBe(true);

  const still = await browser.newPage({ viewport: { width: 900, height: 640 } });

  still.setDefaultTimeout(patienceMs);
  await still.goto(pathToFileURL(terminalStillFile).href);
  expect(await still.evaluate('document.getAnimations().length')).toBe(0);
  expect((await still.screenshot()).equals(end)).toBe(true);
});

test.each([
  ['reduce', 'terminal-still.svg'],
  ['no-preference', 'terminal.svg'],
] as const)('README shows who prefers %s of motion %s', async (reducedMotion, shown) => {
  const page = await browser.newPage({ reducedMotion });
  page.setDefaultTimeout(patienceMs);
  await page.goto(pathToFileURL(readmeFile).href);
  const [picture = ''] =
    /<picture>(?:(?!<\/picture>).)*terminal\.svg.*?<\/picture>/s.exec(readFileSync(readmeFile, 'utf8')) ?? [];
  await page.setContent(picture);
  await expect.poll(() => page.evaluate('document.images[0].naturalWidth > 0')).toBe(true);
  expect(await page.evaluate('document.images[0].currentSrc.split("/").at(-1)')).toBe(shown);
});

test.each(['light', 'dark'] as const)('can be read on a %s page', async (colorScheme) => {
  const page = await openAt(60, { colorScheme });
  const fillsOf = (selector: string): Promise<readonly string[]> =>
    page.evaluate(
      `[...new Set([...document.querySelectorAll('${selector}')].map((element) => getComputedStyle(element).fill))]`,
    );
  const [back = ''] = await fillsOf('.back');
  const texts = await fillsOf('text, tspan');
  expect(texts.length).toBeGreaterThanOrEqual(4);
  for (const text of texts) expect(contrast(text, back)).toBeGreaterThanOrEqual(4.5);
});

/** WCAG 2.2, of two colours such as `rgb(31, 35, 40)`. */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [...colour.matchAll(/\d+/g)].map(([part]) => {
    const value = Number(part) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
