import { describe, expect, it } from 'vitest';
import { keepLarge, repeatsMuch } from '../../../../src/filter/exchange/kept-echo.ts';
import type { CreateResponseEcho } from '../../../../src/filter/wire/schema/response-resource.ts';
import { JsonBytes } from '../../../../src/formats/json/parts.ts';
import { createTestContext } from '../../../support/context.ts';

const { echo } = createTestContext();
const fields = ['instructions', 'tools', 'tool_choice', 'text', 'metadata'] as const;
/** Texts are counted once, objects three times. */
const counted = (given: CreateResponseEcho) =>
  fields.reduce((bytes, field) => {
    const { length } = JSON.stringify(given[field]);
    return bytes + (typeof given[field] === 'string' ? length : 3 * length);
  }, 0);
/** A string of that length as JSON. */
const textOf = (length: number) => 'x'.repeat(length - 2);

describe('what a response repeats of its request', () => {
  it('is kept as it is where it is small, and is counted as three times its JSON', () => {
    expect(keepLarge(echo)).toEqual({ echo, bytes: counted(echo) });
    expect(repeatsMuch(echo)).toBe(false);
  });

  it.each(fields)('is kept as bytes from 32 KiB of one field on: %s', (field) => {
    const large = { ...echo, [field]: textOf(32 * 1024) } as CreateResponseEcho;
    const kept = keepLarge(large);
    expect(kept.echo[field]).toBeInstanceOf(JsonBytes);
    expect(kept.bytes).toBe(counted(large));
    expect(JSON.parse(JSON.stringify(kept.echo))).toEqual(JSON.parse(JSON.stringify(large)));
    expect(repeatsMuch(kept.echo)).toBe(true);
    const smaller = { ...echo, [field]: textOf(32 * 1024 - 1) } as CreateResponseEcho;
    expect(keepLarge(smaller)).toEqual({ echo: smaller, bytes: counted(smaller) });
  });
});
