/**
 * Records what a server answers to the probes of `doctor`, as material for the tests:
 *
 *     node scripts/record/record-doctor.ts NAME URL MODEL [--steer "[call]"] [--note "server, version, model"]
 *
 * writes `test/recordings/doctor/NAME.json`. UPSTREAM_API_KEY is sent as the bearer token. `--steer` is for the generated model of
 * `test/recordings`, which only does what words in brackets tell it: the words for a call are added to
 * questions that tools answer; `[think]` and `[long]` are added where the probes ask for reasoning and for length.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createPlainStyle } from '../../src/tools/cli/terminal.ts';
import { diagnose } from '../../src/tools/doctor/doctor-command.ts';
import { parseDoctorOptions } from '../../src/tools/doctor/doctor-options.ts';
import type { Answer, ProbeRequest } from '../../src/tools/doctor/findings.ts';
import { writeTextReport } from '../../src/tools/doctor/report.ts';
import { createSend } from '../../src/tools/doctor/send-probe.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { steer: { type: 'string', default: '' }, note: { type: 'string', default: '' } },
});
const [name = '', url = '', model = ''] = positionals;
const options = model === '' ? null : parseDoctorOptions([url, '--model', model], process.env);
if (options === null) {
  console.error('usage: node scripts/record/record-doctor.ts NAME URL MODEL [--steer WORDS] [--note TEXT]');
  process.exit(2);
}

const send = createSend({ ...options, timeoutMs: options.timeout * 1000 });
const answers: Record<string, Answer[]> = {};
const report = await diagnose(
  options,
  async (request, from) => {
    const answer = await send(values.steer === '' ? request : steered(request), from);
    answers[from.probe] = [...(answers[from.probe] ?? []), kept(answer)];
    return answer;
  },
  { onProgress: () => {}, goOn: () => Promise.resolve(true) },
);
const folder = new URL('../../test/recordings/doctor/', import.meta.url);
mkdirSync(folder, { recursive: true });
const about = { model, note: values.note, recorded: new Date().toISOString().slice(0, 10) };
writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify({ about, answers }, null, 1)}\n`);
process.stdout.write(writeTextReport(report, createPlainStyle(120)));

/** Times differ from run to run, and only one line of the metrics is read. */
function kept(answer: Answer): Answer {
  const body = answer.body.startsWith('# HELP')
    ? answer.body
        .split('\n')
        .filter((line) => line.startsWith('vllm:num_requests_running'))
        .join('\n')
    : answer.body;
  return { ...answer, body, milliseconds: Math.round(answer.milliseconds) };
}

interface Steered {
  readonly messages?: readonly { readonly role: string; readonly content?: unknown }[] | string;
}

function steered(request: ProbeRequest): ProbeRequest {
  const { messages }: Steered = request.body ?? {};
  const last = Array.isArray(messages) ? messages.at(-1) : undefined;
  if (last?.role !== 'user' || typeof last.content !== 'string') return request;
  const words = wordsFor(last.content);
  if (words === '') return request;
  return {
    ...request,
    body: {
      ...request.body,
      messages: [...(messages ?? []).slice(0, -1), { ...last, content: `${words} ${last.content}` }],
    },
  };
}

function wordsFor(question: string): string {
  if (/Oslo.*Rome/.test(question)) return values.steer.replace('[call]', '[call] [call]');
  if (/weather in Oslo/.test(question)) return values.steer;
  if (/prime numbers/.test(question)) return '[think]';
  const first = values.steer.includes('[think]') ? '[think]' : '';
  return /from 1 to \d{3}/.test(question) ? `${first} [long]`.trim() : first;
}
