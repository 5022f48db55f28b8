import type { ResponseContext } from '../../src/filter/translate/shared/context.ts';
import { translateRequest } from '../../src/filter/translate/translate-request.ts';
import { type ContextSettings, createCountedIds, createdAt, createTestContext } from './context.ts';
import { blockOf, type GoldenCase } from './golden.ts';
import { createTestSettings } from './settings.ts';

/** A fresh context for a case's stream: of its `json request`, or of a plain request with its `json context`. */
export function streamContextOf(golden: GoldenCase): ResponseContext {
  const request = blockOf(golden, 'request');
  if (request === null) {
    const settings = JSON.parse(blockOf(golden, 'context') ?? '{}') as ContextSettings;
    return createTestContext({ stream: true, ...settings });
  }
  const newId = createCountedIds();
  const { context } = translateRequest(
    JSON.parse(request),
    createTestSettings(JSON.parse(blockOf(golden, 'settings') ?? '{}')),
    { now: () => createdAt, newId },
  );
  return context;
}
