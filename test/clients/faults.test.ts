import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { type BodyStep, cut, eventStream, type Received, type Script } from '../support/upstream.ts';
import { answer, brokenCalls, call, firstPiece, overflows, rateLimited, saidTwice, toolNamed } from './answers.ts';
import { type ClientId, clients, type Fault, faultedClients, faults } from './clients.ts';
import { createCodex } from './codex.ts';
import { type Driver, startDriver } from './driver.ts';

/** How a session ended: the bells that were rung, in order, and the last text or the error that its user sees. */
interface Ended {
  readonly rung: readonly string[];
  readonly text?: unknown;
  readonly error?: string;
}

/** A way to run a session in which the model has two bells rung, one after the other. */
interface Player {
  /** The tool, by the end of its name in the Chat request, and its arguments. */
  readonly tool: string;
  ring(bell: string): object;
  play(options: { readonly url: string; readonly model: string }): Promise<Ended>;
  stop(): Promise<void>;
}

const bells = ['one', 'two'] as const;

/** Plays a fault in place of the second call. */
type Play = (call: { readonly name: string; readonly args: object; readonly mesh: TestMesh }) => Script;

/** A stream whose steps begin once the client has the first half of the call. */
const halfThen =
  (...steps: readonly (BodyStep | ((mesh: TestMesh) => Promise<unknown>))[]): Play =>
  ({ name, args, mesh }) => {
    // Envoy's count of answers rises with the head, and these bytes with the first events; the end of the answer before has fewer.
    const stat = async (name: string) =>
      Number((await mesh.admin(`/stats?filter=^http.ingress.${name}$`)).split(': ')[1]);
    let [answersBefore, bytesBefore] = [0, 0];
    const noted = async () => {
      [answersBefore, bytesBefore] = [await stat('downstream_rq_2xx'), await stat('downstream_cx_tx_bytes_total')];
    };
    // The libraries try again where no answer has begun.
    const hasBegun = async () =>
      (await stat('downstream_rq_2xx')) > answersBefore &&
      (await stat('downstream_cx_tx_bytes_total')) > bytesBefore + 1_500;
    const begun = async () => {
      for (const end = Date.now() + 60_000; !(await hasBegun()); await sleep(20))
        if (Date.now() > end) throw new Error('The client got no beginning of the answer.');
    };
    const rest = steps.map((step) => (typeof step === 'function' ? () => step(mesh) : step));
    const piece = firstPiece(name, JSON.stringify(args).slice(0, -4));
    return { headers: eventStream, body: [noted, piece, begun, ...rest] };
  };

const forEver = () => new Promise(() => {});

const plays: Readonly<Record<Fault, Play>> = {
  cut: halfThen(cut),
  'torn-line': halfThen(...rest('loses a piece of a line')),
  stall: halfThen(forEver),
  'said-twice': ({ name, args }) => saidTwice(name, args),
  'retry-after': () => ({ ...rateLimited, headers: { 'retry-after': '1' } }),
  'no-retry-after': () => ({ ...rateLimited, headers: {} }),
  'full-context': () => Object.values(overflows)[0] ?? {},
  service: halfThen(async ({ envoy, service }) => {
    // Envoy stands still meanwhile: whether a try meets the time without a service would be a matter of speed too.
    process.kill(envoy.pid, 'SIGSTOP');
    await service.kill();
    await service.start();
    process.kill(envoy.pid, 'SIGCONT');
  }, forEver),
  envoy: halfThen((mesh) => mesh.replaceEnvoy(), forEver),
};

const connectionLost = /^(terminated|Connection error\.|Failed to process successful response)$/;

/** What the user reads where a session may end with an error. */
const told: Partial<Readonly<Record<Fault, RegExp>>> = {
  cut: connectionLost,
  'torn-line': /Part of the answer may be lost/,
  stall: /The upstream was silent for 5 s/,
  'no-retry-after': /last status: 429/,
  'full-context': /context_length_exceeded|ran out of room/,
  service: connectionLost,
  envoy: connectionLost,
};

/** What follows the first piece of such a call. */
function rest(how: string): readonly BodyStep[] {
  return [...(brokenCalls[how]?.('', '').body ?? [])].slice(1);
}

let mesh: TestMesh;
let impatient: TestMesh;
beforeAll(async () => {
  const environment = { UPSTREAM_PROFILE: 'vllm' };
  [mesh, impatient] = await Promise.all([
    startTestMesh({ environment }),
    startTestMesh({ environment: { ...environment, UPSTREAM_IDLE_TIMEOUT_MS: '5000' } }),
  ]);
});
afterAll(() => Promise.all([mesh?.close(), impatient?.close()]));

const codex: Player = {
  tool: 'exec_command',
  ring: (bell) => ({ cmd: `echo ${bell} >> rung.txt` }),
  async play(options) {
    const home = createCodex(options);
    try {
      const { code, events, answer: text } = await home.exec('Ring both bells.');
      const rung = home.file('rung.txt').trim().split('\n');
      if (code === 0) return { rung, text };
      const error = events.find(({ type }) => type === 'turn.failed')?.['error'] as { readonly message: string };
      return { rung, error: error.message };
    } finally {
      home.remove();
    }
  },
  stop: async () => {},
};

function library(name: string): Player {
  const driver: Driver = startDriver(name);
  return {
    tool: 'ring',
    ring: (bell) => ({ bell }),
    async play({ url, model }) {
      const { outcome, error } = await driver.run('bells', { baseURL: `${url}/v1`, model });
      if (error !== undefined) throw new Error(error.message);
      return outcome as Ended;
    },
    stop: () => driver.stop(),
  };
}

for (const client of faultedClients)
  describe(clients[client].name, () => {
    let player: Player;
    beforeAll(() => {
      const { driver } = clients[client] as { readonly driver?: string };
      player = driver === undefined ? codex : library(driver);
    });
    afterAll(() => player?.stop());

    for (const fault of Object.keys(faults) as Fault[])
      test(faults[fault], (context) => meet(context, client, fault, player));
  });

/** Runs a session that meets the fault once, when one bell has rung and the second is called for. Leaves its cell's `ending`. */
async function meet({ task }: TestContext, client: ClientId, fault: Fault, player: Player): Promise<void> {
  Object.assign(task.meta, { client, fault });
  const model = `${client}/${fault}`;
  const own = fault === 'stall' ? impatient : mesh;
  let met: Received | undefined;
  own.upstream.script(model, (request) => {
    const count = resultsIn(request).length;
    const bell = bells[count];
    if (bell === undefined) return answer({ text: 'Both rang.' })(request);
    if (count === 0 || met !== undefined) return call(player.tool, player.ring(bell))(request);
    met = request;
    return plays[fault]({ name: toolNamed(request, player.tool), args: player.ring(bell), mesh: own });
  });
  const whole = { rung: bells, text: 'Both rang.' };
  const session = await player.play({ url: own.url, model });
  const requests = own.upstream.received(model);
  expect(met, 'the fault was met').toBeDefined();

  if (session.error === undefined || told[fault] === undefined) {
    expect(session).toEqual(whole);
    // Another try is the same request: nothing of the failed one is in the history, and nothing before it is gone.
    for (const again of requests.filter((request) => resultsIn(request).length === 1))
      expect(again.json().messages).toEqual(met?.json().messages);
    expect(requests.slice(-1).flatMap(resultsIn)).toHaveLength(2);
  } else {
    expect(session).toEqual({ rung: ['one'], error: expect.stringMatching(told[fault]) });
    // The next one of the same program finds nothing broken.
    expect(await player.play({ url: own.url, model })).toEqual(whole);
  }
  Object.assign(task.meta, { ending: session.error === undefined ? 'whole' : 'error' });
}

/** The results of tools in the conversation. */
function resultsIn(request: Received): readonly unknown[] {
  return request.json().messages.filter(({ role }) => role === 'tool');
}
