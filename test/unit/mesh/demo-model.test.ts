import { describe, expect, it } from 'vitest';
import { answerDemo, type DemoRequest } from '../../../mesh/demo-model.ts';

const user = (content: Exclude<DemoRequest['messages'][number]['content'], undefined>) => ({ role: 'user', content });
const tool = (name: string, parameters?: unknown) => ({ function: { name, parameters } });
const city = { type: 'object', properties: { city: { type: 'string' } } };
const weather = { tools: [{}, tool('get_weather', city), tool('send_mail')] };

/** The answer to a request of the model `demo`. */
function answer(said: string, more: Partial<DemoRequest> = {}) {
  return answerDemo({ model: 'demo', messages: [user(said)], ...more });
}

describe('the demo model repeats what was said', () => {
  it.each([
    ['a text', [user('Hello  there')], 'You said: Hello  there'],
    ['nothing', [], 'You said: '],
    ['no content', [user(null)], 'You said: '],
    ['the last of several', [user('One'), { role: 'assistant', content: 'Two' }, user('Three')], 'You said: Three'],
    [
      'parts',
      [user([{ type: 'text', text: 'a' }, { type: 'image_url' }, { type: 'text', text: 'b' }])],
      'You said: a  b I was shown 1 image.',
    ],
    [
      'images of all messages',
      [user([{ type: 'image_url' }, { type: 'text', text: 'a' }]), user([{ type: 'image_url' }])],
      'You said:  I was shown 2 images.',
    ],
    [
      'what tools returned since the last call',
      [{ role: 'tool', content: 'old' }, user('Hi'), ...['one', 'two'].map((content) => ({ role: 'tool', content }))],
      'The tools returned: one | two',
    ],
  ])('%s', (_, messages, text) => {
    expect(answerDemo({ model: 'demo', messages })).toEqual({ reasoning: '', text, calls: [] });
  });

  it('after a thought, if it is the model that thinks', () => {
    const request = { model: 'demo-reasoning', messages: [user('Hello  there ')] };
    const reasoning = 'The user said 2 words. I repeat them.';
    expect(answerDemo(request)).toEqual({ reasoning, text: 'You said: Hello  there ', calls: [] });
  });
});

describe('the demo model calls the tool that shares a word with the message', () => {
  const call = (number: number, name: string, given: unknown) => ({
    id: `call_demo_1_${number}`,
    name,
    arguments: JSON.stringify(given),
  });
  it.each([
    [
      'Weather in Paris and Rome?',
      {},
      [call(1, 'get_weather', { city: 'Paris' }), call(2, 'get_weather', { city: 'Rome' })],
    ],
    ['The weather in Paris and Rome', { parallel_tool_calls: false }, [call(1, 'get_weather', { city: 'Paris' })]],
    [
      'weather in Ulm, Øby, Rom, Bern, Genf',
      {},
      ['Ulm', 'Øby', 'Rom', 'Bern'].map((name, index) => call(index + 1, 'get_weather', { city: name })),
    ],
    ['Paris weather', {}, [call(1, 'get_weather', { city: 'example' })]],
    ['send it', {}, [call(1, 'send_mail', 'example')]],
    ['get it', {}, []],
    ['the weather', { tool_choice: 'none' }, []],
    ['the weather', { tool_choice: null }, [call(1, 'get_weather', { city: 'example' })]],
    ['Hi', { tool_choice: 'auto' }, []],
    ['Hi', { tool_choice: 'required' }, [call(1, 'get_weather', { city: 'example' })]],
    ['Hi', { tool_choice: 'any' }, [call(1, 'get_weather', { city: 'example' })]],
    [
      'the weather',
      { tool_choice: { type: 'function', function: { name: 'send_mail' } } },
      [call(1, 'send_mail', 'example')],
    ],
    ['the weather', { tool_choice: { type: 'function', function: { name: 'unknown' } } }, []],
    ['the weather', { tool_choice: { type: 'allowed_tools' } }, [call(1, 'get_weather', { city: 'example' })]],
    ['the weather', { tools: [] }, []],
  ])('%s %j', (said, more, calls) => {
    const text = calls.length > 0 ? '' : `You said: ${said}`;
    expect(answer(said, { ...weather, ...more })).toEqual({ reasoning: '', text, calls });
  });

  it('unless the message is not the user’s', () => {
    const messages = [user('the weather'), { role: 'assistant', content: 'the weather' }];
    expect(answer('', { ...weather, messages })).toEqual({ reasoning: '', text: 'You said: the weather', calls: [] });
  });
});

describe('the demo model keeps to a response format', () => {
  it.each<[schema: unknown, value: unknown]>([
    [undefined, 'example'],
    [null, 'example'],
    [{}, 'example'],
    [{ type: 'string' }, 'example'],
    [{ type: 'integer' }, 1],
    [{ type: 'number', minimum: 5 }, 5],
    [{ type: 'boolean' }, true],
    [{ type: 'null' }, null],
    [{ type: ['integer', 'null'] }, 1],
    [{ type: 'array', items: { type: 'boolean' } }, [true]],
    [{ const: 7, type: 'string' }, 7],
    [{ enum: ['b', 'a'] }, 'b'],
    [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, 1],
    [{ $ref: '#/$defs/node' }, {}],
    [{ type: 'object' }, {}],
    [{ properties: { a: { type: 'object', properties: { b: {} } }, c: true } }, { a: { b: 'example' }, c: 'example' }],
  ])('json_schema %j', (schema, value) => {
    const response_format = { type: 'json_schema', json_schema: { schema } };
    expect(JSON.parse(answer('Hi', { response_format }).text)).toEqual(value);
  });

  it('json_schema without a schema, json_object, and text', () => {
    const texts = ['json_schema', 'json_object', 'text'].map(
      (type) => answer('Hi', { response_format: { type } }).text,
    );
    expect(texts).toEqual(['"example"', '{"said":"Hi"}', 'You said: Hi']);
  });
});
