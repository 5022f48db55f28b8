// Where the examples go: their arguments, else the environment, else what `npm start` listens on.
export const baseURL = process.argv[2] ?? process.env.OPENAI_BASE_URL ?? 'http://127.0.0.1:10000/v1';
export const model = process.argv[3] ?? process.env.MODEL ?? 'demo';

// The SDK wants a key; whether one is needed is up to the upstream, which gets it unchanged.
process.env.OPENAI_API_KEY ??= 'none';
