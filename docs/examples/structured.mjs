// An answer of a shape that is fixed beforehand.  node docs/examples/structured.mjs [base URL] [model]
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { baseURL, model } from './target.mjs';

const client = new OpenAI({ baseURL });

const calendarEvent = z.object({
  name: z.string(),
  day: z.enum(['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday']),
  participants: z.array(z.string()),
});

const response = await client.responses.parse({
  model,
  input: 'Alice and Bob review the design on Friday.',
  text: { format: zodTextFormat(calendarEvent, 'calendar_event') },
});

const { name, day, participants } = response.output_parsed;
console.log(`${name} on ${day}, with ${participants.join(' and ')}`);
