import { describe, expect, it } from 'vitest';
import { CitationList, readCitations } from '../../../../../../src/filter/translate/chat-to-response/read/citations.ts';
import { HeldBytes } from '../../../../../../src/filter/translate/shared/held-bytes.ts';
import type { UrlCitation } from '../../../../../../src/filter/wire/schema/response-resource.ts';

const cite = (url: string, start_index = 0, end_index = 0, title = ''): UrlCitation => ({
  type: 'url_citation',
  url,
  title,
  start_index,
  end_index,
});

describe('a list of citations', () => {
  it('keeps only what is new', () => {
    const list = new CitationList(new HeldBytes());
    const areNew = [cite('a', 0, 4), cite('b'), cite('a', 0, 4), cite('b'), cite('a', 4, 8)].map((one) =>
      list.add(one),
    );
    expect(areNew).toEqual([true, true, false, false, true]);
    expect(list.all).toEqual([cite('a', 0, 4), cite('b'), cite('a', 4, 8)]);
  });

  it('is counted until it is discarded, its repeats not at all', () => {
    const held = new HeldBytes();
    const list = new CitationList(held);
    const sizes = [cite('a', 0, 4), cite('a', 0, 4), cite('b')].map((citation) => {
      list.add(citation);
      return held.bytes;
    });
    const [one = 0, again, two = 0] = sizes;
    expect(one).toBeGreaterThan(100);
    expect(again).toBe(one);
    expect(two).toBeGreaterThan(1.5 * one);
    list.add(cite('c'.repeat(1000)));
    expect(held.bytes - two).toBeGreaterThan(2000);
    list.discard();
    expect(held.bytes).toBe(0);
    list.discard();
    expect(held.bytes).toBe(0);
  });

  it('takes another page, range or title for another citation', () => {
    const all = [cite('a', 4, 8), cite('a', 0, 4), cite('a', 0, 8), cite('b', 0, 4), cite('b', 0, 4, 'B')];
    const list = new CitationList(new HeldBytes());
    for (const citation of all) expect([citation, citation].map((one) => list.add(one))).toEqual([true, false]);
    expect(list.all).toEqual(all);
  });

  it('leaves out a page without a range that is cited already', () => {
    const list = new CitationList(new HeldBytes());
    list.add(cite('a', 0, 4, 'A'));
    expect(list.add(cite('a'))).toBe(false);
  });
});

describe('readCitations', () => {
  it('finds nothing in a chunk of plain text', () => {
    expect(readCitations({ choices: [] }, { content: 'a' })).toEqual([]);
    expect(readCitations(null, null)).toEqual([]);
  });

  it('reads `citations` of objects, and those on the message', () => {
    expect(readCitations({ citations: [{ url: 'a', title: 'A' }] }, { citations: ['b'] })).toEqual([
      cite('a', 0, 0, 'A'),
      cite('b'),
    ]);
  });

  it('takes no negative or broken positions', () => {
    const annotation = { type: 'url_citation', url: 'a', start_index: -1, end_index: '4' };
    expect(readCitations(null, { annotations: [annotation] })).toEqual([cite('a')]);
  });
});
