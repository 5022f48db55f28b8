import { expect, it } from 'vitest';
import type { Child } from '../../../mesh/processes.ts';
import { type LogLine, readLogLine } from '../../support/service-process.ts';

it('a line of the log that was cut is an error, unless the process was stopped', () => {
  const log: LogLine[] = [];
  const read = (line: string, stopped: boolean) => readLogLine(line, { stopped } as Child, log);
  for (const line of ['not of the log', '{"level":"info"}', '{"level":"in']) read(line, true);
  expect(log).toEqual([{ level: 'info' }]);
  expect(() => read('{"level":"in', false)).toThrow(SyntaxError);
});
