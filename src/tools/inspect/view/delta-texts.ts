import { objectOf } from '../../../formats/json/loose.ts';
import { parseShown } from './timeline.ts';

/** Collects the texts that the deltas of a stream add up to, in Chat chunks and Responses events. */
export function createDeltaTexts<Source>() {
  /** The collected texts of messages and of calls' arguments, with the offset at which each delta's share ends. */
  const texts = new Map<string, { text: string; readonly shares: { end: number; readonly source: Source }[] }>();

  function grow(place: string, more: string, source: Source): void {
    const known = texts.get(place) ?? { text: '', shares: [] };
    if (known.text === '') {
      if (texts.size === maxTexts) return;
      texts.set(place, known);
    }
    known.text += more;
    const last = known.shares.at(-1);
    if (last?.source === source) last.end = known.text.length;
    else known.shares.push({ end: known.text.length, source });
  }

  /** Appends each string of a delta to the text that earlier deltas built at the same place. */
  function collect(value: unknown, place: string, depth: number, source: Source): void {
    if (typeof value === 'string' && value !== '') grow(place, value, source);
    if (typeof value !== 'object' || value === null || depth === deepest) return;
    for (const [name, element] of Object.entries(value)) {
      if (wholeFields.has(name)) continue;
      const index = (element as { readonly index?: unknown } | null)?.index;
      collect(element, `${place}.${readStep(index ?? name)}`, depth + 1, source);
    }
  }

  return {
    /** Adds the next message of the stream: its data, or a comment. `find` returns `source` for it. */
    add(message: string, source: Source): void {
      if (!message.includes('"delta"')) return;
      const event = objectOf<Record<string, unknown>>(parseShown(message));
      if (event === null) return;
      const { type, output_index, content_index, summary_index, command_index, delta, choices } = event;
      collect(delta, [type, output_index, content_index, summary_index, command_index].map(readStep).join(), 0, source);
      for (const choice of Array.isArray(choices) ? choices : [])
        collect(choice?.delta, readStep(choice?.index), 0, source);
    },
    /** Finds the messages that carry a part of one of these texts; `wanted` is in lower case. */
    find(wanted: readonly string[]): Set<Source> {
      const found = new Set<Source>();
      for (const { text, shares } of texts.values()) {
        const lower = text.toLowerCase();
        for (const each of wanted) {
          let next = 0;
          for (let at = lower.indexOf(each); at !== -1; at = lower.indexOf(each, at + each.length)) {
            while ((shares[next]?.end ?? Number.POSITIVE_INFINITY) <= at) next += 1;
            for (let index = next; index < shares.length; index += 1) {
              const share = shares[index];
              if (share !== undefined) found.add(share.source);
              if ((share?.end ?? 0) >= at + each.length) break;
            }
          }
        }
      }
      return found;
    },
  };
}

const wholeFields: ReadonlySet<string> = new Set(['id', 'index', 'role', 'type']);

/** The limits of what is collected, far beyond what any server sends. An upstream may send anything. */
const maxTexts = 10_000;
const deepest = 8;
const longestName = 64;

function readStep(value: unknown): string {
  return typeof value === 'number' || typeof value === 'string' ? String(value).slice(0, longestName) : '';
}
