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
    const final = page.getByRole('region', { name: 'Final Response' });
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
    const answer = page.getByRole('region', { name: 'Answer as it arrived' });
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
  const widthOf = (name: string) => `document.querySelector('${name}').getBoundingClientRect().width`;

  test('are moved with the mouse and with the keyboard, and stay so', async () => {
    await answered('panes');
    const { page } = await open();
    await page.getByRole('option', { name: /panes/ }).click();
    const line = page.getByRole('separator', { name: 'Width of the list' });
    const before = Number(await page.evaluate(widthOf('.exchanges')));
    const at = await line.boundingBox();
    if (at === null) throw new Error('the line is not in view');
    await page.mouse.move(at.x, 300);
    await page.mouse.down();
    await page.mouse.move(at.x + 150, 300, { steps: 3 });
    await page.mouse.up();
    await expect.poll(() => page.evaluate(widthOf('.exchanges'))).toBeCloseTo(before + 150, -1);

    const sides = page.getByRole('separator', { name: 'Width of both sides' });
    await sides.focus();
    await sides.press('Home');
    await expect.poll(() => page.evaluate(widthOf('.request .pane'))).toBe(0);
    await sides.press('End');
    await sides.press('ArrowLeft');
    await expect.poll(() => sides.getAttribute('aria-valuenow')).toBe('96');
    const height = page.getByRole('separator', { name: 'Height of the request' });
    const usual = await height.getAttribute('aria-valuenow');
    await height.focus();
    await height.press('ArrowDown');
    await expect.poll(() => height.getAttribute('aria-valuenow')).not.toBe(usual);
    await page.reload();
    await page.getByRole('heading', { name: /panes/ }).waitFor();
    expect(Number(await page.evaluate(widthOf('.exchanges')))).toBeCloseTo(before + 150, -1);
    expect(await sides.getAttribute('aria-valuenow')).toBe('96');
    await sides.focus();
    await sides.press('Enter');
    await expect.poll(() => sides.getAttribute('aria-valuenow')).toBe('50');
  });

  test('and rows follow two keys that come before the page is drawn again', async () => {
    for (const model of ['first', 'second', 'third']) await answered(model);
    const { page } = await open();
    await page.getByRole('option', { name: /third/ }).click();
    const atOnce = (...keys: string[]) =>
      page.evaluate(`for (const key of ${JSON.stringify(keys)})
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));`);
    const sides = page.getByRole('separator', { name: 'Width of both sides' });
    await sides.press('Home');
    await atOnce('End', 'ArrowLeft');
    await expect.poll(() => sides.getAttribute('aria-valuenow')).toBe('96');
    await page.getByRole('listbox', { name: 'Exchanges, newest first' }).focus();
    await atOnce('ArrowDown', 'ArrowDown');
    await page.getByRole('option', { name: /first/, selected: true }).waitFor();
  });

  test('one stands alone when it is asked to, until Esc', async () => {
    await answered('alone');
    const { page } = await open();
    await page.getByRole('option', { name: /alone/ }).click();
    await page.getByRole('button', { name: 'Request alone' }).click();
    await page.getByRole('region', { name: 'Final Response' }).waitFor({ state: 'hidden' });
    expect(await page.locator('#detail-title').isVisible()).toBe(false);
    await page.keyboard.press('Escape');
    await page.getByRole('region', { name: 'Final Response' }).waitFor();
    await page.locator('#detail-title').waitFor();
  });

  test.each([400, 799])('nothing covers anything in %s pixels', async (width) => {
    inspected.mesh.upstream.script('small', { body: [completion({ content: 'Yes' })] });
    await answered('small', { tools: [{ type: 'web_search' }], instructions: 'Be brief.' });
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
    await page.locator('#timeline').getByRole('option').first().click();
    await page.locator('.picked').getByText('Event').waitFor();
    expect(await covered()).toEqual([]);
    await page.getByRole('button', { name: 'Headers' }).click();
    expect(await covered()).toEqual([]);
    const answer = page.getByRole('region', { name: 'Answer as it arrived' });
    await page.getByRole('button', { name: 'Answer as it arrived alone' }).click();
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
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('alert').getByText('invalid_json').waitFor();
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });
});
