/**
 * Preloaded into what is measured (`node --import`). SIGUSR2 starts watching for pauses of the event loop, the next
 * SIGUSR2 prints the longest one and stops: a timer of 1 ms would cost in slices that measure CPU.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const delay = monitorEventLoopDelay({ resolution: 1 });
let watching = false;

process.on('SIGUSR2', () => {
  watching = !watching;
  if (watching) {
    delay.reset();
    delay.enable();
    console.log('watching for pauses');
    return;
  }
  delay.disable();
  console.log(`longest pause ${(delay.max / 1e6).toFixed(1)} ms`);
});
