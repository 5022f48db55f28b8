// One question, one answer.  node docs/examples/create.mjs [base URL] [model]
import OpenAI from 'openai';
import { baseURL, model } from './target.mjs';

const client = new OpenAI({ baseURL });

const response = await client.responses.create({
  model,
  instructions: 'Answer in one sentence.',
  input: 'What does an Envoy filter do?',
});

console.log(response.output_text);
console.log(`${response.status}: ${response.usage?.input_tokens} tokens in, ${response.usage?.output_tokens} out`);
