/** How the page is divided, as the reader last left it; kept in the browser. */
export interface Layout {
  /** The list's share of the width; null for as much as its rows need. */
  readonly list: number | null;
  /** The client's share of the width, where both sides are next to each other. */
  readonly bodies: number;
  readonly request: number;
  readonly stream: number;
  readonly response: number;
  /** In “Answer as it arrived”, the share of the selected chunk and event. */
  readonly picked: number;
}

export const usualLayout: Layout = { list: null, bodies: 0.5, request: 10, stream: 12, response: 7, picked: 0.45 };

const key = 'responses-extproc inspector layout';

/** What was kept, as far as it is valid. */
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
    // Then it lasts as long as the page.
  }
}
