import { isCredentialHeader, redactionMark } from '../../formats/credentials/names.ts';
import { jsonOf } from '../../formats/json/loose.ts';
import type { Config } from '../../service/settings/config.ts';
import { explainFields } from './explain-fields.ts';
import type { Reason, Refusal, RequestExplanation, UpstreamRequest } from './explanation.ts';
import { findValue, isSameJson } from './fields.ts';
import { buildRule, rowOfError, rowOfPath } from './mapping-link.ts';
import { listRefusals } from './refusals.ts';
import type { AnsweredRun, CatalogRun, ClientRequest, ExplainOptions, RefusedRun, RequestRun } from './run-request.ts';
import { plainList, replaceBody, runRequest, type SentRun, translateAnswer } from './run-request.ts';
import { createWhatIf, listCauses, listVariations, type VariedRun, type WhatIf } from './what-if.ts';

/**
 * Explains a request by running it through the service's own exchange, which traces what each field became; then under
 * every other value of each flag and variable, which shows what they decide. Nothing here knows how a field is
 * translated.
 */
export function explainRequest(options: ExplainOptions): RequestExplanation {
  const { setup, request, now } = options;
  const run = runRequest(setup, request, now);
  const body = readTracedBody(run, request);
  const named = findValue(body, ['model']);
  const model = typeof named === 'string' && named !== '' ? named : setup.config.DEFAULT_MODEL;
  const whatIf = createWhatIf(options, body, model);
  const unexplained = {
    profile: setup.profile.name,
    model: model === '' ? null : model,
    request: { method: request.method, path: request.path },
    outcome: run.type,
    chat_request: null,
    refusals: [],
    fields: [],
    dropped: [],
    added: [],
    catalog: null,
    answered: null,
    notes: whatIf.notes,
  };
  switch (run.type) {
    case 'passed':
      return unexplained;
    case 'catalog':
      return {
        ...unexplained,
        chat_request: buildUpstreamRequest(run, null),
        catalog: explainCatalog(run, body, model, options),
      };
    case 'answered':
      return { ...unexplained, ...explainAnswered(run, body, whatIf, options) };
    case 'refused':
      return { ...unexplained, refusals: explainRefusals(run, body, whatIf, options) };
    case 'sent':
      return {
        ...unexplained,
        chat_request: buildUpstreamRequest(run, run.chat()),
        ...explainFields(run, body, whatIf, options),
      };
  }
}

function explainCatalog(run: CatalogRun, body: unknown, model: string, options: ExplainOptions): Reason {
  const { setup: usual, request, now, linkBase } = options;
  const made = translateAnswer(run, plainList).body;
  const others = listVariations(usual, model, body).flatMap(({ cause, setup }): readonly VariedRun[] => {
    const other = runRequest(setup, request, now);
    return other.type === 'catalog' && !isSameJson(translateAnswer(other, plainList).body, made)
      ? [{ cause, run: other }]
      : [];
  });
  return {
    causes: listCauses(others, () => true),
    rule: 'The upstream’s list of models gets a `models` beside its own `data`: the catalog that Codex reads.',
    link: `${linkBase}docs/mapping.md#the-catalog-for-codex`,
  };
}

/** Explains a request that the filter answers itself, by the settings under which it would have been sent. */
function explainAnswered(run: AnsweredRun, body: unknown, whatIf: WhatIf, { linkBase }: ExplainOptions) {
  const causes = listCauses(whatIf.runs(body, run), (other) => other.type === 'sent');
  const buildReason = (name: string): Reason => ({ causes, ...buildRule(rowOfPath(name), linkBase) });
  return { answered: buildReason('generate'), dropped: run.dropped.map((name) => ({ name, ...buildReason(name) })) };
}

function explainRefusals(run: RefusedRun, body: unknown, whatIf: WhatIf, options: ExplainOptions): readonly Refusal[] {
  const { setup, request, now, linkBase } = options;
  // A repair that removes a call or an output leaves its partner alone.
  const config: Config = { ...setup.config, ORPHAN_OUTPUTS: 'synthesize', MISSING_OUTPUTS: 'synthesize' };
  const refused = listRefusals(run, body, (value, isLenient) =>
    runRequest(isLenient ? { ...setup, config } : setup, replaceBody(request, value), now),
  );
  return refused.map((one, index): Refusal => {
    const next = refused[index + 1]?.run.error;
    const overcome = (other: RequestRun) =>
      other.type === 'sent' || (other.type === 'refused' && next !== undefined && isSameJson(other.error, next));
    const { status, error } = one.run;
    const causes = listCauses(whatIf.runs(one.body, one.run, refused.length), overcome);
    return { status, error, causes, ...buildRule(rowOfError(error, body), linkBase) };
  });
}

function buildUpstreamRequest(run: SentRun | CatalogRun, body: unknown): UpstreamRequest {
  const { method, path, headers, headerChanges } = run;
  // Output gets pasted: of keys and cookies only their presence is shown.
  const shown = Object.entries(headers).map(([name, value]) => [
    name,
    isCredentialHeader(name) ? redactionMark : value,
  ]);
  return {
    method,
    path,
    headers: Object.fromEntries(shown),
    headers_set: Object.keys(headerChanges.set).filter((name) => !name.startsWith(':')),
    headers_removed: headerChanges.remove,
    body,
  };
}

/** The body as the service read it. An unreadable body is undefined. */
function readTracedBody(run: RequestRun, { body }: ClientRequest): unknown {
  return run.provenance === undefined ? (jsonOf(body.toString()) ?? undefined) : run.provenance.body;
}
