import { isWithin } from '../../formats/json/loose.ts';
import type { ChatPlace, ExplainedField } from './explanation.ts';
import { isOtherwise, isThere, judgeField } from './fates.ts';
import { findValue, isSameJson, listFields, type Path, readRecord, writePath } from './fields.ts';
import { buildRule, rowOfPath, rowOfValue } from './mapping-link.ts';
import { type Place, splitBody } from './places.ts';
import type { ExplainOptions, RequestRun, SentRun } from './run-request.ts';
import { plainAnswer, runRequest, translateAnswer } from './run-request.ts';
import { type Cause, listCauses, type VariedRun, type WhatIf } from './what-if.ts';

/** Explains a request that is sent: what each field became, what was dropped, and which parts come from no field. */
export function explainFields(run: SentRun, body: unknown, whatIf: WhatIf, options: ExplainOptions) {
  const { setup, request, now, fields, linkBase } = options;
  // Replaying an answer uses up an exchange, and that of `run` may still be needed.
  const again = runRequest(setup, request, now);
  const response = again.type === 'sent' ? translateAnswer(again, plainAnswer).response : null;
  const isRepeated = readRecord(response)?.['object'] === 'response';
  let kept: readonly VariedRun[] | null = null;
  const shown = createShown();

  /** Lists the causes of an outcome. The variations run when they are first needed. */
  function because(isOtherwiseIn: (other: RequestRun, cause: Cause) => boolean): readonly Cause[] {
    kept ??= whatIf.runs(body, run);
    return listCauses(kept, isOtherwiseIn);
  }

  function explainField(path: Path): ExplainedField {
    const field = writePath(path);
    const value = findValue(body, path);
    const outcome = judgeField(path, value, run, isRepeated);
    const { fate, becomes, dropped, repeated } = outcome;
    // Of a field that is sent, only the missing parts need an explanation.
    const row = fate === 'sent' && dropped[0] !== undefined ? rowOfPath(dropped[0]) : rowOfValue(field, value);
    const isDecided = (other: RequestRun, { kind }: Cause) =>
      other.type === 'sent'
        ? isOtherwise(outcome, judgeField(path, value, other, isRepeated))
        : // Under that variation it was dropped, with all the rest.
          (other.type === 'answered' && other.dropped.some((name) => isWithin(name, field))) ||
          dropped.some((name) => isNotDropped(name, other)) ||
          // The variable decides between a rewritten field and a refusal.
          (kind === 'variable' &&
            fate === 'rewritten' &&
            other.type === 'refused' &&
            isWithin(other.error.param ?? '', field));
    // An empty list of rules may be why a field is lost, but not why it is sent.
    const isSent = (fate === 'renamed' || fate === 'rewritten') && dropped.length === 0;
    const hasCause = fate !== 'absent' && (fate !== 'sent' || dropped.length > 0);
    return {
      field,
      ...(value === undefined ? {} : { value }),
      fate,
      becomes: becomes.map(shown),
      in_response: [...repeated.keys()],
      dropped,
      causes: hasCause ? because(isDecided).filter((cause) => !isSent || !isEmptyContainer(cause.value)) : [],
      ...buildRule(row, linkBase),
    };
  }

  return {
    fields: (fields?.flatMap((path) => splitField(path, body)) ?? listFields(body)).map(explainField),
    dropped: run.dropped.map((name) => ({
      name,
      causes: because((other) => isNotDropped(name, other)),
      ...buildRule(rowOfPath(name), linkBase),
    })),
    added:
      fields === null
        ? run.places().added.map((place) => ({ ...shown(place), causes: because(createIsWithout(place)) }))
        : [],
  };
}

/** Splits a list or an object that was asked for into its parts. Any other field stays whole. */
function splitField(path: Path, body: unknown): readonly Path[] {
  const name = writePath(path);
  const parts = listFields(body).filter((part) => isWithin(writePath(part), name));
  return parts.length === 0 ? [path] : parts;
}

function isEmptyContainer(value: unknown): boolean {
  return isSameJson(value, []) || isSameJson(value, {});
}

/**
 * Creates a function that shows a place with its value, at most 20 times. Two thousand messages that were merged into
 * one would repeat its value two thousand times.
 */
function createShown(): (place: Place) => ChatPlace {
  const times = new Map<string, number>();
  return ({ path, value }) => {
    const name = writePath(path);
    const before = times.get(name) ?? 0;
    times.set(name, before + 1);
    return { path: name, value: before < 20 ? value : '…' };
  };
}

/** Creates a function that tells whether a run lacks this value at its place. */
function createIsWithout(place: Place): (other: RequestRun) => boolean {
  const [, header] = /^header (.*)$/.exec(String(place.path[0])) ?? [];
  return (other) =>
    other.type === 'sent' &&
    (header === undefined ? !isThere(place, splitBody(other.chat())) : other.headers[header] === undefined);
}

/** Whether the name is not dropped in another run, because the field is sent or the request is refused for it. */
function isNotDropped(name: string, other: RequestRun): boolean {
  if (other.type === 'sent') return !other.dropped.includes(name);
  if (other.type !== 'refused' || other.error.param === null) return false;
  const element = (path: string) => /^.*\[\d+\]/.exec(path)?.[0] ?? path;
  return element(other.error.param) === element(name);
}
