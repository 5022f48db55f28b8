import { describe, expect, it } from 'vitest';
import { blockOf, readGoldenCases } from '../support/golden.ts';
import { perform, type SessionOptions, startWebSocketSession } from '../support/websocket-session.ts';

const cases = readGoldenCases(new URL('websocket.md', import.meta.url));

describe.each(cases)('$where: $title', (golden) => {
  const transcript = (blockOf(golden, 'session') ?? '').split('\n').filter((line) => line !== '');
  const options = JSON.parse(blockOf(golden, 'limits') ?? '{}') as SessionOptions;

  it('goes as the transcript says', () => {
    const session = startWebSocketSession(options);
    const seen: string[] = [];
    for (const line of transcript) if (perform(session, line)) seen.push(line, ...session.take());
    expect(seen).toEqual(transcript);
  });

  it('leaves nothing held or running once the client is gone', () => {
    const session = startWebSocketSession(options);
    for (const line of transcript) perform(session, line);
    perform(session, 'gone:');
    expect([session.held(), session.untaken(), session.kept()]).toEqual([0, 0, 0]);
  });

  it('keeps no conversation of a connection that it closes', () => {
    const session = startWebSocketSession(options);
    const kept = transcript.filter((line) => {
      perform(session, line);
      return line.startsWith('close: ') && session.kept() > 0;
    });
    expect(kept).toEqual([]);
  });

  it('sends messages that are JSON objects with a type', () => {
    for (const line of transcript.filter((text) => text.startsWith('server: ')))
      expect(JSON.parse(line.slice('server: '.length))).toMatchObject({ type: expect.any(String) });
    expect(transcript).not.toEqual([]);
  });
});
