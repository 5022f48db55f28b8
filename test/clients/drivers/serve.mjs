// Runs the scenarios of one client:  node --import …/resolve.mjs serve.mjs DRIVER
// A line of standard input names a scenario, a line of standard output says how it ended.
import { createInterface } from 'node:readline';

console.log = console.error;
const { scenarios } = await import(`./${process.argv[2]}.mjs`);

for await (const line of createInterface({ input: process.stdin })) {
  const { scenario, ...options } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await outcomeOf(scenario, options))}\n`);
}
process.exit(0);

async function outcomeOf(scenario, options) {
  try {
    return { outcome: await scenarios[scenario](options) };
  } catch (error) {
    // The AI SDK wraps the last of its attempts.
    const { name, message, status, statusCode } = error.lastError ?? error;
    return { error: { name, message: String(message), status: status ?? statusCode ?? null } };
  }
}
