import { type ReadAnswer, readChatAnswer } from './chat-answer.ts';
import { buildChat } from './chat-body.ts';
import { accepted, broken, notTested, refused } from './findings.ts';
import type { Answer, Finding, Known, Probe, ProbeRequest } from './probe-types.ts';

/** A probe of one Chat request, as its group lists it; errors and broken answers to it are judged alike for all. */
export interface ChatRow extends Pick<Probe, 'name' | 'asks' | 'essential'>, Partial<Pick<Probe, 'means'>> {
  /** A probe whose result does not depend on the content asks for few tokens; any other asks for many. */
  readonly tokens?: 'few';
  /** The fields of the Chat request, or the reason why the question does not arise. */
  readonly sends: Fields | ((known: Known) => Fields | string);
  /** Judges the answer. Without a judge any answer counts as `accepted`. */
  judge?(answer: ReadAnswer, known: Known): Finding;
}

/** A probe that sends other requests than one Chat request. */
export type ProbeRow = Omit<Probe, 'group' | 'requests'> & Partial<Pick<Probe, 'requests'>>;

type Fields = Readonly<Record<string, unknown>>;

/** Builds the probe that a row of a group describes. */
export function buildProbe(group: Probe['group'], row: ChatRow | ProbeRow): Probe {
  if ('request' in row) return { requests: 1, ...row, group };
  const { sends, judge, tokens = judge === undefined ? 'few' : 'many', means = {}, ...rest } = row;
  return {
    ...rest,
    group,
    tokens,
    means,
    requests: 1,
    request(known): readonly ProbeRequest[] | string {
      const fields = typeof sends === 'function' ? sends(known) : sends;
      return typeof fields === 'string' ? fields : [buildChat(known, tokens, fields)];
    },
    judge: ([answer], known) => judgeAnswer(answer, (read) => judge?.(read, known) ?? accepted('answered')),
  };
}

/** Judges a Chat answer by what was answered; errors and broken answers are judged here. */
export function judgeAnswer(answer: Answer, judge: (answer: ReadAnswer) => Finding): Finding {
  const read = readChatAnswer(answer);
  switch (read.type) {
    case 'error':
      return refused(`${read.status}: ${read.message}`, read.status >= 500 ? { serverError: true } : undefined);
    case 'broken':
      return broken(read.message);
    // A slow or overloaded server shows nothing about the profile.
    case 'unanswered':
      return notTested(read.message);
    case 'answer':
      return judge(read);
  }
}
