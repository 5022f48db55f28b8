import { arrayOf, objectOf, objectsOf, textOf } from '../../../../../formats/json/loose.ts';
import type { Loose } from '../../../../wire/schema/chat-completion.ts';
import { imageGenerationItem } from '../../../../wire/schema/create-response.ts';
import { unsupportedParameter } from '../../../shared/request-errors.ts';
import type { ItemType } from '../input-builder.ts';
import { dropUnknown, knownKeys } from '../known-keys.ts';
import { parseContent } from '../parse-content.ts';

type LooseHostedItem = Loose<
  | ('action' | 'queries' | 'results' | 'code' | 'outputs' | 'revised_prompt')
  | ('name' | 'server_label' | 'arguments' | 'output' | 'error')
>;

/** Items of tools that only OpenAI's servers run, as history: each with the text that a model needs of it afterwards. */
const hostedTexts: Readonly<Record<string, (item: LooseHostedItem) => string>> = {
  web_search_call(item) {
    const action = objectOf<Loose<'query' | 'queries' | 'url'>>(item.action);
    return noted('Searched the web', [...textsIn(action?.queries), textOf(action?.query), textOf(action?.url)]);
  },
  file_search_call(item) {
    const results = objectsOf<Loose<'filename' | 'text'>>(item.results);
    const found = results.map(({ filename, text }) => `${textOf(filename)}: ${textOf(text)}`);
    return noted('Searched files', [...textsIn(item.queries), ...found]);
  },
  computer_call: nothing,
  computer_call_output: nothing,
  code_interpreter_call(item) {
    const logs = objectsOf<Loose<'logs'>>(item.outputs).map((output) => textOf(output.logs));
    return noted('Ran code', [textOf(item.code), ...logs]);
  },
  mcp_list_tools: nothing,
  mcp_approval_request: nothing,
  mcp_call: (item) =>
    noted(`Called ${textOf(item.server_label)} ${textOf(item.name)}`, [
      textOf(item.arguments),
      textOf(item.output),
      textOf(item.error),
    ]),
  program: nothing,
  program_output: nothing,
};

/** The user's answer to `mcp_approval_request`. Throws `ApiError`, unless it is history, as the call is then. */
const mcpApprovalResponse: ItemType = (item, at, input) => {
  if (input.settings.isHistory === true) return hostedItem('mcp_approval_response', nothing)(item, at, input);
  const message = `Approvals are for MCP servers that OpenAI's servers call. MCP servers are not called here. Offer the tool as a tool of type 'function' and run it yourself.`;
  throw unsupportedParameter(`${at}.type`, message);
};

const imageKeys = knownKeys(imageGenerationItem);

/** A picture that the model made is the user's for servers that take pictures, since an assistant message is text alone. */
const imageGenerationCall: ItemType = (item, at, input) => {
  const data = textOf(item['result']);
  if (data === '' || input.settings.profile.image !== true)
    return hostedItem('image_generation_call', generatedImage)(item, at, input);
  dropUnknown(imageKeys, item, at, input);
  const format = beginnings.find(([start]) => data.startsWith(start))?.[1] ?? 'png';
  const url = `data:image/${format};base64,${data}`;
  const parts = [
    { type: 'input_text', text: generatedImage(item) },
    { type: 'input_image', image_url: url },
  ];
  input.add({ kind: 'message', role: 'user', content: parseContent(parts, 'user', `${at}.result`, input) });
};

function generatedImage({ revised_prompt: prompt }: LooseHostedItem): string {
  return noted('Generated an image', [textOf(prompt)]) || '[Generated an image]';
}

/** The first characters of a picture in base64, by its format. */
const beginnings = [
  ['/9j/', 'jpeg'],
  ['UklGR', 'webp'],
  ['R0lGOD', 'gif'],
] as const;

/** Hosted items by type: they are dropped and listed, with their text kept; or refused. */
export const hostedItems: ReadonlyMap<string, ItemType> = new Map([
  ...Object.entries(hostedTexts).map(([type, textIn]) => [type, hostedItem(type, textIn)] as const),
  ['mcp_approval_response', mcpApprovalResponse],
  ['image_generation_call', imageGenerationCall],
]);

function hostedItem(type: string, textIn: (item: LooseHostedItem) => string): ItemType {
  return (item, at, input) => {
    if (input.settings.unknownItems === 'reject') {
      const message = `Items of type '${type}' belong to tools that OpenAI's servers run. Such tools are not available here. Leave these items out.`;
      throw unsupportedParameter(`${at}.type`, message);
    }
    input.dropped.push(`${at}.${type}`);
    input.addText('assistant', textIn(item), at);
  };
}

function nothing(): string {
  return '';
}

function textsIn(value: unknown): string[] {
  return arrayOf(value).map(textOf);
}

/** The texts under a heading; `''` if there is no text beyond the fact that the tool ran. */
function noted(what: string, texts: readonly string[]): string {
  const told = [...new Set(texts.filter((text) => text !== ''))];
  return told.length === 0 ? '' : `[${what}]\n${told.join('\n')}`;
}
