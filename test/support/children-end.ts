import { type ChildProcess, spawn } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

/**
 * A setup file of every project, and of what runs vitest: what it starts ends with the process, even if that is killed. A shell reads from a pipe
 * that closes with this process, and then kills what it was told of: each process, with its group where it leads one.
 */
const script = `
  trap '' INT TERM HUP
  while read -r what pid; do
    if [ "$what" = started ]; then pids="$pids $pid "; else pids=\${pids%% $pid *}\${pids#* $pid }; fi
  done
  for pid in $pids; do kill -KILL "-$pid" || kill -KILL "$pid"; done 2> /dev/null
`;
const watches = Symbol.for('responses-extproc: children end'); // some projects load this file again for each file of tests

if (!(watches in globalThis)) {
  Object.assign(globalThis, { [watches]: true });
  const watchdog = spawn('sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  const pipe = watchdog.stdin as Socket;
  // It keeps no process of tests alive, and is missed by none where there is no shell.
  for (const one of [watchdog, pipe]) {
    one.unref();
    one.on('error', () => {});
  }
  subscribe('child_process', (message) => {
    const { process: child } = message as { process: ChildProcess };
    child.once('spawn', () => {
      pipe.write(`started ${child.pid}\n`);
      child.once('exit', () => pipe.write(`ended ${child.pid}\n`));
    });
  });
}
