import { arrayOf, countOf, objectOf, objectsOf, textOf } from '../../../../formats/json/loose.ts';
import type { LooseAnnotation, LooseChunk, LooseCitation, LooseMessage } from '../../../wire/schema/chat-completion.ts';
import type { UrlCitation } from '../../../wire/schema/response-resource.ts';
import { Kept } from '../../shared/kept.ts';

/** A citation beside its texts, and its places in the list and the sets. */
const citationBytes = 300;

/**
 * Citations without their repeats: servers send the whole list again in every late chunk. A page without a range is left
 * out when its URL is cited already, since a vendor's several lists name the same pages; any other only when it is
 * exactly the same.
 */
export class CitationList {
  readonly #kept: Kept;
  readonly all: UrlCitation[] = [];
  readonly #urls = new Set<string>();
  readonly #keys = new Set<string>();
  #bytes = 0;

  constructor(kept: Kept) {
    this.#kept = kept;
  }

  /** Adds the new ones, and returns them. */
  add(citations: readonly UrlCitation[]): UrlCitation[] {
    return citations.filter((citation) => this.#isNew(citation));
  }

  /** It is counted no more. */
  discard(): void {
    this.#kept.bytes -= this.#bytes;
    this.#bytes = 0;
  }

  #isNew(citation: UrlCitation): boolean {
    const { url, title, start_index, end_index } = citation;
    if (start_index === 0 && end_index === 0 && this.#urls.has(url)) return false;
    this.#urls.add(url);
    const key = JSON.stringify([url, title, start_index, end_index]);
    if (this.#keys.has(key)) return false;
    this.#keys.add(key);
    this.all.push(citation);
    const bytes = citationBytes + 2 * key.length;
    this.#bytes += bytes;
    this.#kept.bytes += bytes;
    return true;
  }
}

const none: readonly UrlCitation[] = [];

/**
 * The citations that a completion or chunk and its message or delta carry (docs/answers.md §1.9), in order: annotations
 * of the message (OpenAI's nested form and the flat one), then `search_results` and `citations` of the body (Perplexity,
 * xAI). A bare URL has no place in the text: it gets no title and the range 0–0.
 */
export function citationsOf(body: LooseChunk | null, message: LooseMessage | null): readonly UrlCitation[] {
  const found: UrlCitation[] = [];
  for (const entry of objectsOf<LooseAnnotation>(message?.annotations))
    if (entry.type === 'url_citation') add(found, objectOf<LooseCitation>(entry.url_citation) ?? entry);
  if (body !== null) addPages(found, body);
  if (message !== null) addPages(found, message);
  return found.length === 0 ? none : new CitationList(new Kept()).add(found);
}

function addPages(found: UrlCitation[], carrier: Pick<LooseChunk, 'search_results' | 'citations'>): void {
  for (const result of objectsOf<LooseCitation>(carrier.search_results)) add(found, result);
  for (const entry of arrayOf(carrier.citations))
    add(found, typeof entry === 'string' ? { url: entry } : objectOf<LooseCitation>(entry));
}

function add(found: UrlCitation[], entry: LooseCitation | null): void {
  const url = textOf(entry?.url);
  if (url === '') return;
  found.push({
    type: 'url_citation',
    url,
    title: textOf(entry?.title),
    start_index: countOf(entry?.start_index) ?? 0,
    end_index: countOf(entry?.end_index) ?? 0,
  });
}
