// The answer as it is written.  node docs/examples/stream.mjs [base URL] [model]
import OpenAI from 'openai';
import { baseURL, model } from './target.mjs';

const client = new OpenAI({ baseURL });

const stream = client.responses
  .stream({ model, input: 'Count from one to five, in words.' })
  .on('response.output_text.delta', ({ delta }) => process.stdout.write(delta));

const response = await stream.finalResponse();
console.log(`\n${response.status}: ${response.usage?.output_tokens} tokens out`);
