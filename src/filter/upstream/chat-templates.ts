import type { ModelRule } from './profile.ts';

/** Kimi's template shows the model the ids of calls in place of the functions' names. Its own API writes the ids anew itself. */
export const kimiIds: readonly ModelRule[] = [
  {
    match: /kimi-?k2/i,
    reason:
      'Their template shows only the id of a call. With ids of another model they acted in 1 of 10 tries, with their own in 12 of 12 (kimchi#1063, vllm#50782, kimi-code#2503, Moonshot’s `tool_call_guidance.md`).',
    flags: { callIdForm: 'functions.NAME:N' },
  },
  {
    match: /kimi-?k[3-9]/i,
    reason: 'Their own form (fireconnect#16).',
    flags: { callIdForm: 'NAME:N' },
  },
];

/**
 * Rules for what chat templates refuse, by the model's name, for servers that run the model's template. Where an assistant message holds
 * only calls, its text is sent empty: several templates use the length of the content, or search it.
 */
export const templateRules: readonly ModelRule[] = [
  {
    match: /(?:mis|minis|magis|mix|pix|vox)tral|(?:dev|code|math)stral/i,
    reason:
      'From mistral-common `template_generator.py` and `validator.py`, llama.cpp `mistralai-Mistral-Small-3.1-24B-Instruct-2503.jinja`, vllm#6862, vllm#9019.',
    flags: {
      systemMessages: 'leading_only',
      alternateRoles: true,
      needsUser: true,
      callIdForm: 'alphanumeric_9',
      emptyAssistantContent: 'empty',
    },
  },
  {
    match: /gemma-?[23]/i,
    reason: 'Only vLLM’s `tool_chat_template_gemma3_pythonic.jinja` knows tools.',
    flags: {
      systemMessages: 'leading_only',
      alternateRoles: true,
      needsUser: true,
      emptyAssistantContent: 'empty',
    },
  },
  {
    match: /qwen-?3\.[5-9]|qwen-?[4-9]/i,
    reason: '“No user query found in messages.”',
    flags: { needsUser: true },
  },
  {
    match: /llama-?v?3(?:\D|$)/i,
    reason:
      '“This model only supports single tool-calls at once!”; tools stand in the first message after the system’s (vLLM `tool_chat_template_llama3.1_json.jinja`).',
    flags: { singleCalls: true, needsUser: true, emptyAssistantContent: 'empty' },
  },
  {
    match: /gpt-oss/i,
    reason: 'Its template searches the content.',
    flags: { emptyAssistantContent: 'empty' },
  },
  ...kimiIds,
];
