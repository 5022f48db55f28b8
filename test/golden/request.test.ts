import { describe, expect, it } from 'vitest';
import type { TranslatedRequest } from '../../src/filter/translate/request-to-chat/request.ts';
import type { TranslatedOperation } from '../../src/filter/translate/request-to-chat/translated-operation.ts';
import { operations, translateRequest } from '../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import { jsonParts } from '../../src/formats/json/parts.ts';
import { isSetting, type SettingTable } from '../../src/service/settings/setting.ts';
import { settings as settingTable } from '../../src/service/settings/settings-table.ts';
import { faultsOfChat } from '../support/chat-rules.ts';
import { createCountedIds, emptyResponse, kinds, minimalEcho } from '../support/context.ts';
import { blockOf, type GoldenCase, goldenCases } from '../support/golden.ts';
import { faultsOfError, faultsOfResponse } from '../support/published-schema.ts';
import { remedy } from '../support/remedy.ts';
import { createTestSettings, type SettingsOverrides } from '../support/settings.ts';

/**
 * Each case is a request (`json request`), settings that differ from the defaults (`json settings`: `profile` by name),
 * and the outcome: the whole Chat body (`json chat`), the fields of the echo that differ from the API's defaults
 * (`json echo`), what is named as left out (`json dropped`), what the answer's translation is told (`json context`); or
 * the error (`json error`). Where several profiles share an outcome, `json profiles` lists them.
 */
const cases = goldenCases('request').flatMap((golden) => profilesOf(golden).map((profile) => ({ ...golden, profile })));

describe.each(cases)('$where: $title ($profile)', (golden) => {
  const settings = { ...settingsOf(golden), profile: golden.profile };
  const error = blockOf(golden, 'error');
  if (error !== null) {
    it('is refused with the error written beside it', () => {
      expect(thrownBy(golden, settings)).toEqual(JSON.parse(error));
    });
    it('is refused with a message that names the field, and what to send instead', () => {
      const { param, message } = (JSON.parse(error) as { error: ApiError }).error;
      expect(message).toMatch(remedy);
      // As it is written, or in words: “Background responses need a store”.
      const [name = ''] = /[a-z_]+$/i.exec(param ?? '') ?? [];
      expect(message.toLowerCase().replaceAll(/[ -]/g, '_')).toContain(name.toLowerCase().replace(/s$|_id$/, ''));
    });
    it('is refused with an error the published schema allows', () => {
      expect(faultsOfError(JSON.parse(error).error)).toEqual([]);
    });
    return;
  }

  it('is written in pieces as it is written whole', () => {
    const { chat, passthrough } = translate(golden, settings);
    const body = operationOf(golden).body(chat, passthrough);
    expect([...jsonParts(body)].join('')).toBe(JSON.stringify(body));
  });

  it('gives the Chat body written beside it', () => {
    expect(chatOf(golden, settings)).toEqual(JSON.parse(required(golden, 'chat')));
  });

  if (operationOf(golden).generates)
    it('gives a body that keeps the Chat API’s rules', () => {
      expect(faultsOfChat(chatOf(golden, settings))).toEqual([]);
    });

  if (operationOf(golden).generates && endsInQuestion(golden))
    it('gives a body that does not end with the assistant’s words', () => {
      expect(chatOf(golden, settings).messages.at(-1).role).not.toBe('assistant');
    });

  it('names what it leaves out', () => {
    expect(translate(golden, settings).dropped).toEqual(JSON.parse(blockOf(golden, 'dropped') ?? '[]'));
  });

  const echo = blockOf(golden, 'echo');
  if (echo !== null)
    it('repeats the request in the Response', () => {
      const request = JSON.parse(required(golden, 'request'));
      const model = request.model ?? settings.defaultModel;
      expect(translate(golden, settings).context.echo).toEqual({ ...minimalEcho, model, ...JSON.parse(echo) });
    });

  const context = blockOf(golden, 'context');
  if (context !== null)
    it('tells the answer’s translation what it needs', () => {
      const all = contextOf(translate(golden, settings));
      // Each field that is written is written whole.
      for (const [name, value] of Object.entries(JSON.parse(context))) expect(all[name], name).toEqual(value);
    });

  it('repeats only what the published schema allows, with `strictEcho`', () => {
    const { context } = translate(golden, { ...settings, strictEcho: true });
    expect(faultsOfResponse(emptyResponse(context.echo))).toEqual([]);
  });
});

/**
 * Those of the catalog decide about a list of models and no request: `test/unit/filter/translate/catalog.test.ts`; `reasoningAlone` about
 * answers: B10 in `stream-reasoning.md`.
 */
const { catalog: _ofCatalog, reasoningAlone: _ofAnswers, ...requestSettings } = settingTable.translation;

it.each(namesIn(requestSettings))('the setting %s has a case in which it decides', (path) => {
  const deciding = cases.filter((golden) => {
    const settings = { ...settingsOf(golden), profile: golden.profile };
    const without = withoutSetting(settings, path);
    return without !== null && outcomeOf(golden, settings) !== outcomeOf(golden, without);
  });
  expect(deciding, `Write a case in test/golden/request-*.md that sets ${path.join('.')}.`).not.toEqual([]);
});

function namesIn(table: SettingTable): (readonly [readonly string[]])[] {
  return Object.entries(table).flatMap(([name, entry]) => {
    if (typeof entry !== 'object') return [];
    return isSetting(entry) ? [[[name]] as const] : namesIn(entry).map(([path]) => [[name, ...path]] as const);
  });
}

/** The settings of a case without that one; null where the case does not set it. */
function withoutSetting(settings: object, [name = '', ...rest]: readonly string[]): object | null {
  const { [name]: value, ...others } = settings as Record<string, unknown>;
  if (value === undefined) return null;
  if (rest.length === 0) return others;
  const inner = withoutSetting(value as object, rest);
  return inner === null ? null : { ...others, [name]: inner };
}

/** All that a case can state, as one text. */
function outcomeOf(golden: GoldenCase, settings: SettingsOverrides): string {
  try {
    const translated = translate(golden, settings);
    return JSON.stringify([chatOf(golden, settings), translated.dropped, contextOf(translated)]);
  } catch (thrown) {
    return String(thrown);
  }
}

function translate(golden: GoldenCase, settings: SettingsOverrides): TranslatedRequest {
  const clock = { now: () => 1_800_000_000, newId: createCountedIds() };
  return translateRequest(
    JSON.parse(required(golden, 'request')),
    createTestSettings(settings),
    clock,
    operationOf(golden),
  );
}

/** The upstream's body, as it is written. */
function chatOf(golden: GoldenCase, settings: SettingsOverrides) {
  const { chat, passthrough } = translate(golden, settings);
  return JSON.parse(JSON.stringify(operationOf(golden).body(chat, passthrough)));
}

function thrownBy(golden: GoldenCase, settings: SettingsOverrides): unknown {
  try {
    translate(golden, settings);
  } catch (thrown) {
    if (thrown instanceof ApiError) return { status: thrown.status, error: thrown.toObject() };
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

/** Whether the input ends with the user's words, or with an output: the model must answer those, not continue its own words. */
function endsInQuestion(golden: GoldenCase): boolean {
  const { input } = JSON.parse(required(golden, 'request'));
  if (typeof input === 'string') return true;
  const { type = 'message', role } = Array.isArray(input) ? (input.at(-1) ?? {}) : {};
  return type === 'message' ? role === 'user' : String(type).endsWith('_call_output');
}

/** The context as a case can write it. */
function contextOf({ context }: TranslatedRequest): Record<string, unknown> {
  return {
    ...context,
    kind: Object.entries(kinds).find(([, { answer }]) => answer === context.answer)?.[0],
    toolNames: [...context.toolNames],
    restoredTools: Object.fromEntries(context.restoredTools),
    foundTools: Object.fromEntries(context.foundTools),
    allowedTools: context.allowedTools === null ? null : [...context.allowedTools],
  };
}

function settingsOf(golden: GoldenCase): SettingsOverrides {
  return JSON.parse(blockOf(golden, 'settings') ?? '{}');
}

/** `"endpoint": "compact"` among the settings: the request is one of that endpoint. */
function operationOf(golden: GoldenCase): TranslatedOperation {
  const name = JSON.parse(blockOf(golden, 'settings') ?? '{}').endpoint ?? 'responses';
  const operation = operations.find(({ path }) => path.at(-1) === name);
  if (operation?.type !== 'translated') throw new Error(`${golden.where}: there is no endpoint “${name}”`);
  return operation;
}

function profilesOf(golden: GoldenCase): (string | object)[] {
  const listed = blockOf(golden, 'profiles');
  return listed === null ? [settingsOf(golden).profile ?? 'generic'] : JSON.parse(listed);
}

function required(golden: GoldenCase, name: string): string {
  const text = blockOf(golden, name);
  if (text === null) throw new Error(`${golden.where}: the case has no block “${name}”`);
  return text;
}
