import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { readOperatorFiles } from '../../../src/service/server/operator-files.ts';
import { openProfiles } from '../../../src/service/server/profile-source.ts';
import { ConfigError, readConfig } from '../../../src/service/settings/config.ts';
import { settingsIn } from '../../../src/service/settings/setting.ts';
import { settings } from '../../../src/service/settings/settings-table.ts';
import { diagnose } from '../../../src/tools/doctor/doctor-command.ts';
import type { Answer } from '../../../src/tools/doctor/findings.ts';
import { mutated } from '../../support/mutations.ts';
import { runs } from '../../support/property-runs.ts';

/** The doors of docs/architecture.md through which files and a server's answers come. */
const folder = mkdtempSync(join(tmpdir(), 'doors-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What is thrown, if anything, is for the operator to read. */
function expectConfigError(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    expect(error.message).not.toMatch(/is not a function|undefined \(|Cannot read/);
  }
}

const profiles = [
  'profiles:\n  a: { extends: vllm, thinkTags: true }\n  b:\n    extends: generic\n    models: { /qwen/i: { maxTokensField: max_tokens } }\n',
  'profiles:\n  a: &a { extends: llama.cpp }\n  b: { <<: *a, path: /v1/chat/completions }\n',
  '{"profiles":{"a":{"extends":"vllm","effortRules":[{"from":"low","to":"high"}]}}}',
  ...['toString', 'constructor', '__proto__', 'hasOwnProperty'].map(
    (name) => `profiles:\n  ${name}: { extends: ${name}, ${name}: 1, models: { ${name}: { ${name}: 1 } } }\n`,
  ),
];

test('a profiles file of any bytes is read, or refused in words', () => {
  const file = join(folder, 'profiles');
  const config = readConfig({ UPSTREAM_PROFILES_FILE: file });
  fc.assert(
    fc.property(mutated(profiles), (bytes) => {
      writeFileSync(file, bytes);
      expectConfigError(() => openProfiles(config).close());
    }),
    { numRuns: runs(5000) },
  );
});

const withFile = settingsIn(settings).filter(({ file }) => file !== null);

test.each(withFile.map(({ variable }) => variable))('the file of %s may be of any bytes', (variable) => {
  const file = join(folder, variable);
  const config = readConfig({ [variable]: file });
  const samples = [
    'A text.',
    '{"models":[{"id":"m","context_window":1000}]}',
    '{"m":{"context_window":1000,"display_name":"M"}}',
  ];
  fc.assert(
    fc.property(mutated(samples), (bytes) => {
      writeFileSync(file, bytes);
      expectConfigError(() => readOperatorFiles(config));
    }),
    { numRuns: runs(2500) },
  );
});

test('a server’s answers to doctor may be of any bytes', async () => {
  const delta =
    '{"choices":[{"index":0,"delta":{"content":"4","tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}';
  const samples = [
    `data: ${delta}\n\ndata: [DONE]\n\n`,
    '{"choices":[{"index":0,"message":{"role":"assistant","content":"4","reasoning_content":"r"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}',
    '{"data":[{"id":"m","owned_by":"vllm","max_model_len":1000}]}',
    '{"error":{"message":"no","param":"a","code":1}}',
    '{"default_generation_settings":{"n_ctx":1},"modalities":{"vision":true}}',
  ];
  const status = fc.constantFrom(200, 200, 200, 200, 400, 404, 422, 500);
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.tuple(mutated(samples), status)), async (answers) => {
      const send = async (): Promise<Answer> => {
        const [bytes = Buffer.alloc(0), code = 200] = answers.next().value ?? [];
        const body = bytes.toString();
        return {
          ...{ outcome: 'answered', status: code, contentType: 'application/json', keepAlive: null, retryAfter: null },
          ...{ location: null, body, reason: code === 200 ? '' : `status ${code}`, milliseconds: 1 },
        } as Answer;
      };
      const limits = { requests: 1000, tokensPerRequest: 1000, tokens: 1e9, seconds: 1e6 };
      const options = {
        chatUrl: new URL('http://127.0.0.1/v1/chat/completions'),
        model: 'm',
        key: null,
        limits,
      };
      const report = await diagnose(options, send, { onProgress: () => {}, goOn: async () => true });
      expect(['usable', 'unusable', 'unclear']).toContain(report.verdict.outcome);
    }),
    { numRuns: runs(100) },
  );
});
