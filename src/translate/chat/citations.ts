import { arrayOf, countOf, type Loose, objectOf, textOf } from '../../schema/chat-completion.ts';
import type { UrlCitation } from '../../schema/response-resource.ts';

/** Citations without their repeats: servers send the whole list again in every late chunk. */
export interface CitationList {
  /** Takes in what is new, and returns just that. */
  add(citations: readonly UrlCitation[]): UrlCitation[];
  readonly all: readonly UrlCitation[];
}

/**
 * An empty list. A page without a range is left out when its URL is cited already, since a vendor's several lists name
 * the same pages; any other only when it is exactly the same.
 */
export function createCitationList(): CitationList {
  return new DistinctCitations();
}

class DistinctCitations implements CitationList {
  readonly all: UrlCitation[] = [];
  readonly #urls = new Set<string>();
  readonly #keys = new Set<string>();

  add(citations: readonly UrlCitation[]): UrlCitation[] {
    return citations.filter((citation) => this.#isNew(citation));
  }

  #isNew(citation: UrlCitation): boolean {
    const { url, title, start_index, end_index } = citation;
    if (start_index === 0 && end_index === 0 && this.#urls.has(url)) return false;
    this.#urls.add(url);
    const key = JSON.stringify([url, title, start_index, end_index]);
    if (this.#keys.has(key)) return false;
    this.#keys.add(key);
    this.all.push(citation);
    return true;
  }
}

const none: readonly UrlCitation[] = [];

/**
 * The citations that a completion or chunk and its message or delta carry (docs/answers.md §2.9), in order: annotations
 * of the message (OpenAI's nested form and the flat one), then `search_results` and `citations` of the body (Perplexity,
 * xAI). A bare URL says nothing about where in the text it belongs: it gets no title and the range 0–0.
 */
export function citationsOf(body: Loose | null, message: Loose | null): readonly UrlCitation[] {
  const found: (UrlCitation | null)[] = [];
  if (message?.['annotations'] != null) addAnnotations(found, message['annotations']);
  if (body !== null) addPages(found, body);
  if (message !== null) addPages(found, message);
  return found.length === 0 ? none : createCitationList().add(found.filter((citation) => citation !== null));
}

function addAnnotations(found: (UrlCitation | null)[], annotations: unknown): void {
  for (const annotation of arrayOf(annotations)) {
    const entry = objectOf(annotation);
    if (entry?.['type'] === 'url_citation') found.push(citationOf(objectOf(entry['url_citation']) ?? entry));
  }
}

function addPages(found: (UrlCitation | null)[], carrier: Loose): void {
  for (const result of arrayOf(carrier['search_results'])) found.push(citationOf(objectOf(result)));
  for (const entry of arrayOf(carrier['citations']))
    found.push(citationOf(typeof entry === 'string' ? { url: entry } : objectOf(entry)));
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
