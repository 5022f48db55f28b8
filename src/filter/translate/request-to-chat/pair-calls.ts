import type { InputContent, InputItem, InputMessage, InputToolCall, InputToolOutput } from '../shared/parsed.ts';
import { carry } from '../shared/provenance.ts';
import { invalidValue, quote } from '../shared/request-errors.ts';
import type { OperatorSettings } from '../shared/settings.ts';

export interface PairedCall extends InputToolCall {
  readonly outputs: InputContent[][];
  /** The call has no output in its round, and a placeholder stands for one. */
  abandoned: boolean;
  /** The number of rounds before the call's own: the calls of one message of the model, and their outputs, are a round. */
  readonly round: number;
}

/** An `answer` marks the place of an output among the items; its content is with its call. */
export type PairedItem =
  | Exclude<InputItem, InputToolCall | InputToolOutput>
  | PairedCall
  | { readonly kind: 'answer'; readonly call: PairedCall };

type PairingSettings = Pick<OperatorSettings, 'orphanOutputs' | 'missingOutputs'>;

/**
 * Gives every call its outputs. A call without an output and an output without a call are refused or completed with a placeholder, as the
 * settings say. A call that was cut may lack its output, and so may an asynchronous one. An output that arrives in a later round
 * stays there, as a user message: the model did not have it before.
 */
export function pairCalls(items: readonly InputItem[], settings: PairingSettings): readonly PairedItem[] {
  if (items.every((item) => item.kind === 'message' || item.kind === 'reasoning')) return items;
  const paired: PairedItem[] = [];
  const calls: PairedCall[] = [];
  /** The paired call of each call as it was read. A call that was made for outputs without one is found by their id. */
  const pairedOf = new Map<InputToolCall | string, PairedCall>();
  const announced = new Set<PairedCall>();
  let orphan: InputToolOutput | null = null;
  let round = 0;
  let isAnswered = false;

  const beginRound = (): void => {
    round++;
    isAnswered = false;
  };

  const addCall = (item: InputToolCall, key: InputToolCall | string = item): void => {
    // A call that follows an output was made with that output.
    if (isAnswered) beginRound();
    const call: PairedCall = { ...item, outputs: [], abandoned: false, round };
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
    if (call.isAsync && call.round !== round) {
      paired.push(lateOutput(call, item, !announced.has(call)));
      announced.add(call);
      return;
    }
    const output = [...item.content];
    carry(output, item);
    call.outputs.push(output);
    isAnswered = true;
    paired.push({ kind: 'answer', call });
  };

  for (const item of items) {
    if (item.kind === 'message') beginRound();
    if (item.kind === 'call') addCall(item);
    else if (item.kind === 'output') addOutput(item);
    else paired.push(item);
  }

  refuseUnpaired(items, calls, orphan, settings);
  answerAbandoned(calls);
  return paired;
}

/** Throws `ApiError` for the first call without an output, or output without a call, that the settings refuse. */
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

/** Only the first of several outputs names the tool: a client can send a long name once, and thousands of outputs. */
function lateOutput({ name, callId }: PairedCall, output: InputToolOutput, isFirst: boolean): InputMessage {
  const heading = { type: 'text', text: `Output of tool call ${callId}${isFirst ? ` (${name})` : ''}:\n` } as const;
  const message: InputMessage = { kind: 'message', role: 'user', content: [heading, ...output.content] };
  carry(message, output);
  return message;
}

function orphanOutput({ param, callId }: InputToolOutput): Error {
  const message = `No tool call found for function call output with call_id ${quote(callId)}. Send the function_call item before it.`;
  return invalidValue(`${param}.call_id`, message);
}

function missingOutput({ param, callId }: InputToolCall): Error {
  const message = `No tool output found for function call ${quote(callId)}. Send a function_call_output item with this call_id after it.`;
  return invalidValue(param, message);
}

function placeholderCall(output: InputToolOutput): InputToolCall {
  const { param, callId } = output;
  const call = {
    kind: 'call',
    param,
    callId,
    takesText: false,
    name: 'unknown_tool',
    namespace: null,
    input: '{}',
    isAsync: false,
    isCut: false,
  } as const;
  carry(call, output);
  return call;
}
