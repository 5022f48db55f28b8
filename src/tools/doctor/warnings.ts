import { explainResult, type Facts, type Findings, findFact, hasResult, lacking, type Result } from './findings.ts';
import { allProbes } from './probes/all-probes.ts';

/** A context window of fewer tokens leaves little room beside an agent's instructions, tools and a few files. */
const smallContextWindow = 32_000;

/** Warnings that a user should read before pointing an agent there, the most serious first; null where it does not apply. */
const rules: readonly ((findings: Findings, insecureKey: boolean) => string | null)[] = [
  (_findings, insecureKey) =>
    insecureKey ? 'The key travels unencrypted: the URL begins with http:// and the host is not this machine.' : null,
  warnOfFact(
    'callAsText',
    'The model’s calls come as text. The server must parse them: vLLM needs --enable-auto-tool-choice and the model’s --tool-call-parser, SGLang --tool-call-parser, llama.cpp --jinja and a template with tools.',
  ),
  warnOfFact(
    'reasoningOnly',
    'Whole answers come as reasoning: the server’s reasoning parser does not fit this model (vLLM, SGLang: --reasoning-parser).',
  ),
  warnOfMeaning('tool_call', lacking),
  warnOfMeaning('tool_stream', lacking),
  warnOfFact(
    'badArguments',
    'Arguments of a call were not a JSON object. Tools that are marked strict may help (vLLM keeps to the schema of those alone).',
  ),
  warnOfMeaning('stream_usage', lacking),
  warnOfFact('contextWindow', (window) =>
    window < smallContextWindow
      ? `The context window of ${window} tokens is small for agents: Codex’s instructions, its tools and a few files fill it.`
      : null,
  ),
  warnOfFact(
    'contextWindow',
    (window) =>
      `Without a catalog Codex assumes 272,000 tokens: set model_context_window = ${window} in its config.toml, or model_catalog_url.`,
  ),
  (findings) =>
    hasResult(findings, 'text', 'works') && findFact(findings, 'contextWindow') === undefined
      ? 'The server does not report its context window: set model_context_window in Codex’s config.toml.'
      : null,
  warnOfMeaning('overflow', ['ignored', 'refused']),
  warnOfMeaning('image', lacking),
  warnOfFact(
    'gateway',
    (gateway) =>
      `${gateway} is in front of the engine: the profile is for this model behind it. Give each kind of model a rule of its own (docs/upstreams.md, “Profiles of your own”).`,
  ),
  warnOfMeaning('cancel', ['ignored']),
  warnOfMeaning('schema_with_tools', lacking),
  warnOfFact(
    'tags',
    'Reasoning comes inside the text. A reasoning parser of the server does better (vLLM and SGLang: --reasoning-parser; llama.cpp: --reasoning-format auto).',
  ),
  warnOfMeaning('reasoning_replay', ['ignored']),
  warnOfFact('serverError', 'The server answers some invalid requests with a 5xx. Clients retry them without success.'),
  warnOfFact(
    'idleSeconds',
    (seconds) =>
      `The server closes connections that were idle for ${seconds} s: set the idle_timeout of Envoy’s cluster below that.`,
  ),
  warnOfMeaning('error_key', ['ignored']),
];

/** Returns warnings that matter for Codex and other agents. `insecureKey`: a key is sent in the clear. */
export function listWarnings(findings: Findings, insecureKey: boolean): string[] {
  return rules.flatMap((rule) => rule(findings, insecureKey) ?? []);
}

function warnOfFact<Name extends keyof Facts>(
  name: Name,
  says: string | ((value: NonNullable<Facts[Name]>) => string | null),
) {
  return (findings: Findings): string | null => {
    const value = findFact(findings, name);
    if (value == null) return null;
    return typeof says === 'string' ? says : says(value);
  };
}

/** Builds a rule that repeats among the warnings what a probe's result means. */
function warnOfMeaning(name: string, results: readonly Result[]) {
  return (findings: Findings): string | null => {
    const result = findings.get(name)?.result;
    const probe = allProbes.find((one) => one.name === name);
    return result === undefined || probe === undefined || !results.includes(result)
      ? null
      : (explainResult(probe, result, findings) ?? null);
  };
}
