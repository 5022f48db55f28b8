import type { Dropped, Reading } from '../shared/dropped.ts';
import type { InputContent, InputItem, InputMessage, InputToolOutput } from '../shared/parsed.ts';
import type { CompactionSettings } from '../shared/settings.ts';

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
/** UTF-8 bytes of a token, low enough for code and for scripts of three bytes a character. */
const bytesOfToken = 3;
/** Tokens assumed for a part that is not text: most engines spend less on an image. */
const tokensOfMedia = 1_500;
/** Tokens that a chat template adds to each message. */
const tokensOfMessage = 8;

/**
 * The conversation, shortened so that it can be summarised: a session whose compaction is refused for its length can never
 * continue. Where the upstream's window is known, tool outputs are shortened, the oldest first, then other texts, until the
 * conversation probably fits; otherwise each tool output is cut to a fixed size. `dropped` receives the paths of what was
 * shortened.
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
  const budget = compaction.contextWindow - maxTokens - tokensOf(compaction.prompt) - tokensOf(leading ?? '');
  let size = fitted.reduce((sum, item) => sum + tokensOfItem(item), 0);
  for (const kind of ['output', 'message'] as const) {
    for (const [index, item] of fitted.entries()) {
      if (size <= budget) return fitted;
      if (item.kind !== kind) continue;
      const shorter = shortened(item, keptCharacters, dropped);
      size += tokensOfItem(shorter) - tokensOfItem(item);
      fitted[index] = shorter;
    }
  }
  return fitted;
}

/** The item with its long texts shortened, which `dropped` names. */
function shortened(item: InputMessage | InputToolOutput, kept: number, dropped: Dropped): InputItem {
  const content = item.content.map((part) => shortenedPart(part, kept));
  if (content.every((part, index) => part === item.content[index])) return item;
  dropped.push(item.kind === 'output' ? `${item.param}.output` : 'input[].content');
  return { ...item, content };
}

/** The part itself, or a text with its middle left out. The note is counted too, so that nothing becomes longer. */
function shortenedPart(part: InputContent, kept: number): InputContent {
  if (part.type !== 'text' || part.text.length <= 2 * kept + 100) return part;
  const { text } = part;
  const head = text.slice(0, kept).replace(/[\ud800-\udbff]$/, '');
  const tail = text.slice(-kept).replace(/^[\udc00-\udfff]/, '');
  return { ...part, text: `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}` };
}

function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesOfToken);
}

function tokensOfItem(item: InputItem): number {
  switch (item.kind) {
    case 'message':
    case 'output':
      return item.content.reduce((sum, part) => sum + tokensOfPart(part), tokensOfMessage);
    case 'call':
      return tokensOfMessage + tokensOf(item.name) + tokensOf(item.input);
    case 'reasoning':
      return tokensOf(item.text || item.envelope?.t || item.summaries.join('\n\n'));
  }
}

function tokensOfPart(part: InputContent): number {
  if (part.type === 'refusal') return tokensOf(part.refusal);
  return part.type === 'text' ? tokensOf(part.text) : tokensOfMedia;
}
