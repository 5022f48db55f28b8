/** An entry of `input` or `tools`, as clients send it. */
export type Item = Readonly<Record<string, unknown>>;

/** A tool in all its forms: as a request offers it, as a model calls it, and as the items of a call and its output. */
export interface ToolKind {
  /** The entry of `tools`; null for a tool that models call although nobody offers it. */
  readonly tool: Item | null;
  readonly name: string;
  readonly namespace?: string;
  /** Its arguments go back to the server as the text that they were, and not as the same object. */
  readonly keepsText: boolean;
  /** The arguments in which the model says `text`. */
  args(text: string): Item;
  /** The item of a call that says `text`. */
  call(call_id: string, text: string): Item;
  output(call_id: string, text: string): Item;
}

const parameters = {
  type: 'object',
  properties: { q: { type: 'string' }, n: { type: 'integer' }, l: { type: 'array', items: {} } },
};

function functionKind(name: string, others: object = {}, isOffered = true): ToolKind {
  const args = (text: string) => ({ n: 2, q: text, l: [{}, 1.5, '}'] });
  return {
    tool: isOffered ? { type: 'function', name, parameters, ...others } : null,
    name,
    keepsText: true,
    args,
    call: (call_id, text) => ({ type: 'function_call', call_id, name, arguments: JSON.stringify(args(text)) }),
    output: (call_id, output) => ({ type: 'function_call_output', call_id, output }),
  };
}

function customKind(name: string): ToolKind {
  return {
    tool: { type: 'custom', name },
    name,
    keepsText: false,
    args: (input) => ({ input }),
    call: (call_id, input) => ({ type: 'custom_tool_call', call_id, name, input }),
    output: (call_id, output) => ({ type: 'custom_tool_call_output', call_id, output }),
  };
}

const get = functionKind('get');

/** Every kind of call, by a name of its own. */
export const toolKinds = {
  get,
  getMore: functionKind('get_more'), // its name begins with another's
  long: functionKind(`long_${'x'.repeat(70)}`),
  late: functionKind('late', { async: true }),
  deferred: functionKind('deferred', { defer_loading: true }),
  neverOffered: functionKind('never_offered', {}, false),
  member: {
    ...get,
    tool: {
      type: 'namespace',
      name: 'files',
      description: '',
      tools: [{ type: 'function', name: 'read', parameters }],
    },
    name: 'read',
    namespace: 'files',
    call: (call_id, text) => ({ ...get.call(call_id, text), name: 'read', namespace: 'files' }),
  },
  custom: customKind('patch'),
  shell: {
    tool: { type: 'shell', environment: { type: 'local' } },
    name: 'shell',
    keepsText: false,
    args: (text) => ({ commands: [text], timeout_ms: 5 }),
    call: (call_id, text) => ({ type: 'shell_call', call_id, action: { commands: [text], timeout_ms: 5 } }),
    output: (call_id, stdout) => ({
      type: 'shell_call_output',
      call_id,
      output: [{ stdout, stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    }),
  },
  localShell: {
    tool: { type: 'local_shell' },
    name: 'local_shell',
    keepsText: false,
    args: (text) => ({ command: ['echo', text], env: {} }),
    call: (call_id, text) => ({
      type: 'local_shell_call',
      call_id,
      action: { type: 'exec', command: ['echo', text], env: {} },
    }),
    output: (call_id, output) => ({ type: 'local_shell_call_output', call_id, output }),
  },
  applyPatch: {
    tool: { type: 'apply_patch' },
    name: 'apply_patch',
    keepsText: false,
    args: (path) => ({ type: 'create_file', path, diff: '+x' }),
    call: (call_id, path) => ({
      type: 'apply_patch_call',
      call_id,
      operation: { type: 'create_file', path, diff: '+x' },
    }),
    output: (call_id, output) => ({ type: 'apply_patch_call_output', call_id, status: 'completed', output }),
  },
  search: {
    tool: { type: 'tool_search', execution: 'client', description: 'Finds tools.', parameters },
    name: 'tool_search',
    keepsText: false,
    args: (q) => ({ q }),
    call: (call_id, q) => ({ type: 'tool_search_call', call_id, execution: 'client', arguments: { q } }),
    output: (call_id, text) => ({
      type: 'tool_search_output',
      call_id,
      execution: 'client',
      tools: [{ type: 'function', name: text.replaceAll(/\W/g, ''), parameters }],
    }),
  },
} as const satisfies Record<string, ToolKind>;

export type ToolKindName = keyof typeof toolKinds;
export const toolKindNames = Object.keys(toolKinds) as ToolKindName[];

/** The kind of tool that an item calls. */
export function kindOfCall({ type, name }: { readonly type: string; readonly name?: unknown }): ToolKind | null {
  const kinds: readonly ToolKind[] = Object.values(toolKinds);
  return (
    kinds.find((kind) => {
      const call = kind.call('', '');
      return call['type'] === type && call['name'] === name;
    }) ?? null
  );
}
