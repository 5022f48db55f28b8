import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { translateRequest } from '../../src/filter/translate/translate-request.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import type { OutputItem, ResponseResource } from '../../src/filter/wire/schema/response-resource.ts';
import { createCountedIds } from '../support/context.ts';
import { type HttpMessage, play } from '../support/envoy-model.ts';
import { exchangeOptions } from '../support/exchange-options.ts';
import { goldenRequests } from '../support/golden.ts';
import { faultsOfStream } from '../support/invariants.ts';
import { faultsOfError, faultsOfEvent, faultsOfResponse } from '../support/published-schema.ts';
import { readWithSdk } from '../support/sdk-accumulator.ts';
import { createTestSettings } from '../support/settings.ts';
import { inPiecesOf } from '../support/split.ts';
import { eventsOf } from '../support/stream-lines.ts';
import { refusalsOfVllm } from '../support/vllm-rules.ts';

/** Chat requests that no client of this service makes, sent to real vLLM over a socket, and its answers: `test/recordings/README.md`. */
interface RawCase {
  readonly case: string;
  readonly request: Readonly<Record<string, unknown>>;
  readonly json: RawAnswer | null;
  readonly stream: RawAnswer;
}
interface RawAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const folder = new URL('../recordings/raw/', import.meta.url);
const casesOf = (file: string): RawCase[] =>
  readFileSync(new URL(file, folder), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const files = readdirSync(folder);

/** What vLLM itself answered differently, so that this service does: tested, lest the list outlives the fact. */
const unparsed = 'JSON keeps a call that its parser cannot read as text, the stream swallows it';
const late = 'the stream has begun when the fault is found';
const differing: Readonly<Record<string, string>> = {
  'vllm-plain.jsonl tools-auto-cut': unparsed,
  'vllm-plain.jsonl tools-auto-garbage-call': unparsed,
  'vllm-plain.jsonl tools-named-cut': unparsed,
  'vllm-plain.jsonl tools-required-cut': unparsed,
  'vllm-qwen3.jsonl tools-auto-cut': unparsed,
  'vllm-qwen3.jsonl tools-auto-garbage-call': unparsed,
  'vllm-qwen3.jsonl json-schema-tools': late,
};

/** Where a required call does not come, vLLM's JSON says `tool_calls` and its stream `stop`. */
const withoutCall = new Set(['vllm-qwen3.jsonl tools-required', 'vllm-qwen3.jsonl error-tool-schema']);

/** Refused for the model that was served, its context, or what its grammars know. */
const ofTheDeployment = new Set([
  'error-audio',
  'error-image',
  'error-context',
  'error-context-plus-limit',
  'error-model',
  'error-schema',
  'error-schema-ref',
  'max-tokens-huge',
]);

describe('a golden request, as the profile vllm sends it', () => {
  const requests = goldenRequests();

  it('breaks none of the rules of vLLM', () => {
    const clock = { now: () => 1, newId: createCountedIds() };
    const settings = createTestSettings({ profile: 'vllm', orphanOutputs: 'synthesize', missingOutputs: 'synthesize' });
    let sent = 0;
    for (const { where, request } of requests) {
      try {
        const { chat } = translateRequest(request, settings, clock);
        sent += 1;
        expect(refusalsOfVllm({ ...chat }), where).toEqual([]);
      } catch (thrown) {
        if (!(thrown instanceof ApiError)) throw thrown;
      }
    }
    expect(sent).toBeGreaterThan(100);
  });
});

describe.each(files)('as recorded in %s', (file) => {
  describe.each(casesOf(file).map((recorded) => [recorded.case, recorded] as const))('%s', (_name, recorded) => {
    const streamed = answerOf(recorded.stream, true, recorded);
    const stream = streamed.body.toString('utf8');

    if (streamed.status === 200) {
      it('keeps every rule of a Responses stream', () => {
        expect(faultsOfStream(stream)).toEqual([]);
        expect(eventsOf(stream).flatMap((event) => faultsOfEvent(event))).toEqual([]);
      });

      it.each([1, 7, 64])('gives the same bytes in pieces of %i', (size) => {
        expect(answerOf(recorded.stream, true, recorded, size).body.equals(streamed.body)).toBe(true);
      });

      it('reads in the OpenAI SDK as its terminal event says', async () => {
        const last = eventsOf(stream).at(-1)?.['response'] as ResponseResource;
        const reading = await readWithSdk(streamed.body);
        if (last.error === null) expect(reading).toEqual({ type: 'response', response: last });
        else expect(reading).toEqual({ type: 'thrown', message: last.error.message });
      });
    }

    const { json } = recorded;
    if (json === null) return;
    const whole = answerOf(json, false, recorded);
    const value = JSON.parse(whole.body.toString('utf8'));

    it('is valid against the published schema as JSON', () => {
      expect(whole.status === 200 ? faultsOfResponse(value) : faultsOfError(value.error)).toEqual([]);
    });

    const refused = refusalsOfVllm(recorded.request);
    if (!ofTheDeployment.has(recorded.case))
      it('is refused where, and only where, the rules of vLLM say so', () => {
        expect(refused.length > 0).toBe(json.status >= 400 && json.status < 500);
      });

    const reason = differing[`${file} ${recorded.case}`];
    if (reason !== undefined) {
      it(`differs between the two forms: ${reason}`, () => {
        expect(stream).toContain(whole.status === 200 ? `response.${value.status}` : 'response.failed');
        expect(JSON.stringify(value)).toContain(whole.status === 200 ? '<tool_call>' : '"server_error"');
        expect(stream).not.toContain('<tool_call>');
      });
      return;
    }

    if (withoutCall.has(`${file} ${recorded.case}`)) {
      it('is a failure in the one form that says a call was made', () => {
        expect(value).toMatchObject({ status: 'failed', error: { code: 'invalid_tool_call' } });
        expect(eventsOf(stream).at(-1)).toMatchObject({ type: 'response.completed' });
      });
      return;
    }

    it('is the same in both forms', () => {
      const isFull = value.error?.code === 'context_length_exceeded';
      expect(streamed.status).toBe(isFull ? 200 : whole.status);
      if (isFull) expect(eventsOf(stream).at(-1)).toMatchObject({ type: 'response.failed' });
      else if (whole.status !== 200)
        expect(withoutMessage(JSON.parse(stream).error)).toEqual(withoutMessage(value.error));
      else expect(shapeOf(eventsOf(stream).at(-1)?.['response'] as ResponseResource)).toEqual(shapeOf(value));
    });
  });
});

/** What the client gets for it, through an exchange. */
function answerOf(answer: RawAnswer, stream: boolean, recorded: RawCase, size = 4096) {
  const body = Buffer.from(JSON.stringify({ ...responsesRequestOf(recorded.request), stream }));
  const request: HttpMessage = {
    headers: { ':method': 'POST', ':path': '/v1/responses', 'content-type': 'application/json' },
    pieces: [body],
  };
  const headers = { ':status': String(answer.status), 'content-type': answer.type };
  const pieces = [...inPiecesOf(size, Buffer.from(answer.body))];
  const { client } = play(request, { headers, pieces }, exchangeOptions({ profile: 'vllm' }));
  return { status: Number(client.headers.get(':status')), body: client.body };
}

function shapeOf({ status, output, incomplete_details, error }: ResponseResource): unknown {
  return { status, incomplete_details, error, output: output.map(withoutIds) };
}

/** Some of vLLM's messages count the fields of the request, of which a streamed one has more. */
function withoutMessage(error: { readonly message: string }): object {
  return { ...error, message: '' };
}

/** vLLM makes up a call's id for each answer. */
function withoutIds(item: OutputItem): object {
  return { ...item, id: '', ...('call_id' in item && { call_id: '' }) };
}

/** The Responses request whose answer this may be: tools and formats decide how it is read. */
function responsesRequestOf(chat: Readonly<Record<string, unknown>>): object {
  const tools = (chat['tools'] ?? []) as readonly { type: string; function?: object }[];
  const format = chat['response_format'] as { type: string; json_schema?: object } | undefined;
  const schema =
    format?.json_schema === undefined ? {} : { text: { format: { type: format.type, ...format.json_schema } } };
  return {
    model: 'tiny',
    input: 'hello',
    ...(tools.length > 0 && {
      tools: tools.flatMap((tool) => (tool.function === undefined ? [] : [{ type: 'function', ...tool.function }])),
    }),
    ...schema,
    ...(chat['logprobs'] === true && { include: ['message.output_text.logprobs'], top_logprobs: 2 }),
  };
}
