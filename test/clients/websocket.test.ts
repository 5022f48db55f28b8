import { afterAll, beforeAll, describe, expect } from 'vitest';
import { startTestMesh, type TestMesh } from '../support/mesh.ts';
import { delta, eventStream, type Received } from '../support/upstream.ts';
import { answer, call, knows } from './answers.ts';
import { clients, clientTest } from './clients.ts';
import { createCodex } from './codex.ts';
import { startDriver } from './driver.ts';

let mesh: TestMesh;
beforeAll(async () => {
  mesh = await startTestMesh({ webSocket: true, environment: { UPSTREAM_PROFILE: 'vllm' } });
});
afterAll(() => mesh?.close());

const requests = (model: string) => mesh.upstream.received(model).map((request) => request.json());
const completedTurns = async () =>
  Number(
    /^responses_extproc_websocket_turns_total\{outcome="completed"\} (\d+)$/m.exec(
      await mesh.service.admin('/metrics'),
    )?.[1] ?? 0,
  );

const weather = {
  calls: ['Paris', 'Rome'].map((city) => ({ name: 'get_weather', arguments: { city } })),
};
const history = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Compare the weather in Paris and Rome.' },
  { role: 'assistant' },
  { role: 'tool', content: 'Paris: sunny' },
  { role: 'tool', content: 'Rome: sunny' },
];

/** What a warm-up gets: one token, which nobody sees. */
const warmUp = answer({ text: 'I' });
const isWarmUp = (request: { readonly [field: string]: unknown }) => request['max_completion_tokens'] === 1;

/** What the scenario of each library sends, and what it returns. That of `openai` warms the cache first. */
const libraries = [
  { id: 'openai', requests: 2, outcome: 'Sunny in both.', warmUps: [warmUp] },
  { id: 'openai-python', requests: 2, outcome: 'Sunny in both.' },
  { id: 'agents', requests: 3, outcome: ['Sunny in both.', 'Yes.'] },
  { id: 'agents-python', requests: 3, outcome: ['Sunny in both.', 'Yes.'] },
] as const;

for (const library of libraries)
  describe(clients[library.id].name, () => {
    clientTest(library.id, 'websocket', 'runs tools on a WebSocket, and sends only what is new', async () => {
      const model = `${library.id}/websocket`;
      const warmUps = 'warmUps' in library ? library.warmUps : [];
      const turns = [answer(weather), answer({ text: 'Sunny in both.' }), answer({ text: 'Yes.' })];
      mesh.upstream.script(model, ...warmUps, ...turns);
      const before = await completedTurns();
      const driver = startDriver(clients[library.id].driver);
      const result = await driver.run('websocket', { baseURL: `${mesh.url}/v1`, model });
      await driver.stop();

      expect(result).toEqual({ outcome: library.outcome });
      const all = requests(model).filter((request) => !isWarmUp(request));
      expect(all).toHaveLength(library.requests);
      expect(requests(model).filter(isWarmUp)).toHaveLength(warmUps.length);
      expect(all[1]?.messages).toMatchObject(history);
      expect((await completedTurns()) - before).toBeGreaterThanOrEqual(library.requests);
    });
  });

describe('Codex', () => {
  clientTest('codex', 'websocket', 'warms up, and works: tools, a compaction, and a fact known after it', async () => {
    const full = { usage: [90_000, 10] } as const;
    const turns = [
      call('exec_command', { cmd: 'echo the code word is heron' }, full),
      (request: Received) =>
        answer({ text: knows(request, 'heron') ? 'SUMMARY: the code word is heron.' : 'Lost.' })(request),
      (request: Received) => answer({ text: knows(request, 'SUMMARY') ? 'It was heron.' : 'I forgot.' })(request),
    ];
    mesh.upstream.script('codex-websocket', (request) =>
      isWarmUp(request.json()) ? warmUp(request) : (turns.shift()?.(request) ?? { status: 500 }),
    );
    const before = await completedTurns();
    const codex = createCodex({
      url: mesh.url,
      model: 'codex-websocket',
      settings: ['model_auto_compact_token_limit = 50000'],
      providerSettings: ['supports_websockets = true'],
    });
    try {
      const run = await codex.exec('Find the code word.');
      expect(run).toMatchObject({ code: 0, answer: 'It was heron.' });
      expect(run.stderr).not.toMatch(/falling back|fall back/i);
      expect(turns).toEqual([]);
      const all = requests('codex-websocket');
      const [warm] = all.filter(isWarmUp);
      const [first, ...more] = all.filter((request) => !isWarmUp(request));
      expect(more).toHaveLength(2);
      // What it warms is what the first turn begins with; the skills join it when the user has asked.
      const [begun, whole] = [warm, first].map((request) => String(request?.messages[0]?.['content']));
      expect(whole?.startsWith(begun ?? '-')).toBe(true);
      expect(warm?.messages.slice(1)).toEqual([{ role: 'user', content: '.' }]);
      expect(warm?.['tools']).toEqual(first?.['tools']);
      expect((await completedTurns()) - before).toBeGreaterThanOrEqual(4);
    } finally {
      codex.remove();
    }
  });

  clientTest('codex', 'websocket', 'steers a running turn: the connection lives, and goes on from there', async () => {
    let begun = () => {};
    const isRunning = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const name = 'codex-steer';
    mesh.upstream.script(name, (request) => {
      if (isWarmUp(request.json())) return warmUp(request);
      if (knows(request, 'Make it blue.')) return answer({ text: 'Blue it is.' })(request);
      const waits = () => {
        begun();
        return new Promise(() => {});
      };
      return { headers: eventStream, body: [delta({ reasoning_content: 'Which colour?' }), waits] };
    });
    const codex = createCodex({
      url: mesh.url,
      // One of those whose turns Codex interrupts by a message, not by closing the connection.
      model: 'gpt-6.1-sol',
      providerSettings: ['supports_websockets = true', `http_headers = { "x-test-script" = "${name}" }`],
    });
    try {
      expect(await codex.steer('Paint the shed.', isRunning, 'Make it blue.')).toBe('Blue it is.');
      const [interrupted, steered] = mesh.upstream.received(name).filter((request) => !isWarmUp(request.json()));
      expect(await interrupted?.over).toBe(false);
      expect(
        steered
          ?.json()
          .messages.map(({ content }) => content)
          .slice(-2),
      ).toEqual(['Paint the shed.', 'Make it blue.']);
      const line = await mesh.service.logged(
        ({ msg, turns }) => msg === 'websocket closed' && Object(turns).incomplete === 1,
      );
      expect(line['turns']).toMatchObject({ incomplete: 1, completed: 2 });
    } finally {
      codex.remove();
    }
  });

  clientTest('codex', 'websocket', 'falls back to HTTP at once where the listener is off', async () => {
    const plain = await startTestMesh();
    plain.upstream.script('fall-back', answer({ text: 'Hello!' }));
    const codex = createCodex({
      url: plain.url,
      model: 'fall-back',
      providerSettings: ['supports_websockets = true'],
    });
    try {
      expect(await codex.exec('Say hello.')).toMatchObject({ code: 0, answer: 'Hello!' });
      expect(plain.upstream.received('fall-back')).toHaveLength(1);
    } finally {
      codex.remove();
      await plain.close();
    }
  });
});
