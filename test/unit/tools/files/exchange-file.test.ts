import { describe, expect, it } from 'vitest';
import {
  buildPiece,
  decodeRecorded,
  type ExchangeFile,
  exchangeFileHead,
  hasExchangeFormat,
  parseExchangeFile,
} from '../../../../src/tools/files/exchange-file.ts';

const headers = [{ name: 'content-type', value: 'application/json' }];
const complete: ExchangeFile = {
  ...exchangeFileHead,
  profile: 'vllm',
  started_at: '2026-11-22T11:00:00.000Z',
  client_request: { method: 'POST', path: '/v1/responses', headers, body: '{"model":"m","input":"x"}' },
  chat_request: { method: 'POST', path: '/v1/chat/completions', headers, body: '{}' },
  chat_response: { status: 200, headers, pieces: [{ at_ms: 12.5, text: '{}' }] },
  client_response: { status: 200, headers, pieces: [{ at_ms: 13, text: '{}' }] },
  dropped: ['web_search'],
  outcome: 'completed',
  error: null,
};

describe('an exchange file', () => {
  it('is read as it was written', () => {
    const value: unknown = JSON.parse(JSON.stringify(complete));
    expect(hasExchangeFormat(value)).toBe(true);
    expect(parseExchangeFile(value)).toEqual(complete);
  });

  it('of a refused request has no other side', () => {
    const refused = { ...complete, chat_request: null, chat_response: null, client_response: null };
    const error = { code: 'invalid_type', message: 'No.' };
    expect(parseExchangeFile({ ...refused, error })).toEqual({ ...refused, error });
  });

  it.each([
    [{ ...complete, version: 2 }, 'version: must be 1, the only version of the file that this service reads'],
    [{ ...complete, profile: 7 }, 'profile: must be text'],
    [{ ...complete, started_at: 'today' }, 'started_at: must be a time in ISO 8601'],
    [{ ...complete, outcome: undefined }, 'outcome: is missing'],
    [{ ...complete, error: 'No.' }, 'error: must be an object or null'],
    [
      { ...complete, client_request: { method: 'POST', path: '/', headers } },
      'client_request: must have its body as text in `body`, or in `base64`',
    ],
    [
      { ...complete, chat_response: { status: 200, headers, pieces: [{ at_ms: 1 }] } },
      'chat_response.pieces.0: must have its bytes as text in `text`, or in `base64`',
    ],
    [
      { ...complete, chat_response: { status: 7, headers, pieces: [] } },
      'chat_response.status: must be a status from 100 to 599',
    ],
    [
      { ...complete, chat_response: { status: 200, headers: { a: 'b' }, pieces: [] } },
      'chat_response.headers: must be a list of names and values',
    ],
    [[], 'file: must be an object'],
  ])('that is not whole is refused in plain words, with the field named: %#', (value, message) => {
    expect(() => parseExchangeFile(value)).toThrow(message);
    expect(() => parseExchangeFile(value)).not.toThrow(/Invalid|expected|received/);
  });

  it('is not any other JSON', () => {
    for (const other of [null, [], 'x', {}, { format: 'har' }]) expect(hasExchangeFormat(other)).toBe(false);
  });

  it.each([
    ['text', Buffer.from('data: é\n\n')],
    ['nothing', Buffer.alloc(0)],
    ['a byte order mark', Buffer.from('\ufeff{}')],
    ['a character that was cut', Buffer.from('é').subarray(0, 1)],
    ['gzip', Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0xff])],
  ])('keeps every byte: %s', (_what, bytes) => {
    const piece = buildPiece(1, bytes);
    const body = 'text' in piece ? { body: piece.text } : { base64: piece.base64 };
    const file = parseExchangeFile({
      ...complete,
      client_request: { method: 'POST', path: '/v1/responses', headers, ...body },
      chat_response: { status: 200, headers, pieces: [piece] },
    });
    expect(decodeRecorded(file.client_request)).toEqual(bytes);
    expect(file.chat_response?.pieces.map(decodeRecorded)).toEqual([bytes]);
  });
});
