import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inputTokens } from '../../src/filter/translate/operations/input-tokens.ts';
import { ApiError } from '../../src/filter/wire/schema/api-error.ts';
import { type ChatMessage, chatRequestBody } from '../../src/filter/wire/schema/chat-request.ts';
import { requestFields, servers } from '../support/arbitrary-dialogues.ts';
import { History, histories } from '../support/arbitrary-histories.ts';
import { ask } from '../support/ask.ts';
import { callMark, pairsIn } from '../support/chat-pairs.ts';
import { faultsOfChat } from '../support/chat-rules.ts';
import { fuzzTimeout, tries } from '../support/fuzz-options.ts';
import { Marks, marksIn } from '../support/scripted-answers.ts';

/**
 * The third of five readings (docs/architecture.md): a conversation as items, and as the messages that the server is sent. Each text
 * is there once and in its place, each output belongs to its call, what was called at once stays together, nobody's words are last but who
 * asks, and what is asked about now is sent or refused. Different on purpose: a server that takes one call a message gets a
 * message for each (request-alternation.md).
 */
it('a conversation reads the same in items and in messages', { timeout: fuzzTimeout }, () => {
  let read = 0;
  fc.assert(
    fc.property(servers, requestFields, histories, (server, fields, plans) => {
      // Without anything else, the fields may be refused.
      if (ask({ input: 'Hi', ...fields }, server) instanceof ApiError) return;
      const history = new History(plans, new Marks());
      const asked = ask({ input: history.items, ...fields }, server);
      const profile = ask({ input: 'Hi' }, server);
      if (profile instanceof ApiError) throw profile;
      const { image, singleCalls, tools } = profile.context.profile;
      // Tools that a search has found are offered, and refused where the server takes none.
      if (!tools && history.items.some(({ type }) => type === 'tool_search_output')) return;
      if (image === false && history.latestPictures.length > 0) {
        expect(asked).toMatchObject({ status: 400, code: 'unsupported_parameter' });
        return;
      }
      if (asked instanceof ApiError) throw asked;
      read += 1;
      const { messages } = asked.chat;
      expect(faultsOfChat(JSON.parse(JSON.stringify(chatRequestBody(asked.chat, asked.passthrough))))).toEqual([]);
      expect(pairsIn(messages)).toEqual(history.pairs.toSorted());
      for (const who of [['asker', 'call'], ['asker', 'output'], ['model']])
        expect(marksReadOf(messages, who, history)).toEqual(
          history.read.filter(({ by }) => who.includes(by)).map(({ mark }) => mark),
        );
      if (image === true) expect(marksIn(messages)).toEqual(expect.arrayContaining(history.latestPictures));
      if (!singleCalls)
        expect(messages.flatMap(callsAtOnce)).toEqual(expect.arrayContaining(history.together.map(String)));
      const last = history.items.at(-1);
      if (last?.['role'] === 'user' || /_output$/.test(String(last?.['type'])))
        expect(messages.at(-1)?.role).not.toBe('assistant');
    }),
    tries(400),
  );
  expect(read).toBeGreaterThan(60);
});

/** The fifth of five readings (docs/architecture.md): the tokens that are counted are those of the request. Nothing differs. */
it('what is counted is what is sent', { timeout: fuzzTimeout }, () => {
  let counted = 0;
  fc.assert(
    fc.property(servers, requestFields, histories, (server, fields, plans) => {
      const { items: input } = new History(plans, new Marks());
      const [asked, count] = [ask({ input, ...fields }, server), ask({ input, ...fields }, server, 0, inputTokens)];
      if (asked instanceof ApiError || count instanceof ApiError) {
        expect(count).toEqual(asked);
        return;
      }
      counted += 1;
      const { model, messages, tools } = asked.chat;
      expect(inputTokens.body(count.chat, count.passthrough)).toMatchObject({ model, messages, tools });
    }),
    tries(200),
  );
  expect(counted).toBeGreaterThan(60);
});

/** Beside them: what a Response repeats of its request, and what the server was sent of it. */
it('what the Response will repeat is in force, or is named as left out', { timeout: fuzzTimeout }, () => {
  fc.assert(
    fc.property(servers, requestFields, (server, fields) => {
      const asked = ask({ input: 'Hi', ...fields }, server);
      if (asked instanceof ApiError) return;
      const { chat, dropped, context } = asked;
      const { tool_choice: choice, text } = context.echo;
      const { mode } = choice as { readonly mode?: string };
      const isChoiceInForce = !dropped.includes('tool_choice') || choice === 'auto' || mode === 'auto';
      const { format } = text as { readonly format: { readonly strict?: boolean } };
      const sent = chat.response_format;
      const isStrict = sent?.type === 'json_schema' && sent.json_schema.strict === true;
      const { format: wanted } = fields.text ?? {};
      const isNamed = dropped.some((path) => /^text\.format/.test(path));
      const isWanted = wanted !== undefined && 'strict' in wanted;
      const isFormatInForce = format.strict === true ? isStrict : !isWanted || isNamed;
      expect({ choice, format, isChoiceInForce, isFormatInForce }).toMatchObject({
        isChoiceInForce: true,
        isFormatInForce: true,
      });
    }),
    tries(200),
  );
});

/** The marks of the history that these have in the messages, in order. */
function marksReadOf(messages: readonly ChatMessage[], who: readonly string[], { read }: History): readonly string[] {
  const wanted = new Map(read.map(({ by, mark }) => [mark, by]));
  return messages.flatMap((message) => {
    const { role, content = null, refusal = null, tool_calls = [] } = message;
    const said = role === 'assistant' ? 'model' : role === 'tool' ? 'output' : 'asker';
    const calls = tool_calls
      .flatMap(({ id: _, ...call }) => marksIn(call).slice(0, 1))
      .filter(() => who.includes('call'));
    return [
      ...(who.includes(said) ? marksIn([content, refusal]).filter((mark) => wanted.get(mark) === said) : []),
      ...calls,
    ];
  });
}

function callsAtOnce({ tool_calls = [] }: ChatMessage): readonly string[] {
  return tool_calls.length === 0 ? [] : [tool_calls.map(({ id: _, ...call }) => callMark(call)).join()];
}
