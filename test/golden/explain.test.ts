import { describe, expect, it } from 'vitest';
import { createPlainStyle } from '../../src/tools/cli/terminal.ts';
import { explainRequest } from '../../src/tools/explain/explain-request.ts';
import type { RequestExplanation } from '../../src/tools/explain/explanation.ts';
import { mappingRows } from '../../src/tools/explain/mapping-rows.ts';
import { printAnswer } from '../../src/tools/explain/print-answer.ts';
import { printRequest } from '../../src/tools/explain/print-request.ts';
import { readRecordedAnswer } from '../../src/tools/explain/read-input.ts';
import { type AnswerRun, runAnswer } from '../../src/tools/explain/run-answer.ts';
import { type ClientRequest, runRequest } from '../../src/tools/explain/run-request.ts';
import { explainSetupOf } from '../support/config-of-settings.ts';
import { createdAt } from '../support/context.ts';
import { blockOf, type GoldenCase, goldenCases } from '../support/golden.ts';
import type { SettingsOverrides } from '../support/settings.ts';
import { eventLines } from '../support/stream-lines.ts';
import { upstreamOf } from '../support/upstream-notation.ts';

/** Every case of a request and of a stream, as `explain` shows it: what it says is what the service does. */
const plain = createPlainStyle(100);
const anchors = new Set(mappingRows.map(({ anchor }) => anchor));

const paths = { compact: '/v1/responses/compact', input_tokens: '/v1/responses/input_tokens' };

function requestOf(body: string, endpoint: string | undefined): ClientRequest {
  const path = endpoint === 'compact' || endpoint === 'input_tokens' ? paths[endpoint] : '/v1/responses';
  return { method: 'POST', path, headers: new Map([['content-type', 'application/json']]), body: Buffer.from(body) };
}

interface RequestCase extends GoldenCase {
  readonly settings: SettingsOverrides & { readonly endpoint?: string };
}

const requests = goldenCases('request').flatMap((golden) => {
  const settings = JSON.parse(blockOf(golden, 'settings') ?? '{}');
  const profiles = JSON.parse(blockOf(golden, 'profiles') ?? JSON.stringify([settings.profile ?? 'generic']));
  return profiles.map((profile: string | object): RequestCase => ({ ...golden, settings: { ...settings, profile } }));
});

function explained({ settings, ...golden }: RequestCase, causes: 'with causes' | 'without causes'): RequestExplanation {
  const request = requestOf(blockOf(golden, 'request') ?? '', settings.endpoint);
  const options = { setup: explainSetupOf(settings), request, now: createdAt, fields: null, linkBase: '' };
  return explainRequest(causes === 'with causes' ? options : { ...options, probedBytes: 0 });
}

/** What causes are found for: that is looked for once, since it takes a hundred runs of the request. */
function causedIn({ added, dropped, refusals }: RequestExplanation): string {
  return JSON.stringify([
    added.map(({ path }) => path),
    dropped.map(({ name }) => name),
    refusals.map(({ error }) => error.code),
  ]);
}

const withoutCauses = new Map(requests.map((golden) => [golden, explained(golden, 'without causes')]));
const caused = new Map([...withoutCauses].map(([golden, explanation]) => [causedIn(explanation), golden]));
const withCauses = new Set(caused.values());

describe.each(requests)('$where $title', (golden: RequestCase) => {
  it('is explained as it is translated', () => {
    const plainly = withCauses.has(golden) ? undefined : withoutCauses.get(golden);
    const explanation = plainly ?? explained(golden, 'with causes');
    const [refusal] = explanation.refusals;
    if (refusal === undefined) {
      const { body } = explanation.chat_request ?? {};
      expect(body).toEqual(JSON.parse(blockOf(golden, 'chat') ?? ''));
      expect(explanation.dropped.map(({ name }) => name)).toEqual(JSON.parse(blockOf(golden, 'dropped') ?? '[]'));
      if (withCauses.has(golden)) {
        const uncaused = explanation.added.filter(({ causes }) => causes.length === 0).map(({ path }) => path);
        // What a tokenizer is told belongs to the endpoint, whatever is configured.
        const ofEndpoint = golden.settings.endpoint === 'input_tokens' ? ['add_generation_prompt'] : [];
        expect(uncaused).toEqual(ofEndpoint);
      }
      const about = new Set(explanation.fields.flatMap(({ dropped }) => dropped));
      expect(explanation.dropped.filter(({ name }) => !about.has(name))).toEqual([]);
    } else if (refusal.error.code === 'request_too_large') {
      // The cases of what a body's items carry have a limit that is less than the body itself.
      expect(golden.settings.limits).toHaveProperty('maxValues');
    } else {
      expect({ status: refusal.status, error: refusal.error }).toEqual(JSON.parse(blockOf(golden, 'error') ?? ''));
    }
    expect(linksOf(explanation).filter((link) => !anchors.has(link.replace('docs/mapping.md#', '')))).toEqual([]);
    expect(printRequest(explanation, plain, false)).toContain(explanation.request.path);
  });
});

function linksOf({ fields, dropped, refusals }: RequestExplanation): string[] {
  return [...fields, ...dropped, ...refusals].map(({ link }) => link);
}

/** Those of a request that can be written: the others are of a context that no request alone leads to. */
const streams = goldenCases('stream').filter(
  (golden) => blockOf(golden, 'context') === null && blockOf(golden, 'client error') === null,
);

describe.each(streams)('$where $title', (golden) => {
  it('replayed, gives the events written beside it', () => {
    const body = blockOf(golden, 'request') ?? '{"model":"test-model","input":"Hi","stream":true}';
    const setup = explainSetupOf({});
    const run = runRequest(setup, requestOf(body, undefined), createdAt);
    if (run.type !== 'sent') throw new Error('the request was not sent');
    const isJson = blockOf(golden, 'upstream json') !== null;
    const bytes = isJson ? Buffer.from(blockOf(golden, 'upstream json') ?? '') : upstreamOf(golden);
    const answer = readRecordedAnswer(bytes, 200);
    expect(Buffer.concat([...answer.chunks].map((chunk) => chunk.bytes)).equals(bytes)).toBe(true);
    const open = () => {
      const again = runRequest(setup, requestOf(body, undefined), createdAt);
      return again.type === 'sent' ? again.exchange : run.exchange;
    };
    const replayed = runAnswer(open, answer);
    expect(eventLines(textOf(replayed)).join('\n')).toBe(blockOf(golden, 'client'));
    const shown = [...printAnswer(replayed, plain, false)].join('\n');
    for (const { data } of [...replayed.chunks].flatMap(({ events }) => events))
      expect(shown).toContain(typeof data === 'string' ? data : (data as { type: string }).type);
  });
});

function textOf({ chunks }: AnswerRun): string {
  const events = [...chunks].flatMap((one) => one.events);
  return events.map(({ data }) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`).join('');
}
