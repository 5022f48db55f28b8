export interface ShownEvent {
  readonly type: string;
  readonly [key: string]: unknown;
}

type Fields = Record<string, unknown>;

/**
 * An event as a line that a reader can follow: the type without `response.`, where (`#1` an output index, `#1.0` with the content
 * or summary index), then what it holds. Ids are shown where an item is added, texts are JSON strings.
 */
export function writeEventLine(event: ShownEvent): string {
  // An event of the upstream's own (`provider:type`) is shown as JSON.
  if (event.type.includes(':')) {
    const { type, sequence_number: _number, ...own } = event;
    return `${type} ${writeJson(own)}`;
  }
  const name = event.type.replace(/^response\./, '');
  return [name, writePlace(event), ...writePayload(event)].filter((word) => word !== '').join(' ');
}

function writePlace(event: ShownEvent): string {
  const { output_index, content_index, summary_index, annotation_index, command_index } = event;
  if (output_index === undefined) return '';
  const path = [output_index, content_index ?? summary_index ?? command_index, annotation_index];
  return `#${path.filter((index) => index !== undefined).join('.')}`;
}

function writePayload(event: ShownEvent): string[] {
  if (event['response'] !== undefined) return writeResponse(event['response'] as Fields);
  if (event['item'] !== undefined) return writeItem(event['item'] as Fields);
  if (event['part'] !== undefined) return writePart(event['part'] as Fields);
  const annotation = event['annotation'] as Fields | undefined;
  if (annotation !== undefined) return [writeJson(annotation['url'] ?? annotation['file_id'])];
  if (event.type === 'error') return [String(event['code']), writeJson(event['message'])];
  const { name, delta, text, refusal, input, logprobs, obfuscation } = event;
  const words = name === undefined ? [] : [String(name)];
  for (const value of [delta, text, refusal, event['arguments'], input, event['command']])
    if (value !== undefined) words.push(writeJson(value));
  const tokens = ((logprobs ?? []) as readonly Fields[]).map(({ token }) => token);
  if (tokens.length > 0) words.push('logprobs', writeJson(tokens));
  if (obfuscation !== undefined) words.push('padded', writeJson(obfuscation));
  return words;
}

function writeResponse(response: Fields): string[] {
  const { status, usage, error, incomplete_details, model } = response;
  if (status === 'in_progress') return [];
  const words: string[] = [];
  if (model !== 'test-model') words.push(`model ${model}`);
  if (incomplete_details !== null) words.push(String((incomplete_details as Fields)['reason']));
  if (error !== null) words.push(String((error as Fields)['code']));
  if (usage !== null) words.push(writeUsage(usage as Record<string, Fields & number>));
  return words;
}

function writeUsage({
  input_tokens,
  output_tokens,
  total_tokens,
  ...details
}: Record<string, Fields & number>): string {
  const cached = details['input_tokens_details']?.['cached_tokens'];
  const reasoning = details['output_tokens_details']?.['reasoning_tokens'];
  const more = [cached === 0 ? '' : ` cached ${cached}`, reasoning === 0 ? '' : ` reasoning ${reasoning}`].join('');
  return `usage ${input_tokens}+${output_tokens}=${total_tokens}${more}`;
}

function writeItem(item: Fields): string[] {
  const { type, id, call_id, namespace, name, status, encrypted_content } = item;
  const words = [type, id, call_id, namespace === undefined ? name : `${namespace}/${name}`];
  const value = item['arguments'] ?? item['input'] ?? item['action'] ?? item['operation'];
  const state =
    status === 'in_progress'
      ? []
      : [...(value === undefined ? [] : [writeJson(value)]), ...(status === undefined ? [] : [String(status)])];
  const sealed = encrypted_content === undefined ? [] : [`encrypted ${openEnvelope(String(encrypted_content))}`];
  return [...words.filter((word) => word !== undefined).map(String), ...state, ...sealed];
}

/** The envelope of `encrypted_content` is base64url: readers of a case need to see its content. */
function openEnvelope(envelope: string): string {
  const [prefix, body = ''] = envelope.split('.', 2);
  return `${prefix} ${decodeBase64Url(body)}`;
}

function writePart({ type, text, refusal, annotations, logprobs }: Fields): string[] {
  const cited = (annotations as readonly Fields[] | undefined)?.length ?? 0;
  const tokens = (logprobs as readonly Fields[] | undefined)?.length ?? 0;
  return [
    String(type),
    writeJson(text ?? refusal),
    ...(cited > 0 ? [`annotations ${cited}`] : []),
    ...(tokens > 0 ? [`logprobs ${tokens}`] : []),
  ];
}

function writeJson(value: unknown): string {
  return JSON.stringify(value);
}

export function decodeBase64Url(base64url: string): string {
  const bytes = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return new TextDecoder().decode(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
}
