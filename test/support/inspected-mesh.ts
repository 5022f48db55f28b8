import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { type InspectorPage, openInspector, startBrowser } from './browser.ts';
import { startTestMesh, type TestMesh } from './mesh.ts';

/** A mesh with its inspector on and a browser for it, for the tests of a file. */
export interface InspectedMesh {
  readonly mesh: TestMesh;
  /** Opens the page; the test fails at its end if the page had a problem. */
  open(options?: Parameters<typeof openInspector>[2]): Promise<InspectorPage>;
  /** Sends a request; resolves when it has its whole answer. */
  answered(model: string, request?: object): Promise<void>;
}

/** Starts it before the tests of the calling file, and stops it after them. */
export function inspectedMesh(environment: Readonly<Record<string, string>> = {}): InspectedMesh {
  let browser: Browser;
  let mesh: TestMesh;
  let opened: InspectorPage[] = [];
  beforeAll(async () => {
    const inspected = { INSPECT: 'on', INSPECT_SEND_TO: '{proxy}/v1', ...environment };
    mesh = await startTestMesh({ webSocket: true, environment: inspected });
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
  return {
    get mesh() {
      return mesh;
    },
    async open(options = {}) {
      const inspector = await openInspector(browser, mesh.service.adminUrl, options);
      opened.push(inspector);
      return inspector;
    },
    async answered(model, request = {}) {
      const response = await mesh.post({ model, input: 'Hi', ...request });
      await response.arrayBuffer();
    },
  };
}
