import { arrayOf, countOf, type Loose, objectOf, textOf } from '../schema/chat-completion.ts';
import type { UrlCitation } from '../schema/response-resource.ts';

/**
 * The citations that a completion or chunk and its message or delta carry (docs/answers.md §2.9), in order: annotations of the
 * message (OpenAI's nested form and the flat one), then `search_results` and `citations` of the body (Perplexity, xAI).
 * A bare URL says nothing about where in the text it belongs: it gets no title and the range 0–0.
 */
export function citationsOf(body: unknown, message: unknown): UrlCitation[] {
  const found: UrlCitation[] = [];
  const annotations = arrayOf(objectOf(message)?.['annotations']);
  for (const annotation of annotations) {
    const entry = objectOf(annotation);
    if (entry?.['type'] === 'url_citation') add(found, citationOf(objectOf(entry['url_citation']) ?? entry));
  }
  for (const carrier of [objectOf(body), objectOf(message)]) {
    for (const result of arrayOf(carrier?.['search_results'])) addPage(found, citationOf(objectOf(result)));
    for (const entry of arrayOf(carrier?.['citations']))
      addPage(found, citationOf(typeof entry === 'string' ? { url: entry } : objectOf(entry)));
  }
  return found;
}

/** Adds what is new to `known` and returns just that: servers repeat the whole list in every late chunk. */
export function addCitations(known: UrlCitation[], more: readonly UrlCitation[]): UrlCitation[] {
  return more.filter((citation) => (isPage(citation) ? addPage(known, citation) : add(known, citation)));
}

function citationOf(entry: Loose | null): UrlCitation | null {
  const url = textOf(entry?.['url']);
  if (url === '') return null;
  return {
    type: 'url_citation',
    url,
    title: textOf(entry?.['title']),
    start_index: countOf(entry?.['start_index']) ?? 0,
    end_index: countOf(entry?.['end_index']) ?? 0,
  };
}

function isPage({ start_index, end_index }: UrlCitation): boolean {
  return start_index === 0 && end_index === 0;
}

/** Exact repeats are left out. */
function add(known: UrlCitation[], citation: UrlCitation | null): boolean {
  if (citation === null) return false;
  const { url, title, start_index, end_index } = citation;
  const isKnown = known.some(
    (other) =>
      other.url === url && other.title === title && other.start_index === start_index && other.end_index === end_index,
  );
  if (!isKnown) known.push(citation);
  return !isKnown;
}

/** A page without a range is left out when its URL is cited already: both lists name the same pages. */
function addPage(known: UrlCitation[], citation: UrlCitation | null): boolean {
  if (citation === null || known.some((other) => other.url === citation.url)) return false;
  known.push(citation);
  return true;
}
