import { describe, expect, it } from 'vitest';
import { keepLarge, repeatsMuch } from '../../../../src/filter/exchange/kept-echo.ts';
import { heapBytesOf } from '../../../../src/filter/memory/value-cost.ts';
import { JsonBytes } from '../../../../src/filter/wire/json/parts.ts';
import type { CreateResponseEcho } from '../../../../src/filter/wire/schema/response-resource.ts';
import { createTestContext } from '../../../support/context.ts';

const { echo } = createTestContext();
const fields = ['instructions', 'tools', 'tool_choice', 'text', 'metadata'] as const;
const counted = (given: CreateResponseEcho) => fields.reduce((bytes, field) => bytes + heapBytesOf(given[field]), 0);
/** A string of that size on the heap, with its header. */
const textOf = (size: number) => 'x'.repeat(size - 16);

describe('what a response repeats of its request', () => {
  it('is kept as it is where it is small', () => {
    expect(keepLarge(echo)).toEqual({ echo, heapBytes: counted(echo), bytes: 0 });
    expect(keepLarge(echo).echo).toBe(echo);
    expect(repeatsMuch(echo)).toBe(false);
  });

  it.each(fields)('is kept as bytes from 64 KiB of one field on: %s', (field) => {
    const large = { ...echo, [field]: textOf(64 * 1024) } as CreateResponseEcho;
    const kept = keepLarge(large);
    expect(kept.echo[field]).toBeInstanceOf(JsonBytes);
    expect(kept).toMatchObject({
      heapBytes: counted(large) - 64 * 1024,
      bytes: Buffer.byteLength(JSON.stringify(large[field])),
    });
    expect(JSON.parse(JSON.stringify(kept.echo))).toEqual(JSON.parse(JSON.stringify(large)));
    expect(repeatsMuch(kept.echo)).toBe(true);
    const smaller = { ...echo, [field]: textOf(64 * 1024 - 8) } as CreateResponseEcho;
    expect(keepLarge(smaller)).toEqual({ echo: smaller, heapBytes: counted(smaller), bytes: 0 });
  });
});
