import { describe, expect, it } from 'vitest';
import { type Command, helpText, readCommand } from '../../../src/program/command-line.ts';
import { settingsIn } from '../../../src/service/settings/setting.ts';
import { settings } from '../../../src/service/settings/settings-table.ts';

describe('the command line', () => {
  const wrong = (message: string): Command => ({
    type: 'wrong_usage',
    message: `${message} Run with --help to see the options.`,
  });

  it.each<[string, Command]>([
    ['', { type: 'serve' }],
    ['--help', { type: 'help' }],
    ['-h', { type: 'help' }],
    ['--version --help', { type: 'help' }],
    ['--version', { type: 'version' }],
    ['-v --print-config', { type: 'version' }],
    ['--print-config', { type: 'print_config' }],
    ['explain', { type: 'explain', args: [] }],
    ['explain --help a', { type: 'explain', args: ['--help', 'a'] }],
    ['doctor http://a', { type: 'doctor', args: ['http://a'] }],
    ['--help explain', wrong("Unexpected argument 'explain'.")],
    ['constructor', wrong('There is no command constructor here.')],
    ['doctr', wrong('There is no command doctr here. Did you mean doctor?')],
    ['try', wrong('There is no command try here. It is a command of the npm package; in a clone it is npm start.')],
    [
      'envoy',
      wrong('There is no command envoy here. It is a command of the npm package; in a clone it is npm run envoy.'),
    ],
    ['--hepl', wrong("Unknown option '--hepl'. Did you mean --help?")],
    ['--print-confg', wrong("Unknown option '--print-confg'. Did you mean --print-config?")],
    ['--xyz', wrong("Unknown option '--xyz'.")],
    ['-x', wrong("Unknown option '-x'.")],
    ['--help=1', wrong("Option '-h, --help' does not take an argument.")],
  ])('%j', (line, expected) => {
    const command = readCommand(line === '' ? [] : line.split(' '));
    if (command.type === 'wrong_usage' && expected.type === 'wrong_usage')
      expect(command.message.replace(/argument '(\w+)'\..*? Run/, "argument '$1'. Run")).toBe(expected.message);
    else expect(command).toEqual(expected);
  });

  it('has a help with its commands, its options, and every variable', () => {
    const lines = helpText().split('\n');
    expect(lines.slice(0, 2)).toEqual(['Usage: responses-extproc [options]', '       responses-extproc COMMAND …']);
    expect(lines).toEqual(
      expect.arrayContaining([
        '  explain         show what becomes of a Responses request, field by field, and of a recorded answer',
        '  try             run the service with an Envoy and a demo server on this machine (in a clone: npm start)',
        '  doctor          probe a Chat server and name the profile that fits it',
        '  -h, --help      show this text',
      ]),
    );
    const variables = settingsIn(settings).map(({ variable }) => variable);
    expect(lines.flatMap((line) => /^ {2}([A-Z]\w+)/.exec(line)?.[1] ?? [])).toEqual(variables);
    expect(helpText()).toContain(
      '\n  LOG_LEVEL (default info)\n      Minimum log level. One of `trace`, `debug`, `info`, `warn`, `error`, `silent`.\n',
    );
    expect(helpText()).toMatch(/\n {2}TLS_CERT_FILE\n {6}\S.*\.\n/);
  });
});
