import { describe, expect, it } from 'vitest';
import { readErrorValue } from '../../../../../../src/filter/translate/chat-to-response/read/error-body.ts';

const nothing = readErrorValue(null);

describe('the words of an error', () => {
  it.each([
    [{ message: 'No.' }, { message: 'No.' }],
    [{ msg: 'No.' }, { message: 'No.' }],
    [{ error_message: 'No.' }, { message: 'No.' }],
    [{ status_msg: 'No.' }, { message: 'No.' }],
    [{ message: 'No.', msg: 'other' }, { message: 'No.' }],
    [{ code: 'full' }, { code: 'full' }],
    [{ code: 1301 }, { code: '1301' }],
    [{ status: 'RESOURCE_EXHAUSTED' }, { code: 'resource_exhausted' }],
    [{ status_code: 1004 }, { code: '1004' }],
    [{ code: 'full', status: 'EMPTY' }, { code: 'full' }],
    [{ type: 'server_error' }, { type: 'server_error' }],
    [{ error_type: 'server_error' }, { type: 'server_error' }],
    [{ param: 'messages' }, { param: 'messages' }],
    [{ param: '' }, {}],
    [{ param: 5 }, {}],
    [{ details: [{ retryDelay: '12s' }] }, { retryAfter: 12 }],
    [{ details: [{}, { retryDelay: 'soon' }, { retryDelay: '1.5s' }] }, { retryAfter: 1.5 }],
    [{ details: [{ retryDelay: '12' }] }, {}],
  ])('%j', (error, expected) => {
    expect(readErrorValue(error)).toEqual({ ...nothing, ...expected });
  });

  it.each([
    [400, 400],
    [599, 599],
    ['429', 429],
    [399, null],
    [600, null],
    [429.5, null],
    ['42', null],
    ['4290', null],
    ['429 ', null],
    [null, null],
  ])('the code %j is the status %j', (code, status) => {
    expect(readErrorValue({ code }).status).toBe(status);
    expect(readErrorValue({ status: code }).status).toBe(status);
    expect(readErrorValue({ status_code: code }).status).toBe(status);
    // A status is not a code, and what is none may be.
    if (status !== null) expect(readErrorValue({ code }).code).toBe('');
    else expect(readErrorValue({ code }).code).toBe(code === null ? '' : String(code));
  });
});

describe('an error in an error', () => {
  const own = { code: 'own', type: 'own_type', param: 'own_param', status: 429, details: [{ retryDelay: '1s' }] };
  const read = { message: 'No.', code: 'own', type: 'own_type', param: 'own_param', status: 429, retryAfter: 1 };

  it('has what only the outer one says', () => {
    expect(readErrorValue({ ...own, error: { message: 'No.' } })).toEqual({ ...nothing, ...read });
    expect(readErrorValue({ ...own, error: 'No.' })).toEqual({ ...nothing, ...read });
    expect(readErrorValue({ ...own, detail: 'No.' })).toEqual({ ...nothing, ...read });
    expect(readErrorValue({ ...own, errors: ['No.'] })).toEqual({ ...nothing, ...read });
    expect(readErrorValue({ ...own, message: { msg: 'No.' } })).toEqual({ ...nothing, ...read });
  });

  it('is what the inner one says where both do', () => {
    const inner = { message: 'In.', code: 'in', type: 'in_type', param: 'in_param', details: [{ retryDelay: '2s' }] };
    expect(readErrorValue({ ...own, message: 'Out.', error: { ...inner, status: 500 } })).toEqual({
      ...nothing,
      message: 'In.',
      code: 'in',
      type: 'in_type',
      param: 'in_param',
      status: 500,
      retryAfter: 2,
    });
  });

  it('keeps the outer words where the inner one has none', () => {
    expect(readErrorValue({ message: 'Out.', error: { code: 'in' } })).toMatchObject({ message: 'Out.', code: 'in' });
    expect(readErrorValue({ message: 'Out.', error: {}, detail: 'In.' })).toMatchObject({ message: 'Out.' });
  });

  it('is read four levels down, and no further', () => {
    const inside = (levels: number) =>
      Array.from({ length: levels }).reduce<unknown>((error) => ({ error }), { message: 'No.' });
    expect(readErrorValue(inside(4)).message).toBe('No.');
    expect(readErrorValue(inside(5)).message).toBe('');
  });
});

describe('a list of errors', () => {
  it('of faults is all of them, in the place of the first', () => {
    expect(
      readErrorValue([
        { loc: ['body', 'messages', 0, 'content'], msg: 'Missing.' },
        { loc: ['body'], msg: 'Wrong.' },
      ]),
    ).toEqual({ ...nothing, message: 'Missing.; Wrong.', param: 'messages.0.content' });
    expect(readErrorValue([{ loc: ['body'], msg: 'Wrong.' }])).toEqual({ ...nothing, message: 'Wrong.' });
    expect(readErrorValue([{ msg: 'Wrong.' }])).toEqual({ ...nothing, message: 'Wrong.' });
  });

  it('of others is the first with words', () => {
    expect(readErrorValue([null, { code: 'a' }, { error: { message: 'No.' } }, { message: 'other' }])).toEqual({
      ...nothing,
      message: 'No.',
    });
    expect(readErrorValue([{ code: 'a' }])).toEqual(nothing);
    expect(readErrorValue([])).toEqual(nothing);
  });
});

describe('the provider behind a router', () => {
  const error = { message: 'Provider returned error', code: 502 };
  const named = (metadata: object) => {
    const { message, provider } = readErrorValue({ ...error, metadata });
    return [message, provider];
  };

  it.each([
    [{ provider_name: 'Acme' }, ['Provider returned error (Acme)', 'Acme']],
    [{ provider_name: 'Acme', raw: 'Full.' }, ['Provider returned error (Acme): Full.', 'Acme']],
    [
      { provider_name: 'Acme', raw: ' {"error":{"message":"Full."}} ' },
      ['Provider returned error (Acme): Full.', 'Acme'],
    ],
    [{ raw: 'Full.' }, ['Provider returned error: Full.', null]],
    [{ raw: '<html>' }, ['Provider returned error', null]],
    [{}, ['Provider returned error', null]],
  ])('%j', (metadata, expected) => {
    expect(named(metadata)).toEqual(expected);
  });
});
