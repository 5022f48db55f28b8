import { type Facts, type Findings, factOf, found, type Result } from './probe-types.ts';

/** Something a user should know before pointing an agent there. */
interface Rule {
  /** The probe that shows it, and the results that do. */
  readonly probe?: string;
  readonly results?: readonly Result[];
  /** Or a fact. */
  applies?(findings: Findings, insecureKey: boolean): boolean;
  text(findings: Findings): string;
}

const failing: readonly Result[] = ['refused', 'ignored', 'broken'];

/** Below this an agent's instructions, its tools and a few files leave little room. */
const smallContextWindow = 32_000;

const rules: readonly Rule[] = [
  {
    applies: (_findings, insecureKey) => insecureKey,
    text: () => 'The key travels unencrypted: the URL begins with http:// and the host is not this machine.',
  },
  {
    applies: (findings) => factOf(findings, 'callAsText') === true,
    text: () =>
      'The model’s calls come as text. The server must parse them: vLLM needs --enable-auto-tool-choice and the model’s --tool-call-parser, SGLang --tool-call-parser, llama.cpp --jinja and a template with tools.',
  },
  {
    applies: (findings) => factOf(findings, 'reasoningOnly') === true,
    text: () =>
      'Whole answers come as reasoning: the server’s reasoning parser does not fit this model (vLLM, SGLang: --reasoning-parser).',
  },
  {
    probe: 'tool_call',
    results: failing,
    text: () => 'Codex works only through tool calls: without them it can neither read nor change anything.',
  },
  {
    probe: 'tool_stream',
    results: failing,
    text: () => 'Codex streams every request: tool calls must work in streams too.',
  },
  {
    applies: (findings) => factOf(findings, 'badArguments') === true,
    text: () =>
      'Arguments of a call were not a JSON object. Tools that are marked strict may help (vLLM keeps to the schema of those alone).',
  },
  {
    probe: 'stream_usage',
    results: failing,
    text: () => 'Streams have no usage: Codex cannot see its context fill up, and does not compact in time.',
  },
  {
    applies: (findings) => (factOf(findings, 'contextWindow') ?? smallContextWindow) < smallContextWindow,
    text: (findings) =>
      `The context window of ${windowText(findings)} tokens is small for agents: Codex’s instructions, its tools and a few files fill it.`,
  },
  {
    applies: (findings) => factOf(findings, 'contextWindow') !== undefined,
    text: (findings) =>
      `Without a catalog Codex assumes 272,000 tokens: set model_context_window = ${windowText(findings)} in its config.toml, or model_catalog_url.`,
  },
  {
    applies: (findings) => found(findings, 'text', 'works') && factOf(findings, 'contextWindow') === undefined,
    text: () => 'The server does not report its context window: set model_context_window in Codex’s config.toml.',
  },
  {
    probe: 'overflow',
    results: ['ignored'],
    text: () =>
      'Prompts that are too long are cut silently: the agent forgets its task. Raise the server’s context window.',
  },
  {
    probe: 'overflow',
    results: ['refused'],
    text: () =>
      'The error for a prompt that is too long is not recognised: agents do not compact on it. Please report its text.',
  },
  {
    probe: 'image',
    results: ['refused', 'broken'],
    text: () =>
      'No images: with `image: omit` the model gets a short text in place of a screenshot, and a catalog tells Codex to send none.',
  },
  {
    probe: 'image',
    results: ['ignored'],
    text: () =>
      'Images are accepted but not seen: with `image: omit` a text tells the model that one was left out, so that it makes up nothing about a screenshot.',
  },
  {
    applies: (findings) => factOf(findings, 'gateway') !== undefined,
    text: (findings) =>
      `${factOf(findings, 'gateway')} is in front of the engine: the profile is for this model behind it. Give each kind of model a rule of its own (docs/upstreams.md, “Profiles of your own”).`,
  },
  {
    probe: 'cancel',
    results: ['ignored'],
    text: () => 'A cancelled request keeps the server busy: after Esc in Codex the next answer waits.',
  },
  {
    probe: 'schema_with_tools',
    results: failing,
    text: () => 'A schema and tools at once do not work: codex exec --output-schema cannot use tools here.',
  },
  {
    applies: (findings) => factOf(findings, 'tags') !== undefined,
    text: () =>
      'Reasoning comes inside the text. A reasoning parser of the server does better (vLLM and SGLang: --reasoning-parser; llama.cpp: --reasoning-format auto).',
  },
  {
    probe: 'reasoning_replay',
    results: ['ignored'],
    text: () =>
      'Earlier reasoning does not reach the model: it may repeat its thoughts in long sessions. Some templates have a switch for it.',
  },
  {
    applies: (findings) => [...findings.values()].some(({ facts }) => facts?.serverError === true),
    text: () => 'Some invalid requests are answered with a 5xx: clients retry them in vain.',
  },
  {
    applies: (findings) => factOf(findings, 'idleSeconds') !== undefined,
    text: (findings) =>
      `The server closes connections that were idle for ${factOf(findings, 'idleSeconds')} s: set the idle_timeout of Envoy’s cluster below that.`,
  },
  {
    probe: 'error_key',
    results: ['ignored'],
    text: () => 'The server answers without a valid key.',
  },
];

/** What matters for Codex and other agents, the most serious first. `insecureKey`: a key is sent in the clear. */
export function warningsOf(findings: Findings, insecureKey: boolean): string[] {
  return rules
    .filter(({ probe, results, applies }) =>
      probe === undefined ? applies?.(findings, insecureKey) : found(findings, probe, ...(results ?? [])),
    )
    .map(({ text }) => text(findings));
}

function windowText(findings: Findings): string {
  const window: Facts['contextWindow'] = factOf(findings, 'contextWindow');
  return String(window ?? 0);
}
