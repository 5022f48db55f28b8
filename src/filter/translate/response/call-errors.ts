import { ApiError } from '../../wire/schema/api-error.ts';

/** The error for a call that the client cannot be told to run. */
export function invalidCall(message: string, code = 'invalid_tool_call'): ApiError {
  return ApiError.ofModel(code, message);
}

/** The error for an answer of nothing but calls without a name, which no client can answer. */
export function namelessCall(): ApiError {
  return invalidCall('The model called a tool without naming it.');
}

/** The error for an answer that ends with a call, as the upstream says, and has neither calls nor text (vllm#53255). */
export function missingCall(): ApiError {
  return invalidCall('The upstream ended the answer with a tool call, and sent none.');
}

export function toolNotAllowed(name: string): ApiError {
  return invalidCall(`The model called “${name}”, which “tool_choice” does not allow.`, 'tool_not_allowed');
}
