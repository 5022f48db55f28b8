import { ApiError } from '../../wire/schema/api-error.ts';
import type { CompactionResource, OutputItem, ResponseResource } from '../../wire/schema/response-resource.ts';
import { noUsage } from '../chat-to-response/read/usage.ts';
import type { TranslatedOperation } from '../request-to-chat/translated-operation.ts';
import type { FinishedAnswer } from '../shared/context.ts';
import type { Dropped, Reading } from '../shared/dropped.ts';
import { encodeCompactionEnvelope } from '../shared/envelopes.ts';
import {
  type InputContent,
  type InputItem,
  type InputMessage,
  type InputToolOutput,
  userMessage,
} from '../shared/parsed.ts';
import { invalidValue } from '../shared/request-errors.ts';
import type { CompactionSettings } from '../shared/settings.ts';
import { defaults, responseAnswer } from './operation.ts';

/** Fields that constrain the form of an answer, and not that of a summary. */
const formFields = new Set(
  `stop logit_bias min_tokens ignore_eos guided_json guided_regex guided_choice guided_grammar structured_outputs
  web_search_options search_parameters`.split(/\s+/),
);

/** Asks for a summary: one more message says so, without tools and format. The answer becomes one `compaction` item. */
export const summary = {
  conversation({ instructions, max_output_tokens }, input, reading) {
    const { compaction } = reading.settings;
    if (input.length === 0) {
      const message = `'input' contains no conversation to compact. Send the messages of the conversation.`;
      throw invalidValue('input', message);
    }
    const maxTokens = summaryTokens(compaction, max_output_tokens);
    const fitted = fitConversation(input, instructions, maxTokens, reading);
    const asking = userMessage(compaction.prompt);
    reading.provenance.mark(asking, reading.provenance.summaryPath());
    return { items: [...fitted, asking], maxTokens };
  },
  constraints: () => ({ tools: [], toolChoice: undefined, format: undefined, formatText: null, logprobs: false }),
  passthrough: (given) => new Map([...given].filter(([name]) => !formFields.has(name))),
  answer: { ...responseAnswer(), fold: foldSummary },
} satisfies Partial<TranslatedOperation>;

const resourceAnswer = responseAnswer(buildResource);

/** `POST /v1/responses/compact`: the summary as a resource of its own. */
export const compact: TranslatedOperation = {
  ...defaults,
  ...summary,
  path: ['v1', 'responses', 'compact'],
  forRequest: () => compact,
  answer: {
    ...resourceAnswer,
    fold: foldSummary,
    readJson(value, context, bytes) {
      const answer = resourceAnswer.readJson(value, context, bytes);
      // The resource has no status: a summary that failed is an HTTP error.
      if (answer.report.error !== null) throw answer.report.error;
      return answer;
    },
  },
};

function buildResource(response: ResponseResource): ResponseResource | CompactionResource {
  if (response.status === 'failed') return response;
  const { id, created_at, output, usage } = response;
  // The schema has no null for usage.
  return { id, object: 'response.compaction', created_at, output, usage: usage ?? noUsage };
}

/**
 * The item with the text of the answer, without reasoning. A summary that reached its limit is kept, since clients give up a
 * session whose compaction is incomplete; an empty or filtered answer is no summary.
 */
function foldSummary(
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

/** Maximum tokens of the summary: the setting, or less if the client or the window requires it. */
export function summaryTokens(settings: CompactionSettings, requested: number | null | undefined): number {
  const { maxTokens, contextWindow } = settings;
  const share = contextWindow === null ? maxTokens : Math.max(1, Math.floor(contextWindow / 4));
  return Math.min(maxTokens, share, requested ?? maxTokens);
}

/** Characters kept at each end of a text that is shortened. */
const keptCharacters = 1_000;
/** Characters of one tool output where the window is not known. */
const maxOutputCharacters = 32_000;
/** UTF-8 bytes of a token: few enough for code, and for scripts of three bytes a character. */
const bytesOfToken = 3;
/** Tokens assumed for a part that is not text: most engines spend less on an image. */
const tokensOfMedia = 1_500;
/** Tokens that a chat template adds to each message. */
const tokensOfMessage = 8;

/**
 * The conversation, shortened so that it can be summarised: a session whose compaction is refused for its length can never
 * continue. Where the upstream's window is known, tool outputs are shortened, the oldest first, then other texts, until the
 * conversation probably fits; otherwise each tool output is cut to a fixed size. What was shortened is listed as dropped.
 */
export function fitConversation(
  items: readonly InputItem[],
  leading: string | null | undefined,
  maxTokens: number,
  { settings: { compaction }, dropped }: Reading,
): readonly InputItem[] {
  if (compaction.contextWindow === null)
    return items.map((item) => (item.kind === 'output' ? shortened(item, maxOutputCharacters / 2, dropped) : item));
  const fitted = [...items];
  const budget = compaction.contextWindow - maxTokens - countTokens(compaction.prompt) - countTokens(leading ?? '');
  let size = fitted.reduce((sum, item) => sum + countItemTokens(item), 0);
  for (const kind of ['output', 'message'] as const) {
    for (const [index, item] of fitted.entries()) {
      if (size <= budget) return fitted;
      if (item.kind !== kind) continue;
      const shorter = shortened(item, keptCharacters, dropped);
      size += countItemTokens(shorter) - countItemTokens(item);
      fitted[index] = shorter;
    }
  }
  return fitted;
}

function shortened(item: InputMessage | InputToolOutput, kept: number, dropped: Dropped): InputItem {
  const content = item.content.map((part) => shortenedPart(part, kept));
  if (content.every((part, index) => part === item.content[index])) return item;
  dropped.push(item.kind === 'output' ? `${item.param}.output` : 'input[].content');
  return { ...item, content };
}

/** The part itself, or a text with its middle left out. The note in the middle is counted, so that nothing becomes longer. */
function shortenedPart(part: InputContent, kept: number): InputContent {
  if (part.type !== 'text' || part.text.length <= 2 * kept + 100) return part;
  const { text } = part;
  const head = text.slice(0, kept).replace(/[\ud800-\udbff]$/, '');
  const tail = text.slice(-kept).replace(/^[\udc00-\udfff]/, '');
  return { ...part, text: `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}` };
}

function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesOfToken);
}

function countItemTokens(item: InputItem): number {
  switch (item.kind) {
    case 'message':
    case 'output':
      return item.content.reduce((sum, part) => sum + countPartTokens(part), tokensOfMessage);
    case 'call':
      return tokensOfMessage + countTokens(item.name) + countTokens(item.input);
    case 'reasoning':
      return countTokens(item.text || item.envelope?.t || item.summaries.join('\n\n'));
  }
}

function countPartTokens(part: InputContent): number {
  if (part.type === 'refusal') return countTokens(part.refusal);
  return part.type === 'text' ? countTokens(part.text) : tokensOfMedia;
}
