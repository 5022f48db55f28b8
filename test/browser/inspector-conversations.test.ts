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
  test('is found by its history: its turns, what they took, and that the prompt’s prefix was kept', async () => {
    await converse('agent', () => 'Be brief.', 3);
    await answered('alone');
    const { page, download } = await open();
    await page.getByRole('option', { name: /alone/ }).waitFor();
    const asked = page.getByRole('option', { name: /in the file\?.*agent · (1 tool result · )?called read_file/ });
    expect(await asked.count()).toBe(2);
    await page.getByRole('button', { name: 'Conversations', exact: true }).click();
    await page.getByRole('option', { name: /agent.*3 turns/ }).click();
    await page.getByRole('option', { name: /What is in the file\?/ }).waitFor();
    expect(await page.getByRole('option').count()).toBe(1);
    const detail = page.getByRole('region', { name: 'The selected conversation' });
    await detail.getByText('6,000 (2,700 cached)').waitFor();
    // Its address leads back to it.
    await page.reload();
    await detail.getByText('6,000 (2,700 cached)').waitFor();
    const cells = await detail
      .locator('tbody tr')
      .evaluateAll((rows) => rows.map((each) => [1, 4, 5, 6].map((cell) => each.children[cell]?.textContent)));
    expect(cells).toEqual([
      ['What is in the file?→ read_file', '1,000', '20', '2 messages'],
      ['What is in the file?→ read_file', '2,000 (+1,000)', '20', 'kept: 2 of 4 messages'],
      ['What is in the file?Done.', '3,000 (+1,000)', '20', 'kept: 4 of 6 messages'],
    ]);
    // On one time axis: the last turn ends where the axis does, and the first begins where it begins.
    const axis = await detail.locator('tbody .when .strip').first().boundingBox();
    const begin = await detail.locator('tbody .waiting').first().boundingBox();
    const end = await detail.locator('tbody .answering').last().boundingBox();
    if (axis === null || begin === null || end === null) throw new Error('the waterfall is not in view');
    expect(Math.abs(begin.x - axis.x)).toBeLessThan(3);
    expect(Math.abs(end.x + end.width - axis.x - axis.width)).toBeLessThan(3);

    await detail.getByRole('button', { name: '3', exact: true }).click();
    const turn = page.getByRole('region', { name: 'Turn 3' });
    await turn.getByText('This prompt begins with the whole previous prompt, byte for byte').waitFor();
    // The heading’s words end before its button begins.
    const gap = await turn.locator('h3').evaluate((heading) => {
      const words = heading.ownerDocument.createRange();
      words.setStart(heading, 0);
      words.setEndBefore(heading.querySelector('button') ?? heading);
      return (heading.querySelector('button')?.getBoundingClientRect().left ?? 0) - words.getBoundingClientRect().right;
    });
    expect(gap).toBeGreaterThanOrEqual(6);
    const added = turn.getByRole('list', { name: 'New in this turn' });
    await added.getByText('"read_file"').waitFor();
    await added.getByText('"line 2"').waitFor();
    expect(await added.getByText('"line 1"').count()).toBe(0);
    const { name, text } = await download(() => detail.getByRole('button', { name: 'Download HAR' }).click());
    expect(name).toMatch(/^conversation-\d+\.har$/);
    const har = JSON.parse(text);
    expect(harProblems(har)).toEqual([]);
    expect(har.log.entries).toHaveLength(6);

    await turn.getByRole('button', { name: 'Open the exchange' }).click();
    await page.getByRole('heading', { name: /agent.*completed/ }).waitFor();
    const one = await download(() => page.getByRole('button', { name: 'HAR', exact: true }).click());
    expect(harProblems(JSON.parse(one.text))).toEqual([]);
    await page.getByRole('button', { name: 'Show its turns' }).click();
    await detail.getByText('6,000 (2,700 cached)').waitFor();
  });

  test('whose instructions change says where the prompt parts, while it goes on', async () => {
    const { page } = await open();
    await page.keyboard.press('c');
    await converse('clock', (turn) => `It is 12:0${turn}. Be brief.`, 2);
    await page.getByRole('option', { name: /clock.*2 turns.*prefix broken/ }).waitFor();
    await page.getByRole('option', { name: /clock/ }).click();
    await page.getByRole('button', { name: '2', exact: true }).click();
    const turn = page.getByRole('region', { name: 'Turn 2' });
    await turn.getByText('they part at messages[0].content, character 10').waitFor();
    expect(await turn.locator('pre').textContent()).toBe('− It is 12:01. Be brief.\n+ It is 12:02. Be brief.');
    await page.getByText('differs at messages[0]', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Select a conversation').waitFor();
  });
});
