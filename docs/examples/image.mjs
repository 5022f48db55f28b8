// A question about an image, which travels inside the request.  node docs/examples/image.mjs [base URL] [model]
import OpenAI from 'openai';
import { baseURL, model } from './target.mjs';

const client = new OpenAI({ baseURL });

// A blue square, eight pixels wide.
const image =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mOQi7qDFTEMLQkABzdVATjDlPQAAAAASUVORK5CYII=';

const response = await client.responses.create({
  model,
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'What is in this image?' },
        { type: 'input_image', image_url: image, detail: 'auto' },
      ],
    },
  ],
});

console.log(response.output_text);
