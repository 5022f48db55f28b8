import { ApiError } from '../../wire/schema/api-error.ts';
import type { CompactionResource, OutputItem, ResponseResource } from '../../wire/schema/response-resource.ts';
import { noUsage } from '../chat-to-response/read/usage.ts';
import { fitConversation, summaryTokens } from '../request-to-chat/summary-request.ts';
import type { TranslatedOperation } from '../request-to-chat/translated-operation.ts';
import { encodeCompactionEnvelope } from '../shared/compaction-envelope.ts';
import type { FinishedAnswer } from '../shared/context.ts';
import { userMessage } from '../shared/parsed.ts';
import { invalidValue } from '../shared/request-errors.ts';
import { defaults, responseAnswer } from './operation.ts';

/** Fields that constrain the form of an answer, which do not apply to a summary. */
const formFields = new Set(
  `stop logit_bias min_tokens ignore_eos guided_json guided_regex guided_choice guided_grammar structured_outputs
  web_search_options search_parameters`.split(/\s+/),
);

/** Asks for a summary: one more message says so, without tools and format. The answer becomes one `compaction` item. */
export const summary = {
  conversation({ instructions, max_output_tokens }, input, reading) {
    const { compaction } = reading.settings;
    if (input.length === 0)
      throw invalidValue(
        'input',
        `'input' contains no conversation to compact. Send the messages of the conversation.`,
      );
    const maxTokens = summaryTokens(compaction, max_output_tokens);
    const fitted = fitConversation(input, instructions, maxTokens, reading);
    const asking = userMessage(compaction.prompt);
    reading.provenance.mark(asking, reading.provenance.summaryPath());
    return { items: [...fitted, asking], maxTokens };
  },
  constraints: () => ({ tools: [], toolChoice: undefined, format: undefined, formatText: null, logprobs: false }),
  passthrough: (given) => new Map([...given].filter(([name]) => !formFields.has(name))),
  answer: { ...responseAnswer(), fold: compactionItem },
} satisfies Partial<TranslatedOperation>;

const resourceAnswer = responseAnswer(resourceOf);

/** `POST /v1/responses/compact`: the summary as a resource of its own. */
export const compact: TranslatedOperation = {
  ...defaults,
  ...summary,
  path: ['v1', 'responses', 'compact'],
  forRequest: () => compact,
  answer: {
    ...resourceAnswer,
    fold: compactionItem,
    readJson(value, context, bytes) {
      const answer = resourceAnswer.readJson(value, context, bytes);
      // That resource has no status: a summary that failed is an HTTP error.
      if (answer.report.error !== null) throw answer.report.error;
      return answer;
    },
  },
};

function resourceOf(response: ResponseResource): ResponseResource | CompactionResource {
  if (response.status === 'failed') return response;
  const { id, created_at, output, usage } = response;
  // The schema has no null here.
  return { id, object: 'response.compaction', created_at, output, usage: usage ?? noUsage };
}

/**
 * The item with the text of the answer, without reasoning. One that reached its limit is kept, since clients give up a
 * session whose compaction is incomplete; an empty or filtered one is not a summary.
 */
function compactionItem(
  items: readonly OutputItem[],
  { outcome, model, newId }: FinishedAnswer,
): readonly OutputItem[] | ApiError {
  const parts = items.flatMap((item) => (item.type === 'message' ? item.content : []));
  const text = parts
    .map((part) => (part.type === 'output_text' ? part.text : ''))
    .join('')
    .trim();
  if (text === '') return ApiError.ofModel('empty_summary', 'The model returned no summary of the conversation.');
  if (outcome.status === 'incomplete' && outcome.reason === 'content_filter')
    return ApiError.ofModel('content_filter', 'The upstream’s content filter blocked the summary of the conversation.');
  const envelope = { text, ...(model === null ? {} : { model }) };
  return [{ id: newId('cmp'), type: 'compaction', encrypted_content: encodeCompactionEnvelope(envelope) }];
}
