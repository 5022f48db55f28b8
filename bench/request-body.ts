/** What stands before the question: long texts in turns, 1 MB in all, or the items and tools of a coding agent. */
export type History = 'texts' | 'agent';

const question = 'What would a heron say to a carp about the weather of this pond? ';
const textTurns = 480;
const agentCalls = 133;
const agentTools = 60;

/** A `CreateResponse` body. Every contender gets the same bytes: a filter that changes nothing does not read them. */
export function writeRequest({
  model,
  stream,
  history,
}: {
  readonly model: string;
  readonly stream: boolean;
  readonly history?: History | undefined;
}): Buffer {
  const before = history === undefined ? [] : history === 'texts' ? writeTexts() : writeAgentItems();
  const input = [...before, { role: 'user', content: question }];
  const tools = Array.from({ length: history === 'agent' ? agentTools : 1 }, (_, index) => writeTool(index));
  return Buffer.from(
    JSON.stringify({ model, stream, instructions: 'You are a helpful assistant. '.repeat(10), input, tools }),
  );
}

function writeTexts(): object[] {
  return Array.from({ length: textTurns }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: question.repeat(32),
  }));
}

/** A call, its output and a remark, as an agent repeats them with every turn. */
function writeAgentItems(): object[] {
  const line = '   12\tconst heron = pond.find((bird) => bird.name === "heron"); // naïve\n';
  return Array.from({ length: agentCalls }, (_, index) => {
    const call_id = `call_${index}`;
    const command = ['bash', '-lc', `sed -n '${index},${index + 40}p' src/pond/heron.ts`];
    return [
      { type: 'function_call', call_id, name: 'tool_0', arguments: JSON.stringify({ command, timeout_ms: 10_000 }) },
      { type: 'function_call_output', call_id, output: line.repeat(34) },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: question.repeat(4), annotations: [] }],
      },
    ];
  }).flat();
}

function writeTool(index: number): object {
  const names = ['command', 'workdir', 'justification', 'timeout_ms', 'pattern', 'encoding'];
  const properties = Object.fromEntries(
    names.map((name) => [name, { type: 'string', description: question.repeat(5) }]),
  );
  const parameters = { type: 'object', properties, required: names.slice(0, 2), additionalProperties: false };
  return { type: 'function', name: `tool_${index}`, description: question.repeat(4), parameters };
}
