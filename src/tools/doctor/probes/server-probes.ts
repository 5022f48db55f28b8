import { builtInProfiles, readListedModel } from '../../../filter/index.ts';
import { countOf, jsonOf, objectOf, objectsOf, textOf } from '../../../formats/json/loose.ts';
import type { ProbeRow } from '../chat-probe.ts';
import {
  type Answer,
  type Answers,
  type Facts,
  type Finding,
  findFact,
  ignored,
  type Known,
  notTested,
  refused,
  works,
} from '../findings.ts';

/** How engines identify themselves: by `owned_by` in a list of models, or by an answer at a path of their own. */
const engines = [...builtInProfiles.values()].flatMap(({ profile: { name }, recognisedBy }) =>
  'engine' in recognisedBy ? [{ name, ...recognisedBy.engine }] : [],
);

export const serverProbes: readonly ProbeRow[] = [
  {
    name: 'models',
    asks: 'the list of models',
    tokens: 'none',
    request: () => [{ path: 'models' }],
    judge: judgeModels,
    means: {
      works: 'Codex can get its catalog from it (model_catalog_url).',
      ignored: 'Check the name: the server’s list does not have it.',
      refused: 'Codex cannot get a catalog. Set model_context_window in its config.toml.',
    },
  },
  {
    name: 'software',
    asks: 'which engine it is',
    requests: 5,
    tokens: 'none',
    request: () => signs.map(({ path }) => ({ path })),
    judge: judgeSoftware,
    means: {
      works: 'The comparison starts from its profile.',
      ignored: 'The profile is chosen by the probes alone.',
    },
  },
  {
    name: 'gateway',
    asks: 'which gateway is in front of it',
    requests: 2,
    tokens: 'none',
    request: () => gateways.map(({ path }) => ({ path })),
    judge: judgeGateway,
    means: { works: 'The profile is that of the model’s server behind it.' },
  },
  {
    name: 'window',
    asks: 'the context window, where Ollama tells it',
    tokens: 'none',
    request: ({ model, findings }) =>
      findFact(findings, 'software') === 'ollama' ? [{ path: '/api/show', body: { model } }] : 'only Ollama has this',
    judge: judgeWindow,
    means: { ignored: 'Set num_ctx in its Modelfile, or OLLAMA_CONTEXT_LENGTH: the default is small for agents.' },
  },
];

/** Returns a finding if one of the answers is a 401 or 403; null otherwise. */
function findDenial(answers: readonly Answer[]): Finding | null {
  const denied = answers.find(({ status }) => status === 401 || status === 403);
  return denied === undefined ? null : notTested(`status ${denied.status}: access denied`);
}

function readListed({ status, body }: Answer) {
  const data = status === 200 ? objectOf<{ data?: unknown }>(jsonOf(body))?.data : null;
  return Array.isArray(data) ? objectsOf<{ id?: unknown; owned_by?: unknown }>(data) : null;
}

/** The names of the models that an answer lists; null where it is no list. */
export function readModelNames(answer: Answer): readonly string[] | null {
  return (
    readListed(answer)
      ?.map(({ id }) => textOf(id))
      .filter((name) => name !== '') ?? null
  );
}

function judgeModels([answer]: Answers, { model }: Known): Finding {
  const idle = readIdleTimeout(answer);
  const models = readListed(answer);
  const denied = findDenial([answer]);
  if (denied !== null) return { ...denied, facts: idle };
  if (answer.status === 0) return notTested(answer.reason, idle);
  if (models === null) return refused(answer.reason || `status ${answer.status}`, idle);
  // Ollama adds the tag `latest` to a name without one.
  const listed = models.find(({ id }) => id === model) ?? models.find(({ id }) => id === `${model}:latest`);
  const ownedBy = textOf(listed?.owned_by ?? models[0]?.owned_by);
  const software = engines.find((engine) => engine.ownedBy === ownedBy)?.name;
  const { contextWindow, takesImages } = readListedModel(listed ?? {});
  const facts: Facts = {
    ...idle,
    ...(software !== undefined && { software }),
    ...(ownedBy === 'gpustack' && { gateway: 'GPUStack' }),
    ...(contextWindow !== null && { contextWindow }),
    ...(takesImages !== null && { takesImages }),
  };
  if (listed === undefined) {
    const names = readModelNames(answer) ?? [];
    return ignored(`the list has ${names.slice(0, 8).join(', ') || 'no models'}`, { ...facts, otherModels: names });
  }
  const eyes = takesImages === null ? '' : `, ${takesImages ? 'takes images' : 'takes no images'}`;
  return works(`listed${describeWindow(facts)}${eyes}`, facts);
}

function describeWindow({ contextWindow }: Facts): string {
  return contextWindow === undefined ? '' : `, context window ${contextWindow}`;
}

interface LooseProps {
  readonly default_generation_settings?: unknown;
  readonly build_info?: unknown;
  readonly version?: unknown;
  readonly modalities?: unknown;
}

/** The places at which engines describe themselves. A reader turns an answer's body into facts and words. */
const signs: readonly { readonly path: `/${string}`; read(body: string): { words: string; facts: Facts } | null }[] = [
  {
    path: '/props',
    read(body) {
      const props = objectOf<LooseProps>(jsonOf(body));
      const settings = objectOf<{ n_ctx?: unknown }>(props?.default_generation_settings);
      if (settings === null) return null;
      const contextWindow = countOf(settings.n_ctx);
      const vision = objectOf<{ vision?: unknown }>(props?.modalities)?.vision;
      return {
        words: `llama.cpp ${textOf(props?.build_info)}`,
        facts: {
          ...findEngine('/props'),
          ...(contextWindow !== null && { contextWindow }),
          ...(typeof vision === 'boolean' && { takesImages: vision }),
        },
      };
    },
  },
  {
    path: '/slots',
    read: (body) => (Array.isArray(jsonOf(body)) ? { words: '', facts: { activity: '/slots' } } : null),
  },
  {
    path: '/api/version',
    read(body) {
      const version = readVersion(body);
      return version === '' ? null : { words: `Ollama ${version}`, facts: findEngine('/api/version') };
    },
  },
  {
    path: '/metrics',
    read: (body) =>
      body.includes('vllm:num_requests_running')
        ? { words: 'vLLM', facts: { ...findEngine('/metrics'), activity: '/metrics' } }
        : null,
  },
  {
    path: '/version',
    read: (body) => (readVersion(body) === '' ? null : { words: readVersion(body), facts: {} }),
  },
];

/** Finds the profile of the engine that names itself in the list of models, or at a path of its own; null if none does. */
export async function findNamedEngine(
  list: Answer,
  ask: (path: `/${string}`) => Promise<Answer>,
): Promise<string | null> {
  const ownedBy = textOf(readListed(list)?.[0]?.owned_by);
  const named = engines.find((engine) => engine.ownedBy === ownedBy)?.name;
  if (named !== undefined) return named;
  for (const { path, read } of signs) {
    if (!engines.some((engine) => engine.path === path)) continue;
    const { status, body } = await ask(path);
    const software = status === 200 ? read(body)?.facts.software : undefined;
    if (software !== undefined) return software;
  }
  return null;
}

/** Gateways that do not name themselves in a model list, with a path at which their answer shows them. */
const gateways: readonly { readonly name: string; readonly path: `/${string}`; isIts(answer: Answer): boolean }[] = [
  {
    name: 'LiteLLM',
    path: '/health/liveliness',
    isIts: ({ status, body }) => status === 200 && body === `"I'm alive!"`,
  },
  {
    name: 'agentic-api',
    path: '/v1/conversations/conv_1',
    isIts: ({ status, body }) => status === 404 && body.includes('storage error: not found: Conversation with id'),
  },
];

function judgeGateway(answers: Answers, { findings }: Known): Finding {
  const own = gateways.find(({ isIts }, index) => answers[index] !== undefined && isIts(answers[index]))?.name;
  const gateway = own ?? findFact(findings, 'gateway');
  return gateway === undefined ? notTested('no known gateway answered') : works(gateway, { gateway });
}

function findEngine(path: string): Facts {
  const name = engines.find((engine) => engine.path === path)?.name;
  return name === undefined ? {} : { software: name };
}

function readVersion(body: string): string {
  return textOf(objectOf<LooseProps>(jsonOf(body))?.version);
}

function judgeSoftware(answers: Answers, { findings }: Known): Finding {
  const read = signs.flatMap(({ read: readSign }, index) => {
    const answer = answers[index];
    return (answer?.status === 200 ? readSign(answer.body) : null) ?? [];
  });
  const gateway = findFact(findings, 'gateway');
  const named = findFact(findings, 'software');
  const facts: Facts = Object.assign(named === undefined ? {} : { software: named }, ...read.map((sign) => sign.facts));
  if (facts.software === undefined && answers.every(({ status }) => status === 0)) return notTested(answers[0].reason);
  if (facts.software === undefined && gateway === undefined)
    return findDenial(answers) ?? ignored('it names no engine');
  const words = read
    .map((sign) => sign.words)
    .join(' ')
    .trim();
  return works(`${words || facts.software || gateway}${describeWindow(facts)}`, facts);
}

/** Judges Ollama's window: without `num_ctx` a default applies, which is not reported and usually less than the model's. */
function judgeWindow([answer]: Answers): Finding {
  if (answer.status !== 200) return notTested(answer.reason || `status ${answer.status}`);
  const shown = objectOf<{ parameters?: unknown; model_info?: unknown }>(jsonOf(answer.body));
  const given = /^num_ctx\s+(\d{1,9})\s*$/m.exec(textOf(shown?.parameters))?.[1];
  if (given !== undefined) return works(`num_ctx ${given}`, { contextWindow: Number(given) });
  const info = Object.entries(objectOf<Record<string, unknown>>(shown?.model_info) ?? {});
  const trained = countOf(info.find(([name]) => name.endsWith('.context_length'))?.[1]);
  return ignored(`no num_ctx${trained === null ? '' : `; the model supports ${trained}`}`);
}

function readIdleTimeout({ keepAlive }: Answer): Facts {
  const seconds = /timeout=(\d{1,6})/.exec(keepAlive ?? '')?.[1];
  return seconds === undefined ? {} : { idleSeconds: Number(seconds) };
}
