import { describe, expect, it } from 'vitest';
import { translateCompletion } from '../../../../src/filter/translate/chat-to-response/completion.ts';
import { StreamTranslator } from '../../../../src/filter/translate/chat-to-response/stream.ts';
import type { ResponseContext } from '../../../../src/filter/translate/shared/context.ts';
import { translateRequest } from '../../../../src/filter/translate/translate-request.ts';
import { builtInProfiles } from '../../../../src/filter/upstream/profiles.ts';
import type { ResponseResource } from '../../../../src/filter/wire/schema/response-resource.ts';
import { faultsOfChat } from '../../../support/chat-rules.ts';
import { createCountedIds } from '../../../support/context.ts';
import { profilesWithTools } from '../../../support/profiles-with-tools.ts';
import { createTestSettings } from '../../../support/settings.ts';

/**
 * What an agent does that keeps its own history: `input.push(...output)`, and the outputs of its calls. Nothing of what was given it
 * here may be named as lost when it comes back, in none of ten turns.
 */
const tools = [
  { type: 'function', name: 'look', parameters: { type: 'object', properties: { at: { type: 'integer' } } } },
  { type: 'custom', name: 'patch' },
  { type: 'apply_patch' },
  { type: 'local_shell' },
  { type: 'shell', environment: { type: 'local' } },
  { type: 'namespace', name: 'mcp__files', description: 'Files.', tools: [{ type: 'function', name: 'read' }] },
  { type: 'function', name: 'mcp__chrome_devtools_mcp_chrome_devtools_performance_analyze_insight' },
  { type: 'tool_search' },
  { type: 'function', name: 'later', defer_loading: true },
];

const argumentsOf: Readonly<Record<string, string>> = {
  custom: '{"input":"x"}',
  apply_patch: '{"type":"update_file","path":"a","diff":"@@"}',
  local_shell: '{"command":["ls"]}',
  shell: '{"commands":["ls"]}',
};

const outputs: Readonly<Record<string, object>> = {
  function_call: { type: 'function_call_output', output: 'ok' },
  custom_tool_call: { type: 'custom_tool_call_output', output: 'ok' },
  local_shell_call: { type: 'local_shell_call_output', output: 'ok' },
  apply_patch_call: { type: 'apply_patch_call_output', status: 'completed', output: 'ok' },
  shell_call: {
    type: 'shell_call_output',
    output: [{ stdout: 'ok', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  },
};

type Item = Readonly<Record<string, unknown>>;

/** Every third turn is an answer; the others call every other tool. */
function messageOf(turn: number, { toolNames, restoredTools, profile }: ResponseContext): object {
  const called = [...toolNames].filter((_name, index) => turn % 3 !== 2 && (index + turn) % 2 === 0);
  const tool_calls = called.map((name, index) => {
    const kind = restoredTools.get(name)?.kind ?? 'function';
    const id = `call_${index}`;
    if (kind === 'custom' && profile.customTools === 'native')
      return { index, id, type: 'custom', custom: { name, input: 'x' } };
    return { index, id, type: 'function', function: { name, arguments: argumentsOf[kind] ?? '{"at":1.0}' } };
  });
  const [first, ...others] = tool_calls;
  return {
    role: 'assistant',
    content: `Said ${turn}.`,
    reasoning_details: [{ type: 'reasoning.text', text: `Thought ${turn}.`, signature: 's', index: 0 }],
    annotations: [
      { type: 'url_citation', url_citation: { url: 'https://a.test', title: 'A', start_index: 0, end_index: 4 } },
    ],
    ...(turn === 4 && { images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] }),
    ...(turn === 5 && { refusal: 'No.' }),
    ...(first !== undefined && {
      tool_calls: [{ ...first, extra_content: { google: { thought_signature: 's' } } }, ...others],
    }),
  };
}

function answerOf(message: object, context: ResponseContext, isStream: boolean): ResponseResource {
  const finish_reason = 'tool_calls' in message ? 'tool_calls' : 'stop';
  if (!isStream) return translateCompletion({ choices: [{ message, finish_reason }] }, context).response;
  const translator = new StreamTranslator(context);
  translator.push({ choices: [{ index: 0, delta: message, finish_reason }] });
  translator.finish('done');
  return translator.response.final as ResponseResource;
}

describe.each(['JSON', 'a stream'])('an output that came as %s', (form) => {
  it.each(profilesWithTools)('comes back for %s without a name for anything lost', (name) => {
    const profile = builtInProfiles.get(name)?.profile;
    const settings = createTestSettings({ profile: name });
    const input: Item[] = [{ role: 'user', content: 'Hi' }];
    const types = new Set<unknown>();
    for (let turn = 0; turn < 10; turn++) {
      const request = { model: 'm', tools, input, include: ['reasoning.encrypted_content'] };
      const clock = { now: () => 1, newId: createCountedIds() };
      const { chat, context, dropped } = translateRequest(request, settings, clock);
      expect(faultsOfChat(JSON.parse(JSON.stringify(chat)))).toEqual([]);
      // A server that reads no reasoning does not get any, which the client may want to know.
      const lost = dropped.filter((path) => path.startsWith('input') && path !== 'input[].reasoning');
      expect(lost).toEqual([]);
      if (profile?.reasoningReplay !== 'none') expect(dropped).not.toContain('input[].reasoning');
      const response = answerOf(messageOf(turn, context), context, form !== 'JSON');
      expect(response.status).toBe('completed');
      const items: Item[] = JSON.parse(JSON.stringify(response.output));
      input.push(...items);
      for (const { type, call_id } of items) {
        types.add(type);
        const output = outputs[String(type)];
        if (output !== undefined) input.push({ ...output, call_id });
      }
      input.push({ role: 'user', content: `Next ${turn}.` });
    }
    expect(types.size).toBe(10);
  });
});
