/**
 * The same observer, whose exceptions are its own: `failed` is told of each, and what is observed goes on. An observer gives nothing back.
 */
export function contain<Observer extends object>(observer: Observer, failed: (thrown: unknown) => void): Observer {
  const hooks = Object.entries(observer).map(([name, hook]) => [name, (...given: unknown[]) => run(hook, given)]);
  const run = (hook: (...given: unknown[]) => void, given: readonly unknown[]) => {
    try {
      hook(...given);
    } catch (thrown) {
      report(thrown);
    }
  };
  const report = (thrown: unknown) => {
    try {
      failed(thrown);
    } catch {
      // There is nobody left to tell.
    }
  };
  return Object.fromEntries(hooks) as Observer;
}
