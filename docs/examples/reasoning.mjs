// A model that thinks first: its reasoning arrives as a summary, and goes back with the next question.
//   node docs/examples/reasoning.mjs [base URL] [model]
import OpenAI from 'openai';
import { baseURL, model } from './target.mjs';

const client = new OpenAI({ baseURL });
const settings = {
  model: model === 'demo' ? 'demo-reasoning' : model,
  reasoning: { effort: 'low', summary: 'auto' },
  include: ['reasoning.encrypted_content'], // what the upstream needs back, carried by the client
  store: false,
};

const input = [{ role: 'user', content: 'Which is larger, 9.11 or 9.9?' }];
const first = await client.responses
  .stream({ ...settings, input })
  .on('response.reasoning_summary_text.delta', ({ delta }) => process.stdout.write(delta))
  .on('response.reasoning_summary_text.done', () => process.stdout.write('\n---\n'))
  .on('response.output_text.delta', ({ delta }) => process.stdout.write(delta))
  .finalResponse();

input.push(...first.output, { role: 'user', content: 'Are you sure?' });
const second = await client.responses.create({ ...settings, input });
console.log(`\n---\n${second.output_text}`);
