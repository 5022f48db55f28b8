/** The wordings of servers whose model takes only text, whatever the status. */
const wordings: readonly RegExp[] = [
  /\b(?:image|audio|video) input is not supported/, // llama.cpp
  /model does not support (?:image|audio|video) input/, // Ollama: ollama#17301
  /is not a multimodal model|at most 0 (?:image|audio|video)\(s\) may be provided/, // vLLM
  /no endpoints found that support (?:image|audio|video) input/, // OpenRouter: goose#5396
  /unknown variant `?(?:image_url|input_audio|video_url)/, // DeepSeek: next-ai-draw-io#55
  /model doesn't support the (?:image|audio|video) field/, // Bedrock: pi#8960
];

const anyWording = new RegExp(wordings.map(({ source }) => `(?:${source})`).join('|'), 'i');

/** Does this message say that the model takes no images, sound or video? */
export function saysUnsupportedMedia(message: string): boolean {
  return anyWording.test(message);
}
