/** The address to check: the first argument, else what `npm start` listens on. */
export const baseURL = process.argv[2] ?? 'http://127.0.0.1:10000/v1';

/** Runs a scenario and says in one line how it went. What it gives must contain every text of `expected`. */
export async function check(name, expected, scenario) {
  try {
    const outcome = String(await scenario());
    const missing = expected.filter((text) => !outcome.includes(text));
    if (missing.length > 0) throw new Error(`“${missing.join('”, “')}” is not in “${outcome.slice(0, 300)}”`);
    console.log(`ok    ${name}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAIL  ${name}: ${error?.stack ?? error}`);
  }
}

/** The error a scenario ends in, as text. */
export async function failureOf(scenario) {
  try {
    return `no failure but ${await scenario()}`;
  } catch (error) {
    return `${error.status ?? error.statusCode} ${error.message}`;
  }
}

/** What the embedded upstream makes of these. */
export const question = 'Compare the weather in Paris and Rome.';
export const answers = ['Paris: sunny', 'Rome: sunny'];
