/** The wordings of servers whose model takes only text, whatever the status. */
const wordings: readonly (readonly [who: string, wording: RegExp])[] = [
  ['llama.cpp', /\b(?:image|audio|video) input is not supported/],
  ['Ollama', /model does not support (?:image|audio|video) input/], // ollama#17301
  ['vLLM', /is not a multimodal model|at most 0 (?:image|audio|video)\(s\) may be provided/],
  ['OpenRouter', /no endpoints found that support (?:image|audio|video) input/], // goose#5396
  ['DeepSeek', /unknown variant `?(?:image_url|input_audio|video_url)/], // next-ai-draw-io#55
  ['Bedrock', /model doesn't support the (?:image|audio|video) field/], // pi#8960
];

const anyWording = new RegExp(wordings.map(([, { source }]) => `(?:${source})`).join('|'), 'i');

/** Does this message say that the model takes no images, sound or video? */
export function saysUnsupportedMedia(message: string): boolean {
  return anyWording.test(message);
}
