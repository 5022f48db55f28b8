import { readdirSync, readFileSync } from 'node:fs';
import { diagnose } from '../../src/tools/doctor/doctor-command.ts';
import type { Answer } from '../../src/tools/doctor/findings.ts';
import type { Report } from '../../src/tools/doctor/report.ts';

interface Recording {
  readonly about: { readonly model: string; readonly note: string };
  readonly answers: Readonly<Record<string, readonly Answer[]>>;
}

const notRecorded: Answer = {
  outcome: 'unreachable',
  status: 0,
  contentType: null,
  keepAlive: null,
  retryAfter: null,
  location: null,
  body: '',
  reason: 'not recorded',
  milliseconds: 0,
};

const folder = new URL('../recordings/doctor/', import.meta.url);

/** The servers whose answers to the probes were recorded. */
export const doctorRecordings = readdirSync(folder).map((file) => file.replace(/\.json$/, ''));

/**
 * The doctor, asking a recording; probes in `hidden` get a 404. A probe that is newer than the recording gets no answer, which
 * counts as not tested; if a probe gains a request, record again (`scripts/record/record-doctor.ts`).
 */
export function replayDoctor(name: string, hidden: readonly string[] = []): Promise<Report> {
  const { about, answers } = JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8')) as Recording;
  const limits = { requests: 100, tokensPerRequest: 512, tokens: 100_000, seconds: 900 };
  return diagnose(
    { chatUrl: new URL('http://127.0.0.1:8080/v1/chat/completions'), model: about.model, key: null, limits },
    async (_request, { probe, index }) => {
      const recorded = answers[probe];
      if (recorded === undefined) return notRecorded;
      const answer = recorded[index];
      if (answer === undefined) throw new Error(`${name} has no answer to request ${index} of ${probe}`);
      return hidden.includes(probe) ? { ...answer, status: 404, body: '' } : answer;
    },
    { onProgress: () => {}, goOn: () => Promise.resolve(true) },
  );
}
