/** Part of `invariants.ts`: what the events of one item may be, and that its `done` events repeat its deltas. */

export type Fields = Record<string, unknown>;
export type Fault = (text: string) => void;

/** `provider:type`, as the specification names a provider's own events and parts; and types of Chat's parts that are passed on. */
export function isExtensionType(type: unknown): boolean {
  return typeof type === 'string' && /^[^:\s]+:\S+$|_url$|^reference$/.test(type);
}

interface Part {
  readonly type: string;
  text: string;
  /** The text of its `…​.done`, null before. */
  said: string | null;
  readonly annotations: unknown[];
  readonly logprobs: unknown[];
  isDone: boolean;
}

/** An item whose events are being followed. */
export interface OpenItem {
  readonly id: string;
  readonly type: string;
  readonly start: Fields;
  readonly parts: Part[];
  /** For a call: arguments or input, joined from its deltas. */
  text: string;
  /** For a call: as its `…​.done` has it. */
  said: string | null;
  done: Fields | null;
  /** For a shell call: its commands, from their events; null while one is being written. */
  readonly commands: { text: string; isDone: boolean }[];
}

/** `response.output_text.delta at 1.0`. */
export function place(event: Fields): string {
  const path = [event['output_index'], event['content_index'] ?? event['summary_index']];
  return `${event['type']} at ${path.filter((index) => index !== undefined).join('.')}`;
}

/** Which part an event refers to, and which of its fields holds the text. */
const partEvents: Readonly<Record<string, { part: string; item: string; list: string; text: string }>> = {
  output_text: { part: 'output_text', item: 'message', list: 'content', text: 'text' },
  refusal: { part: 'refusal', item: 'message', list: 'content', text: 'refusal' },
  reasoning_text: { part: 'reasoning_text', item: 'reasoning', list: 'content', text: 'text' },
  reasoning: { part: 'reasoning_text', item: 'reasoning', list: 'content', text: 'text' },
  reasoning_summary_text: { part: 'summary_text', item: 'reasoning', list: 'summary', text: 'text' },
};

const callEvents: Readonly<Record<string, { item: string; text: string }>> = {
  function_call_arguments: { item: 'function_call', text: 'arguments' },
  custom_tool_call_input: { item: 'custom_tool_call', text: 'input' },
};

/** Follows one event of an open item. */
export function contentRules(event: Fields, item: OpenItem, fault: Fault): void {
  if (event['item_id'] !== undefined && event['item_id'] !== item.id)
    fault(`${place(event)} has item_id ${event['item_id']}, the item there is ${item.id}`);
  const type = String(event['type']).replace(/^response\./, '');
  const [, subject = '', verb = ''] = /^(.*)\.(added|delta|done)$/.exec(type) ?? [];
  if (type === 'output_item.done') itemDone(event['item'] as Fields, item, fault);
  else if (subject === 'content_part' || subject === 'reasoning_summary_part') partRules(verb, event, item, fault);
  else if (subject === 'output_text.annotation') annotationRules(event, item, fault);
  else if (partEvents[subject] !== undefined) textRules(subject, verb, event, item, fault);
  else if (subject === 'shell_call_command') commandRules(verb, event, item, fault);
  else if (callEvents[subject] !== undefined) callRules(subject, verb, event, item, fault);
  else fault(`${type} is not an event of an item`);
}

function partRules(verb: string, event: Fields, item: OpenItem, fault: Fault): void {
  const index = event['content_index'] ?? event['summary_index'];
  const part = event['part'] as Fields;
  // A provider's own part has no deltas: it is whole from the start.
  const isWhole = isExtensionType(part['type']);
  if (verb === 'added') {
    if (index !== item.parts.length) fault(`${place(event)}: next part is ${item.parts.length}`);
    if (item.parts.some(({ isDone }) => !isDone)) fault(`${place(event)} while another part is open`);
    if (!isWhole && (part['text'] ?? part['refusal']) !== '') fault(`${place(event)} is not empty`);
    item.parts.push({
      type: String(part['type']),
      text: '',
      said: isWhole ? '' : null,
      annotations: [],
      logprobs: [],
      isDone: false,
    });
    return;
  }
  const open = item.parts[Number(index)];
  if (open === undefined || open.isDone) {
    fault(`${place(event)}: no such part is open`);
    return;
  }
  if (open.said === null) fault(`${place(event)} before the done of its text`);
  if (part['type'] !== open.type) fault(`${place(event)}: the part was ${open.type}`);
  if (!isWhole && (part['text'] ?? part['refusal']) !== open.text) fault(`${place(event)} differs from its deltas`);
  if (open.type === 'output_text') {
    same(part['annotations'], open.annotations, `${place(event)}: annotations`, fault);
    same(part['logprobs'], open.logprobs, `${place(event)}: logprobs`, fault);
  }
  open.isDone = true;
}

function textRules(subject: string, verb: string, event: Fields, item: OpenItem, fault: Fault): void {
  const rule = partEvents[subject];
  const part = item.parts[Number(event['content_index'] ?? event['summary_index'])];
  if (rule === undefined || part === undefined || part.isDone) {
    fault(`${place(event)}: no such part is open`);
    return;
  }
  if (item.type !== rule.item || part.type !== rule.part) fault(`${place(event)} in a ${part.type} of a ${item.type}`);
  if (part.said !== null) fault(`${place(event)} after the done of its text`);
  if (verb === 'delta') {
    if (event['delta'] === '') fault(`${place(event)} is empty`);
    part.text += String(event['delta']);
    part.logprobs.push(...((event['logprobs'] ?? []) as unknown[]));
    return;
  }
  part.said = String(event[rule.text]);
  if (part.said !== part.text) fault(`${place(event)} differs from its deltas`);
  if (subject === 'output_text') same(event['logprobs'], part.logprobs, `${place(event)}: logprobs`, fault);
}

function annotationRules(event: Fields, item: OpenItem, fault: Fault): void {
  const part = item.parts[Number(event['content_index'])];
  if (part?.type !== 'output_text' || part.said !== null) {
    fault(`${place(event)}: no open text there`);
    return;
  }
  if (event['annotation_index'] !== part.annotations.length)
    fault(`${place(event)}: next annotation is ${part.annotations.length}`);
  part.annotations.push(event['annotation']);
}

function callRules(subject: string, verb: string, event: Fields, item: OpenItem, fault: Fault): void {
  const rule = callEvents[subject];
  if (rule === undefined || item.type !== rule.item) {
    fault(`${place(event)} in a ${item.type}`);
    return;
  }
  if (item.said !== null) fault(`${place(event)} after its done`);
  if (verb === 'delta') {
    if (event['delta'] === '') fault(`${place(event)} is empty`);
    item.text += String(event['delta']);
    return;
  }
  item.said = String(event[rule.text]);
  // Also of a call without arguments: its `{}` is a delta too.
  if (item.said !== item.text) fault(`${place(event)} differs from its deltas`);
  if (rule.item === 'function_call' && event['name'] !== item.start['name']) fault(`${place(event)} has another name`);
}

function commandRules(verb: string, event: Fields, item: OpenItem, fault: Fault): void {
  if (item.type !== 'shell_call') fault(`${place(event)} in a ${item.type}`);
  const index = Number(event['command_index']);
  const command = item.commands[index];
  if (verb === 'added') {
    if (index !== item.commands.length) fault(`${place(event)}: next command is ${item.commands.length}`);
    if (event['command'] !== '') fault(`${place(event)} is not empty`);
    item.commands.push({ text: '', isDone: false });
    return;
  }
  if (command === undefined || command.isDone) {
    fault(`${place(event)}: no such command is open`);
    return;
  }
  if (verb === 'delta') {
    if (event['delta'] === '') fault(`${place(event)} is empty`);
    command.text += String(event['delta']);
    return;
  }
  command.isDone = true;
  if (event['command'] !== command.text) fault(`${place(event)} differs from its deltas`);
}

function itemDone(done: Fields, item: OpenItem, fault: Fault): void {
  item.done = done;
  for (const key of ['id', 'type', 'call_id', 'name', 'namespace', 'role', 'execution'])
    if (done[key] !== item.start[key]) fault(`${item.id}: ${key} changes between added and done`);
  // A summary is whole from the start, and has no status.
  if (item.type === 'compaction') {
    same(done, item.start, `${item.id} between added and done`, fault);
    return;
  }
  if (!['completed', 'incomplete'].includes(String(done['status']))) fault(`${item.id} is done as ${done['status']}`);
  if (item.type === 'image_generation_call' && (item.start['result'] !== null || !done['result']))
    fault(`${item.id} has its picture too early, or never`);
  if (item.parts.some(({ isDone }) => !isDone)) fault(`${item.id} is done before its part`);
  if (item.type === 'function_call' || item.type === 'custom_tool_call') {
    const text = done['arguments'] ?? done['input'];
    // An input that is cut has no `done`: clients treat that as permission to run it.
    const isCutInput = item.type === 'custom_tool_call' && done['status'] === 'incomplete';
    if (item.said === null && !isCutInput) fault(`${item.id} is done before its arguments or input`);
    if (text !== (item.said ?? item.text)) fault(`${item.id}: what is done differs from what was said`);
  }
  if (item.type === 'shell_call') {
    const { commands } = done['action'] as { commands: unknown };
    if (item.commands.some(({ isDone }) => !isDone)) fault(`${item.id} is done before its commands`);
    same(
      commands,
      item.commands.map(({ text }) => text),
      `${item.id}: commands`,
      fault,
    );
  }
  if (item.type === 'message') sameTexts(done['content'], item.parts, `${item.id}: content`, fault);
  if (item.type === 'reasoning') {
    const inSummary = item.parts.some(({ type }) => type === 'summary_text');
    sameTexts(done[inSummary ? 'summary' : 'content'], item.parts, `${item.id}: reasoning`, fault);
    // OpenAI's items have no content where there is a summary; ours may, and then it is the same text (choice D2).
    if (inSummary && 'content' in done) sameTexts(done['content'], item.parts, `${item.id}: content`, fault);
  }
}

function sameTexts(content: unknown, parts: readonly Part[], what: string, fault: Fault): void {
  const texts = ((content ?? []) as Fields[]).map((part) =>
    isExtensionType(part['type']) ? '' : (part['text'] ?? part['refusal']),
  );
  same(
    texts,
    parts.map(({ text }) => text),
    what,
    fault,
  );
}

function same(given: unknown, wanted: unknown, what: string, fault: Fault): void {
  if (JSON.stringify(given) !== JSON.stringify(wanted)) fault(`${what} differ from what was said`);
}
