/** How the page is divided: what the reader made of it, kept in the browser. */
export interface Layout {
  /** The list's share of the width; null for as much as its rows need. */
  readonly list: number | null;
  /** The client's share of what stands side by side. */
  readonly bodies: number;
  readonly request: number;
  readonly stream: number;
  readonly response: number;
  /** Of the answer as it came, what the selected chunk and event take. */
  readonly picked: number;
}

export const usualLayout: Layout = { list: null, bodies: 0.5, request: 10, stream: 12, response: 7, picked: 0.45 };

const key = 'responses-extproc inspector layout';

/** What was kept, as far as it can be used. */
export function loadLayout(): Layout {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '{}');
    const numbers = Object.entries(kept ?? {}).filter(
      ([name, value]) => name in usualLayout && typeof value === 'number' && value >= 0 && value <= 100,
    );
    return { ...usualLayout, ...Object.fromEntries(numbers) };
  } catch {
    return usualLayout; // not kept, or not allowed
  }
}

export function saveLayout(layout: Layout): void {
  try {
    localStorage.setItem(key, JSON.stringify(layout));
  } catch {
    // It lasts as long as the page then.
  }
}
