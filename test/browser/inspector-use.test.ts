import { describe, expect, test } from 'vitest';
import { inspectedMesh } from '../support/inspected-mesh.ts';
import { completion, delta, done, eventStream, finish, gate, reset } from '../support/upstream.ts';

const inspected = inspectedMesh();
const { open, answered } = inspected;

const conversation = [
  { role: 'user', content: 'Which walk would you take?' },
  { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Paris"}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
  { role: 'user', content: 'And now?' },
];
const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }];

describe('what became of each item', () => {
  test('is said beside it, and why when it is selected', async () => {
    inspected.mesh.upstream.script('items', { body: [completion({ content: 'Yes' })] });
    await answered('items', { instructions: 'Be brief.', input: conversation, tools });
    const { page } = await open({ viewport: { width: 1440, height: 2400 } });
    await page.getByRole('option', { name: /items.*completed/ }).click();
    const client = page.getByRole('listbox', { name: 'Client sent, body' });
    const chat = page.getByRole('listbox', { name: 'It became, body' });
    await client.getByText('→ messages[2].tool_calls[0]').waitFor();
    expect(await client.locator('.note').allTextContents()).toEqual(
      expect.arrayContaining(['→ messages[0].content', '→ messages[1]', '→ messages[3]', '→ messages[4]']),
    );
    expect(await client.locator('.line.only').count()).toBe(0);
    await chat.getByText('← instructions').waitFor();

    await client.getByText('"call_1"').first().click();
    const account = page.getByRole('region', { name: 'What became of it' });
    expect(await account.textContent()).toContain('input[1] → messages[2].tool_calls[0]');
    await chat.locator('.line.linked').getByText('"get_weather"').waitFor();
    // From the other side, with the keyboard.
    await chat.getByText('"Be brief."').click();
    await expect.poll(() => account.textContent()).toContain('instructions → messages[0].content');
    // What the rule has between backticks is code.
    await account.locator('p code').getByText('developer', { exact: true }).waitFor();
    expect(await account.textContent()).not.toContain('`');
    await account.getByText('docs/mapping.md', { exact: false }).waitFor();
    await chat.press('Home');
    await expect.poll(() => account.count()).toBe(0);
  });

  test('of a refused request the field that it was refused for', async () => {
    await answered('unstored', { previous_response_id: 'resp_1' });
    const { page } = await open();
    await page.getByRole('option', { name: /previous_response_not_found/ }).click();
    const client = page.getByRole('listbox', { name: 'Client sent, body' });
    await client.getByText('refused').waitFor();
    await client.getByText('"previous_response_id"').click();
    const account = page.getByRole('region', { name: 'What became of it' });
    await expect.poll(() => account.textContent()).toMatch(/^previous_response_id refused/);
  });
});

describe('text in bodies', () => {
  test('filters the list, also by what comes later, and is shown where it is', async () => {
    for (const model of ['haystack', 'needle']) {
      const body = [delta({ content: 'The brown ' }), delta({ content: 'Zebra runs.' }), finish('stop'), done];
      const other = [delta({ content: 'Nothing.' }), finish('stop'), done];
      inspected.mesh.upstream.script(model, { headers: eventStream, body: model === 'needle' ? body : other });
      await answered(model, { stream: true });
    }
    const { page } = await open();
    const exchanges = page.getByRole('listbox', { name: /newest first/ });
    await exchanges.getByText('haystack').waitFor();
    // Cut between two chunks: the event that ends the stream has it whole.
    await page.getByRole('searchbox').fill('brown zebra');
    await exchanges.getByText('text found').waitFor();
    await expect.poll(() => exchanges.getByRole('option').count()).toBe(1);
    await answered('needle', { stream: true });
    await expect.poll(() => exchanges.getByText('text found').count()).toBe(2);

    await exchanges
      .getByRole('option', { name: /needle/ })
      .first()
      .click();
    await page.locator('mark').getByText('brown Zebra').waitFor();
    await page.getByRole('button', { name: 'JSON', exact: true }).click();
    const final = page.getByRole('region', { name: 'Answer', exact: true });
    await final.getByRole('button', { name: /^Next of \d+ found in the final Response$/ }).click();
    await final.getByText(/^1 of \d+ found/).waitFor();
    await final.locator('.line.found').getByText('The brown Zebra runs.').first().waitFor();
    await page.getByRole('searchbox').fill('in no body');
    await page.getByText('No exchange matches the filter.').waitFor();
  });

  test('is found where two chunks cut it and no event repeats it: a stream that broke', async () => {
    const { upstream, client } = inspected.mesh;
    const [first, second] = [gate(), gate()];
    upstream.script('broken', {
      headers: eventStream,
      body: [
        delta({ content: 'A spotted gir' }),
        first.passed,
        delta({ content: 'affe sleeps.' }),
        second.passed,
        reset,
      ],
    });
    const read = async () => {
      for await (const event of await client.responses.create({ model: 'broken', input: 'Hi', stream: true }))
        if (event.type === 'response.output_text.delta') (event.delta.startsWith('A') ? first : second).open();
    };
    await expect(read()).rejects.toThrow();
    const { page } = await open();
    await page.getByRole('searchbox').fill('spotted giraffe');
    await page.getByRole('option', { name: /broken.*aborted.*text found/ }).click();
    await page.getByRole('button', { name: 'Events' }).click();
    const answer = page.getByRole('region', { name: 'Answer', exact: true });
    // The first chunk, the delta that it became some lines below, and the second chunk beside its delta.
    await answer.getByRole('button', { name: 'Next of 3 found in the answer' }).waitFor();
    const found = answer.locator('.moment.found');
    await found.getByText('output_text.delta #0.0 "affe sleeps."').waitFor();
  });
});

describe('the keyboard', () => {
  test('moves in the list of a fresh page, and Escape gives the focus back to it', async () => {
    await answered('keys');
    const { page } = await open();
    await page.getByRole('option', { name: /keys/ }).first().waitFor();
    await page.keyboard.press('ArrowDown');
    const first = page
      .getByRole('listbox', { name: /newest first/ })
      .getByRole('option')
      .first();
    await expect.poll(() => first.getAttribute('aria-selected')).toBe('true');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('detail');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('exchanges');
    await page.keyboard.press('c');
    await page.getByRole('region', { name: 'Conversations' }).waitFor();
  });
});

describe('the panes', () => {
  const sizeOf = (name: string, side: string) => `document.querySelector('${name}').getBoundingClientRect().${side}`;

  test('have the size that they are given by their corner, also after a reload', async () => {
    await answered('panes');
    const { page } = await open();
    await page.getByRole('option', { name: /panes/ }).click();
    await page.getByRole('heading', { name: /panes/ }).waitFor();
    for (const [name, side, x, y] of [
      ['.exchanges', 'width', 150, 0],
      ['.request', 'height', 0, 60],
    ] as const) {
      const before = Number(await page.evaluate(sizeOf(name, side)));
      const at = await page.locator(name).boundingBox();
      if (at === null) throw new Error('it is not in view');
      const [right, bottom] = [at.x + at.width - 4, at.y + at.height - 4];
      await page.mouse.move(right, bottom);
      await page.mouse.down();
      await page.mouse.move(right + x, bottom + y, { steps: 3 });
      await page.mouse.up();
      const after = before + x + y;
      await expect.poll(() => page.evaluate(sizeOf(name, side))).toBeCloseTo(after, -1);
      await page.reload();
      await page.getByRole('heading', { name: /panes/ }).waitFor();
      await expect.poll(() => page.evaluate(sizeOf(name, side))).toBeCloseTo(after, -1);
    }
  });

  test('and rows follow two keys that come before the page is drawn again', async () => {
    for (const model of ['first', 'second', 'third']) await answered(model);
    const { page } = await open();
    await page.getByRole('option', { name: /third/ }).click();
    await page.getByRole('listbox', { name: 'Exchanges, newest first' }).focus();
    await page.evaluate(`for (const key of ['ArrowDown', 'ArrowDown'])
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));`);
    await expect.poll(() => page.getByRole('option', { name: /first/, selected: true }).count()).toBe(1);
  });

  test('one stands alone when it is asked to, until Esc', async () => {
    await answered('alone');
    const { page } = await open();
    await page.getByRole('option', { name: /alone/ }).click();
    await page.getByRole('button', { name: 'Request alone' }).click();
    await page.getByRole('region', { name: 'Answer', exact: true }).waitFor({ state: 'hidden' });
    expect(await page.locator('#detail-title').isVisible()).toBe(false);
    await page.keyboard.press('Escape');
    await page.getByRole('region', { name: 'Answer', exact: true }).waitFor();
    await page.locator('#detail-title').waitFor();
  });

  test.each([400, 799])('nothing covers anything in %s pixels', async (width) => {
    const body = [delta({ content: 'Yes' }), finish('stop'), done];
    inspected.mesh.upstream.script('small', { headers: eventStream, body });
    await answered('small', { stream: true, tools: [{ type: 'web_search' }], instructions: 'Be brief.' });
    const { page } = await open({ viewport: { width, height: 700 } });
    const covered = () =>
      page.evaluate(`(() => {
      const found = [];
      for (const element of document.querySelectorAll('button, summary, input, select, textarea, h2, h3, dd, .pane-title code')) {
        if (!element.checkVisibility({ visibilityProperty: true }) || element.closest('.hidden, [role=menu]')) continue;
        element.scrollIntoView({ block: 'center', inline: 'nearest' });
        const { left, top, width, height } = element.getBoundingClientRect();
        if (width === 0 || height === 0) continue;
        const [x, y] = [left + width / 2, top + height / 2];
        const there = document.elementFromPoint(x, y);
        if (there === null || !(element.contains(there) || there.contains(element)))
          found.push(element.textContent + ' is behind ' + there?.className);
        if (left < 0 || left + width > innerWidth + 1) found.push(element.textContent + ' is cut off');
      }
      return found;
    })()`);
    expect(await covered()).toEqual([]);
    await page.getByRole('option', { name: /small/ }).first().click();
    await page.getByText('← instructions').waitFor();
    expect(await covered()).toEqual([]);
    // Another line of the request says what became of it; one of the answer shows the chunk and the event.
    await page.getByText('"Be brief."').first().click();
    await page.getByRole('region', { name: 'What became of it' }).waitFor();
    await page.getByRole('button', { name: 'Events' }).click();
    await page.locator('#timeline').getByRole('option').first().click();
    await page.locator('.picked').getByText('Event').waitFor();
    expect(await covered()).toEqual([]);
    await page.getByRole('button', { name: 'Headers' }).click();
    expect(await covered()).toEqual([]);
    const answer = page.getByRole('region', { name: 'Answer', exact: true });
    await page.getByRole('button', { name: 'Answer alone' }).click();
    const { height = 0 } = (await answer.boundingBox()) ?? {};
    expect(height).toBeGreaterThan(400);
  });
});

describe('a request', () => {
  test('is edited and sent again: its body as text, a model of the list, a key', async () => {
    const { upstream } = inspected.mesh;
    upstream.script('resent', { body: [completion({ content: 'Yes' })] });
    upstream.script('another', { body: [completion({ content: 'No' })] });
    upstream.script('/v1/models', { body: [JSON.stringify({ data: [{ id: 'resent' }, { id: 'another' }] })] });
    await answered('resent', { instructions: 'Be brief.', temperature: 0.5 });
    const { page } = await open();
    await page.getByRole('option', { name: /resent.*completed/ }).click();
    await page.getByRole('button', { name: 'Edit and resend' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit and resend' });
    const body = dialog.getByRole('textbox', { name: 'Body' });
    expect(JSON.parse(await body.inputValue())).toMatchObject({ model: 'resent', temperature: 0.5 });
    const listed = dialog.locator('datalist option');
    await expect
      .poll(() => listed.evaluateAll((all) => all.map((each) => each.getAttribute('value'))))
      .toEqual(['resent', 'another']);
    await dialog.getByLabel('Model').fill('another');
    await body.fill((await body.inputValue()).replace('Be brief.', 'Be very brief.'));
    await dialog.getByLabel('Key').fill('sk-typed-here');
    await dialog.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('heading', { name: /another.*completed/ }).waitFor();
    const [sent] = upstream.received('another');
    expect(sent?.json()).toMatchObject({
      temperature: 0.5,
      messages: [{ content: 'Be very brief.' }, { content: 'Hi' }],
    });
    expect(sent?.headers['authorization']).toBe('Bearer sk-typed-here');
    expect(await page.content()).not.toContain('sk-typed-here');
    // The inspector's own question for the models is no client's.
    expect(upstream.received('/v1/models').length).toBeGreaterThan(0);
    expect(await page.locator('.exchange').filter({ hasText: 'models' }).count()).toBe(0);
  });

  test('that is not JSON can be sent as well', async () => {
    const { page } = await open();
    await page.keyboard.press('n');
    await page.getByRole('textbox', { name: 'Body' }).fill('{"model": oops');
    await page.getByText('This is not valid JSON; it will be sent as is.').waitFor();
    // The page's own keys do nothing behind the form.
    await page.getByRole('button', { name: 'Send', exact: true }).focus();
    await page.keyboard.press('c');
    expect(await page.locator('[aria-pressed=true]').count()).toBe(0);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('alert').getByText('invalid_json').waitFor();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });
});

describe('the answer', () => {
  test('is text: reasoning folded, calls with their arguments; its events and JSON are one click away', async () => {
    const body = [
      delta({ reasoning_content: 'Let me ' }),
      delta({ reasoning_content: 'look.' }),
      delta({ content: 'I ask ' }),
      delta({ content: 'the weather.' }),
      delta({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'get_weather', arguments: '{"city":' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '"Paris"}' } }] }),
      finish('tool_calls'),
      done,
    ];
    inspected.mesh.upstream.script('spoken', { headers: eventStream, body });
    inspected.mesh.upstream.script('refusing', { body: [completion({ refusal: 'I cannot help with that.' })] });
    await answered('spoken', { stream: true, tools });
    await answered('refusing');
    const { page } = await open();
    await page.getByRole('option', { name: /spoken/ }).click();
    const answer = page.getByRole('region', { name: 'Answer', exact: true });
    await answer.getByText('I ask the weather.', { exact: true }).waitFor();
    const reasoning = answer.locator('pre', { hasText: 'Let me look.' });
    expect(await reasoning.isVisible()).toBe(false);
    await answer.getByText('Reasoning').click();
    await reasoning.waitFor();
    expect(await answer.locator('.call').innerText()).toBe('get_weather\n{\n  "city": "Paris"\n}');
    await answer.getByRole('button', { name: 'Events' }).click();
    await answer.getByText('content "the weather."').waitFor();

    // What is chosen stays, where there is such a thing: a JSON answer has no events.
    await page.getByRole('option', { name: /refusing/ }).click();
    await answer.getByText('Refused I cannot help with that.').waitFor();
    expect(await answer.getByRole('button', { name: 'Events' }).count()).toBe(0);
  });

  test('that ends early says why', async () => {
    inspected.mesh.upstream.script('cut', { body: [completion({ content: 'It was a' }, 'length')] });
    await answered('cut');
    const { page } = await open();
    await page.getByRole('option', { name: /cut/ }).click();
    await page.getByRole('alert').getByText('The model stopped before its end: length.').waitFor();
    expect(await page.locator('.said').allTextContents()).toEqual(['It was a']);
  });
});

describe('both sides', () => {
  const results = (count: number, size: number) =>
    Array.from({ length: count }, (_, index) => [
      { type: 'function_call', call_id: `call_${index}`, name: 'get_weather', arguments: '{"city":"Paris"}' },
      { type: 'function_call_output', call_id: `call_${index}`, output: 'It is sunny there.\n'.repeat(size) },
    ]).flat();
  const long = [
    { role: 'user', content: 'First question' },
    ...results(100, 420),
    { role: 'assistant', content: 'The answer before' },
    { role: 'user', content: 'The last question' },
    ...results(2, 100),
  ];

  test.each([
    [1440, 900],
    [1000, 700],
    [400, 800],
  ])('begin at the user’s last message in %s × %s pixels, also of a long body', async (width, height) => {
    expect(JSON.stringify(long).length).toBeGreaterThan(800_000);
    inspected.mesh.upstream.script('long', { body: [completion({ content: 'Yes' })] });
    await answered('long', { instructions: 'Be brief. '.repeat(900), input: long, tools });
    const { page } = await open({ viewport: { width, height } });
    // To explain a long body takes longer than anything here.
    const fields = long.map((_, index) => ({
      ...{ field: `input[${index}]`, fate: 'renamed', becomes: [{ path: `messages[${index + 1}]` }] },
      ...{ dropped: [], causes: [], rule: '', link: null },
    }));
    const isShown = gate();
    await page.route('**/explanation', async (route) => {
      await isShown.passed();
      await route.fulfill({ json: { refusals: [], added: [], fields } });
    });
    await page.getByRole('option', { name: /long/ }).first().click();
    /** Lines from the top of its side to the user's words: behind the brace and the role, with a note above. */
    const linesTo = (side: string) =>
      page.evaluate(`(() => {
        const list = document.getElementById('body-${side}');
        const row = [...(list?.querySelectorAll('.row') ?? [])].find(({ textContent }) => textContent.includes('The last question'));
        return row && Math.round((row.getBoundingClientRect().top - list.getBoundingClientRect().top) / 18);
      })()`);
    for (const side of ['client', 'chat']) await expect.poll(() => linesTo(side)).toBe(2);
    // The notes come later, and move the lines.
    isShown.open();
    for (const side of ['client', 'chat']) {
      await page.locator(`#body-${side} .note`).first().waitFor();
      await expect.poll(() => linesTo(side)).toBeOneOf([2, 3]);
    }
  });
});
