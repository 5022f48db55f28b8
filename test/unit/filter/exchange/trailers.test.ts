import { expect, test } from 'vitest';
import { translatedTrailers } from '../../../../src/filter/exchange/response-headers.ts';

const digests = ['content-md5', 'digest', 'content-digest', 'repr-digest'];

test('trailers of a translated request lose the digests of its original bytes, and nothing else', () => {
  expect(translatedTrailers('request_trailers')).toEqual({ type: 'request_trailers', headers: { remove: digests } });
});

test('those of a translated answer lose its entity tag too, which names the original bytes', () => {
  const headers = { remove: [...digests, 'etag'] };
  expect(translatedTrailers('response_trailers')).toEqual({ type: 'response_trailers', headers });
});
