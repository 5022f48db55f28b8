import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { redactionMark } from '../../../../../src/formats/credentials/names.ts';
import { writeCurl } from '../../../../../src/tools/inspect/view/exports.ts';

/** What a shell makes of the command's words. */
function wordsOf(command: string): string[] {
  const { stdout } = spawnSync('bash', ['-c', `curl() { printf '%s\\0' "$@"; }; API_KEY=sk-1; ${command}`], {
    encoding: 'utf8',
  });
  return stdout.split('\0').slice(0, -1);
}

it('is a command that a shell reads as it was meant, whatever is in the body', () => {
  const body = `{"input":"it's $HOME \`id\` \\\\ !x\\n\\"q\\""}`;
  const headers = [
    { name: 'content-type', value: 'application/json' },
    { name: 'authorization', value: redactionMark },
    { name: 'x-odd', value: `a'b $(id)` },
    { name: 'content-length', value: '3' },
  ];
  const words = wordsOf(writeCurl({ method: 'POST', path: '/v1/responses?a=b&c', headers, body }, 'http://h:1'));
  expect(words).toEqual([
    ...['-N', '-X', 'POST', 'http://h:1/v1/responses?a=b&c', '-H', 'content-type: application/json'],
    ...['-H', 'authorization: Bearer sk-1', '-H', `x-odd: a'b $(id)`, '--data-binary', body],
  ]);
});
