import { createOpenAI } from '@ai-sdk/openai';
import { scenariosOf } from './ai-sdk.mjs';

export const scenarios = scenariosOf(
  ({ baseURL, model }) => createOpenAI({ baseURL, apiKey: 'none' }).responses(model),
  { openai: { store: false, include: ['reasoning.encrypted_content'], reasoningSummary: 'auto' } },
);
