import { arrayOf, countOf, objectOf, objectsOf, textOf } from '../../../../formats/json/loose.ts';
import type { LooseAnnotation, LooseChunk, LooseCitation, LooseMessage } from '../../../wire/schema/chat-completion.ts';
import type { Annotation } from '../../../wire/schema/response-resource.ts';
import type { HeldBytes } from '../../shared/held-bytes.ts';

/**
 * Citations without repeats: servers send the whole list again in every late chunk. A page without a range is left out when its URL is
 * cited already, since a vendor's several lists name the same pages; any other citation only when it is exactly the same.
 */
export class CitationList {
  readonly #held: HeldBytes;
  readonly all: Annotation[] = [];
  readonly #urls = new Set<string>();
  readonly #keys = new Set<string>();
  #bytes = 0;

  constructor(held: HeldBytes) {
    this.#held = held;
  }

  /** Adds a citation unless it repeats one. Returns whether it was added. */
  add(citation: Annotation): boolean {
    if (citation.type === 'url_citation') {
      const { url, title, start_index, end_index } = citation;
      const isCited = this.#urls.has(url);
      this.#urls.add(url);
      if (start_index === 0 && end_index === 0)
        return !isCited && this.#keep(citation, 2 * (url.length + title.length));
    }
    const key = JSON.stringify(Object.values(citation));
    if (this.#keys.has(key)) return false;
    this.#keys.add(key);
    return this.#keep(citation, 2 * key.length);
  }

  discard(): void {
    this.#held.bytes -= this.#bytes;
    this.#bytes = 0;
  }

  #keep(citation: Annotation, bytes: number): true {
    this.all.push(citation);
    this.#bytes += this.#held.add('citation', bytes);
    return true;
  }
}

/**
 * Reads the citations of a completion or chunk and its message or delta (docs/answers.md §1.9), repeats included: the annotations
 * of the message, then `search_results` and `citations` (Perplexity, xAI). A bare URL gets no title and the range 0–0.
 */
export function readCitations(body: LooseChunk | null, message: LooseMessage | null): readonly Annotation[] {
  const found: Annotation[] = [];
  for (const entry of objectsOf<LooseAnnotation>(message?.annotations)) {
    const annotation = readAnnotation(entry);
    if (annotation !== null) found.push(annotation);
  }
  if (body !== null) addPages(found, body);
  if (message !== null) addPages(found, message);
  return found;
}

/** The types of the annotations that a Response cannot have. */
export function findUnreadAnnotations(annotations: unknown): readonly string[] {
  if (!Array.isArray(annotations)) return [];
  const unread = objectsOf<LooseAnnotation>(annotations).filter((entry) => readAnnotation(entry) === null);
  return unread.map(({ type }) => textOf(type));
}

/** Reads an annotation with its fields nested, as OpenAI has them, or flat. Null for another type, or without its file or page. */
function readAnnotation(entry: LooseAnnotation): Annotation | null {
  switch (entry.type) {
    case 'url_citation':
      return readPage(objectOf<LooseCitation>(entry.url_citation) ?? entry);
    case 'file_citation': {
      const { file_id, filename, index } = objectOf<LooseCitation>(entry.file_citation) ?? entry;
      if (textOf(file_id) === '') return null;
      return { type: entry.type, file_id: textOf(file_id), filename: textOf(filename), index: countOf(index) ?? 0 };
    }
    case 'container_file_citation': {
      const given = objectOf<LooseCitation>(entry.container_file_citation) ?? entry;
      const [file_id, container_id] = [textOf(given.file_id), textOf(given.container_id)];
      if (file_id === '' || container_id === '') return null;
      return { type: entry.type, container_id, file_id, filename: textOf(given.filename), ...readRange(given) };
    }
    default:
      return null;
  }
}

function addPages(found: Annotation[], carrier: Pick<LooseChunk, 'search_results' | 'citations'>): void {
  for (const result of objectsOf<LooseCitation>(carrier.search_results)) add(found, result);
  for (const entry of arrayOf(carrier.citations))
    add(found, typeof entry === 'string' ? { url: entry } : objectOf<LooseCitation>(entry));
}

function add(found: Annotation[], entry: LooseCitation | null): void {
  const page = entry === null ? null : readPage(entry);
  if (page !== null) found.push(page);
}

function readPage(entry: LooseCitation): Annotation | null {
  const url = textOf(entry.url);
  return url === '' ? null : { type: 'url_citation', url, title: textOf(entry.title), ...readRange(entry) };
}

function readRange({ start_index, end_index }: LooseCitation) {
  return { start_index: countOf(start_index) ?? 0, end_index: countOf(end_index) ?? 0 };
}
