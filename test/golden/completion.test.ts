import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../src/filter/translate/chat-to-response/completion.ts';
import type { ResponseContext } from '../../src/filter/translate/shared/context.ts';
import { translateRequest } from '../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import type { ResponseResource } from '../../src/filter/wire/schema/response-resource.ts';
import { completedAt, createCountedIds, createdAt, createTestContext, emptyResponse } from '../support/context.ts';
import { blockOf, type GoldenCase, goldenCases } from '../support/golden.ts';
import { faultsOfResponse } from '../support/published-schema.ts';
import { createTestSettings } from '../support/settings.ts';

/**
 * Each case is a completion (`json upstream`), its request (`json request`, whole, with its `json settings`) or what is special about it (`json
 * context`, see `ContextSettings`), and the outcome: the fields of the Response that a plain completed one would not have
 * (`json client`), or the error (`json error`). An `encrypted_content` is written as what is inside it.
 */
const cases = goldenCases('completion');

describe.each(cases)('$where: $title', (golden) => {
  const error = blockOf(golden, 'error');
  if (error !== null) {
    it('ends in the error written beside it', () => {
      expect(thrownBy(golden)).toEqual(JSON.parse(error));
    });
    return;
  }

  it('gives the response written beside it', () => {
    const context = contextOf(golden);
    const expected = { ...emptyResponse(context.echo), ...JSON.parse(required(golden, 'client')) };
    if (expected.status !== 'completed') expected.completed_at = null;
    expect(withEnvelopesOpened(translate(golden, context))).toEqual(expected);
  });

  it('is valid against the published schema', () => {
    expect(faultsOfResponse(translate(golden, contextOf(golden)))).toEqual([]);
  });
});

function translate(golden: GoldenCase, context: ResponseContext): ResponseResource {
  return translateCompletion(JSON.parse(required(golden, 'upstream')), context).response;
}

function thrownBy(golden: GoldenCase): unknown {
  try {
    translate(golden, contextOf(golden));
  } catch (thrown) {
    if (thrown instanceof ApiError) return { status: thrown.status, ...thrown.toObject() };
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

function contextOf(golden: GoldenCase): ResponseContext {
  const request = blockOf(golden, 'request');
  if (request === null) return createTestContext(JSON.parse(blockOf(golden, 'context') ?? '{}'));
  const clock = { now: () => createdAt, newId: createCountedIds() };
  const { context } = translateRequest(
    JSON.parse(request),
    createTestSettings(JSON.parse(blockOf(golden, 'settings') ?? '{}')),
    clock,
  );
  return { ...context, now: () => completedAt };
}

function required(golden: GoldenCase, name: string): string {
  const text = blockOf(golden, name);
  if (text === null) throw new Error(`${golden.where}: no block is called “${name}”`);
  return text;
}

function withEnvelopesOpened(response: ResponseResource): unknown {
  return JSON.parse(JSON.stringify(response), (key, value) =>
    key === 'encrypted_content' ? JSON.parse(Buffer.from(value.slice('orr1.'.length), 'base64url').toString()) : value,
  );
}
