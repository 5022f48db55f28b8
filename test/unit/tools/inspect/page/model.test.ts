import { afterEach, beforeEach, expect, it, vi } from 'vitest';

/** The page's model, as far as these tests use it: its own file has the types of a browser. */
interface PageModel {
  readonly waiting: number;
  connect(): void;
  togglePause(): void;
  select(id: number): void;
}

const file: string = new URL('../../../../../src/tools/inspect/page/model.ts', import.meta.url).href;
let model: PageModel;
let asked: string[];
let onList: (event: { readonly data: string }) => void;

beforeEach(async () => {
  asked = [];
  vi.stubGlobal('location', { hash: '', pathname: '/inspect/' });
  vi.stubGlobal('history', { replaceState: () => {} });
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('fetch', (path: string) => {
    asked.push(path);
    return new Promise(() => {});
  });
  vi.stubGlobal(
    'EventSource',
    class {
      addEventListener(name: string, listener: typeof onList): void {
        if (name === 'list') onList = listener;
      }
    },
  );
  const { Model }: { Model: new (draw: () => void) => PageModel } = await import(file);
  model = new Model(() => {});
  model.connect();
});
afterEach(() => vi.unstubAllGlobals());

function arrive(...ids: readonly number[]): void {
  const rows = ids.map((id) => ({ id, started_at: 1, version: 1 }));
  onList({ data: JSON.stringify({ reset: false, rows, gone: [], held_bytes: 0 }) });
}

it('a paused list counts the exchanges that came since, and no other', () => {
  arrive(1, 2);
  model.togglePause();
  expect(model.waiting).toBe(0);
  arrive(3, 4);
  expect(model.waiting).toBe(2);
  model.togglePause();
  expect(model.waiting).toBe(0);
});

it('an exchange that is selected while another one loads is loaded too', () => {
  arrive(1, 2);
  model.select(1);
  model.select(2);
  expect(asked.map((path) => path.replace(/\?.*/, ''))).toEqual([
    '/inspect/about',
    '/inspect/exchanges/1',
    '/inspect/exchanges/2',
  ]);
});
