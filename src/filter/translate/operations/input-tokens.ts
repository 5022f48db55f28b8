import { objectOf } from '../../../formats/json/loose.ts';
import { ApiError } from '../../wire/schema/api-error.ts';
import { findError, findErrorInWords } from '../chat-to-response/error.ts';
import type { TranslatedOperation } from '../request-to-chat/translated-operation.ts';
import { nothingReported } from '../shared/context.ts';
import { defaults, responseAnswer } from './operation.ts';

/** `POST /v1/responses/input_tokens`: the server counts, where it can. */
export const inputTokens: TranslatedOperation = {
  ...defaults,
  path: ['v1', 'responses', 'input_tokens'],
  forRequest: () => inputTokens,
  generates: false,
  upstreamPath({ tokenizePath }) {
    if (tokenizePath !== null) return tokenizePath;
    // Chat servers have no common path for it.
    throw new ApiError(
      "The upstream cannot count input tokens in advance. The 'usage' of a response has their number.",
      {
        status: 501,
        type: 'invalid_request',
        code: 'not_implemented',
      },
    );
  },
  // A server counts what its chat template is given, with the beginning of the answer, as vLLM's `/tokenize` does.
  body: ({ model, messages, tools }, passthrough) => ({
    model,
    messages,
    tools,
    add_generation_prompt: true,
    chat_template_kwargs: passthrough.get('chat_template_kwargs'),
  }),
  answer: {
    ...responseAnswer(),
    streams: false,
    readJson: (value) => ({
      body: translateCount(value),
      events: [],
      report: { ...nothingReported, status: 'completed' },
    }),
  },
};

function translateCount(value: unknown): object {
  const answer = objectOf<{ readonly count?: unknown; readonly input_tokens?: unknown }>(value);
  const count = answer?.count ?? answer?.input_tokens; // vLLM, llama.cpp
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0)
    return { object: 'response.input_tokens', input_tokens: count };
  const none = 'The upstream’s answer is not a count of tokens.';
  throw findError(value) ?? findErrorInWords(value) ?? ApiError.invalidUpstream(none);
}
