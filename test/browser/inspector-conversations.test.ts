import { OpenAI } from 'openai';
import { describe, expect, test } from 'vitest';
import { harProblems } from '../support/har.ts';
import { inspectedMesh } from '../support/inspected-mesh.ts';
import { delta, done, eventStream, finish } from '../support/upstream.ts';

const inspected = inspectedMesh();
const { open, answered } = inspected;

type Item = OpenAI.Responses.ResponseInputItem;
const tool: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'read_file',
  strict: false,
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
};

/** The usage of the nth turn: each finds in the cache what the one before had, but for 100 tokens. */
function used(turn: number): string {
  const [prompt_tokens, completion_tokens] = [1000 * turn, 20];
  const prompt_tokens_details = { cached_tokens: 900 * (turn - 1) };
  const fields = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + 20, prompt_tokens_details };
  return `data: ${JSON.stringify({ choices: [], usage: fields })}\n\n`;
}

/** An agent's turns through the SDK: it sends its whole history each time, and answers each call. */
async function converse(model: string, instructions: (turn: number) => string, turns: number): Promise<void> {
  const client = new OpenAI({ baseURL: `${inspected.mesh.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const calls = delta({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'read_file', arguments: '{}' } }] });
  let asked = 0;
  inspected.mesh.upstream.script(model, () => {
    asked += 1;
    const answer = asked < turns ? [calls, finish('tool_calls')] : [delta({ content: 'Done.' }), finish('stop')];
    return { headers: eventStream, body: [30, ...answer, 30, used(asked), done] };
  });
  const input: Item[] = [{ role: 'user', content: 'What is in the file?' }];
  for (let turn = 1; turn <= turns; turn += 1) {
    const stream = client.responses.stream({ model, instructions: instructions(turn), input, tools: [tool] });
    const { output } = await stream.finalResponse();
    for (const item of output) {
      input.push(item as Item);
      if (item.type === 'function_call')
        input.push({ type: 'function_call_output', call_id: item.call_id, output: `line ${turn}` });
    }
  }
}

describe('a conversation', () => {
  test('is found by its history: its round trips, what they took, and that the prompt’s prefix was kept', async () => {
    await converse('agent', () => 'Be brief.', 3);
    await answered('alone');
    const { page, download } = await open();
    await page.getByRole('option', { name: /alone/ }).waitFor();
    const asked = page.getByRole('option', { name: /in the file\?.*agent · (1 tool result · )?called read_file/ });
    expect(await asked.count()).toBe(2);
    await page.getByRole('button', { name: 'Conversations', exact: true }).click();
    await page.getByRole('option', { name: /agent.*3 round trips/ }).click();
    await page.getByRole('option', { name: /What is in the file\?/ }).waitFor();
    expect(await page.getByRole('option').count()).toBe(1);
    const detail = page.getByRole('region', { name: 'The selected conversation' });
    await detail.getByText('6,000 (2,700 cached)').waitFor();
    // Its address leads back to it.
    await page.reload();
    await detail.getByText('6,000 (2,700 cached)').waitFor();
    // A round trip has the user's words where they are new, and the results of its calls, which came with the next one.
    const roundTrip = (number: number) => detail.getByRole('article', { name: `Round trip ${number}` });
    await roundTrip(3).getByText('Done.', { exact: true }).waitFor();
    await roundTrip(1).getByText('What is in the file?').waitFor();
    expect(await detail.getByText('What is in the file?').count()).toBe(1);
    await roundTrip(1)
      .getByText(/ · 1,000 → 20 tok · 2 messages$/)
      .waitFor();
    await roundTrip(2)
      .getByText(/ · 2,000 \(\+1,000\), 900 cached → 20 tok · 2 of 4 messages kept$/)
      .waitFor();
    for (const number of [1, 2]) {
      const result = roundTrip(number).getByLabel('Result of read_file');
      await expect.poll(() => roundTrip(number).locator('summary').textContent()).toBe(`read_file{} → line ${number}`);
      expect(await result.isVisible()).toBe(false);
      await roundTrip(number).getByText('read_file', { exact: true }).click();
      expect(await result.textContent()).toBe(`line ${number}`);
    }
    expect(await detail.getByText('Changed since the round trip before').count()).toBe(0);
    const { name, text } = await download(() => detail.getByRole('button', { name: 'Download HAR' }).click());
    expect(name).toMatch(/^conversation-\d+\.har$/);
    const har = JSON.parse(text);
    expect(harProblems(har)).toEqual([]);
    expect(har.log.entries).toHaveLength(6);

    await roundTrip(3).getByRole('button', { name: 'Open the exchange' }).click();
    await page.getByRole('heading', { name: /agent.*completed/ }).waitFor();
    const one = await download(() => page.getByRole('button', { name: 'HAR', exact: true }).click());
    expect(harProblems(JSON.parse(one.text))).toEqual([]);
    await page.getByRole('button', { name: 'Show its round trips' }).click();
    await detail.getByText('6,000 (2,700 cached)').waitFor();
  });

  test('whose instructions change says where the prompt parts, while it goes on', async () => {
    const { page } = await open();
    await page.keyboard.press('c');
    await converse('clock', (turn) => `It is 12:0${turn}. Be brief.`, 2);
    await page.getByRole('option', { name: /clock.*2 round trips.*prefix broken/ }).waitFor();
    await page.getByRole('option', { name: /clock/ }).click();
    const turn = page.getByRole('article', { name: 'Round trip 2' });
    await turn.getByText('the prompts part at messages[0].content, character 10').waitFor();
    expect(await turn.locator('.banner pre').textContent()).toBe('− It is 12:01. Be brief.\n+ It is 12:02. Be brief.');
    await page.keyboard.press('Escape');
    await page.getByText('Select a conversation').waitFor();
  });
});
