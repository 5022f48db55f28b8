/** Linear has 1; what is read in another way beyond some size, up to 1.5; a square among as much that is linear, 4 and more. */
export const bounds = {
  steps: 1.5,
  /** Lists double, and long texts and lists are held apart. */
  allocated: 2.5,
  /** Of one function alone: a square has 8, and what comes only with much input, such as a second piece, up to 4. */
  steepest: 5,
  /** Bytes sent for each byte that came in. */
  sent: 20,
  /** Bytes held for each byte that the ledger was told of, beside those of an exchange, a socket or a store with nothing in it. */
  held: 3,
  ownBytes: 128 * 1024,
};

/**
 * How Node measures. Without optimising compilers every run costs and keeps the same, and the young generation has room for all that a run
 * allocates.
 */
export const flags = {
  work: [
    ...['--no-opt', '--no-maglev', '--always-sparkplug', '--expose-gc'],
    ...['--min-semi-space-size=192', '--max-semi-space-size=192', '--initial-old-space-size=1024'],
  ],
  held: ['--no-opt', '--no-maglev', '--always-sparkplug', '--expose-gc'],
};
