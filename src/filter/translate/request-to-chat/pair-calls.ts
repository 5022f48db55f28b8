import type { InputContent, InputItem, InputMessage, InputToolCall, InputToolOutput } from '../shared/parsed.ts';
import { carry } from '../shared/provenance.ts';
import { invalidValue, quote } from '../shared/request-errors.ts';
import type { OperatorSettings } from '../shared/settings.ts';

/** A call with its outputs. */
export interface PairedCall extends InputToolCall {
  readonly outputs: InputContent[][];
  /** Whether the call has no output in its turn; a placeholder is used. */
  abandoned: boolean;
  /** The turn it was made in: the number of turns before it. */
  readonly turn: number;
}

/** An `answer` marks the place of an output among the items. Its content is with its call. */
export type PairedItem =
  | Exclude<InputItem, InputToolCall | InputToolOutput>
  | PairedCall
  | { readonly kind: 'answer'; readonly call: PairedCall };

type PairingSettings = Pick<OperatorSettings, 'orphanOutputs' | 'missingOutputs'>;

/**
 * Gives every call its outputs. A call without output and an output without a call are refused or completed with a
 * placeholder, as the settings say. A call that was cut may lack its output, and so may an asynchronous one; an output that
 * arrives after a later turn stays there, as a user message: the model did not have it before.
 */
export function pairCalls(items: readonly InputItem[], settings: PairingSettings): readonly PairedItem[] {
  if (items.every((item) => item.kind === 'message' || item.kind === 'reasoning')) return items;
  const paired: PairedItem[] = [];
  const calls: PairedCall[] = [];
  /** By the call as it was read; one that was made for outputs without a call by their id. */
  const pairedOf = new Map<InputToolCall | string, PairedCall>();
  const announced = new Set<PairedCall>();
  let orphan: InputToolOutput | null = null;
  let turn = 0;
  let isAnswered = false;

  const nextTurn = (): void => {
    turn++;
    isAnswered = false;
  };

  const addCall = (item: InputToolCall, key: InputToolCall | string = item): void => {
    // A call that follows an output was made with it.
    if (isAnswered) nextTurn();
    const call: PairedCall = { ...item, outputs: [], abandoned: false, turn };
    calls.push(call);
    paired.push(call);
    pairedOf.set(key, call);
  };

  const addOutput = (item: InputToolOutput): void => {
    const call = pairedOf.get(item.call ?? item.callId);
    if (call === undefined) {
      orphan ??= item;
      if (settings.orphanOutputs === 'reject') return;
      addCall(placeholderCall(item), item.callId);
      addOutput(item);
      return;
    }
    if (call.isAsync && call.turn !== turn) {
      const late = lateOutput(call, item, !announced.has(call));
      announced.add(call);
      carry(late, item);
      paired.push(late);
      return;
    }
    const output = [...item.content];
    carry(output, item);
    call.outputs.push(output);
    isAnswered = true;
    paired.push({ kind: 'answer', call });
  };

  for (const item of items) {
    if (item.kind === 'call') addCall(item);
    else if (item.kind === 'output') addOutput(item);
    else {
      if (item.kind === 'message') nextTurn();
      paired.push(item);
    }
  }

  refuseUnpaired(items, calls, orphan, settings);
  answerAbandoned(calls);
  return paired;
}

/** Throws for the first call without an output, or output without a call, that is refused. */
function refuseUnpaired(
  items: readonly InputItem[],
  calls: readonly PairedCall[],
  orphan: InputToolOutput | null,
  { orphanOutputs, missingOutputs }: PairingSettings,
): void {
  const missing = calls.find(({ outputs, isAsync, isCut }) => outputs.length === 0 && !isAsync && !isCut);
  const unanswered = missingOutputs === 'reject' ? missing : undefined;
  const refused = orphanOutputs === 'reject' ? orphan : null;
  if (unanswered === undefined && refused === null) return;
  for (const item of items) {
    if (item.kind === 'call' && item.param === unanswered?.param) throw missingOutput(item);
    if (item === refused) throw orphanOutput(item);
  }
}

function answerAbandoned(calls: readonly PairedCall[]): void {
  for (const call of calls) {
    if (call.outputs.length > 0) continue;
    const output: InputContent[] = [{ type: 'text', text: call.isAsync && !call.isCut ? 'pending' : 'aborted' }];
    carry(output, call);
    call.outputs.push(output);
    call.abandoned = true;
  }
}

/** Only the first of several names the tool: a client can send a long name once, and thousands of outputs. */
function lateOutput({ name, callId }: PairedCall, { content }: InputToolOutput, isFirst: boolean): InputMessage {
  const heading = { type: 'text', text: `Output of tool call ${callId}${isFirst ? ` (${name})` : ''}:\n` } as const;
  return { kind: 'message', role: 'user', content: [heading, ...content] };
}

function orphanOutput({ param, callId }: InputToolOutput): Error {
  return invalidValue(
    `${param}.call_id`,
    `No tool call found for function call output with call_id ${quote(callId)}. Send the function_call item before it.`,
  );
}

function missingOutput({ param, callId }: InputToolCall): Error {
  return invalidValue(
    param,
    `No tool output found for function call ${quote(callId)}. Send a function_call_output item with this call_id after it.`,
  );
}

function placeholderCall(output: InputToolOutput): InputToolCall {
  const { param, callId } = output;
  const name = 'unknown_tool';
  const call = {
    kind: 'call',
    param,
    callId,
    takesText: false,
    name,
    namespace: null,
    input: '{}',
    isAsync: false,
    isCut: false,
  } as const;
  carry(call, output);
  return call;
}
