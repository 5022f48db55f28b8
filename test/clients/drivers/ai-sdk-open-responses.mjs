import { createOpenResponses } from '@ai-sdk/open-responses';
import { scenariosOf } from './ai-sdk.mjs';

export const scenarios = scenariosOf(
  ({ baseURL, model }) => createOpenResponses({ name: 'local', url: `${baseURL}/responses`, apiKey: 'none' })(model),
  { local: { include: ['reasoning.encrypted_content'] } },
);
