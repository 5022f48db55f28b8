// An MCP server on standard input and output with one tool, for Codex.
import { createInterface } from 'node:readline';

const tools = [
  {
    name: 'word_of',
    description: 'The word that is kept in a room.',
    inputSchema: { type: 'object', properties: { room: { type: 'string' } }, required: ['room'] },
  },
];

const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'words', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: `In the ${params.arguments.room}: bittern` }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = results[method]?.(params) ?? {};
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`);
}
