/** Who speaks in a message: decides which parts may stand there. */
export type Speaker = 'user' | 'system' | 'assistant' | 'tool';
