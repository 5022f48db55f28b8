import { expect, it } from 'vitest';
import {
  readPicture,
  readPictureUrls,
} from '../../../../../../src/filter/translate/chat-to-response/read/content-parts.ts';

it('a part of any of these types, or of none, is a picture', () => {
  const part = (type?: string) => ({ ...(type !== undefined && { type }), image_url: { url: `${type}:` } });
  for (const type of ['image_url', 'output_image', 'image', undefined])
    expect(readPictureUrls({ content: [part(type)] }), type).toEqual([`${type}:`]);
  expect(readPictureUrls({ content: [part('input_image'), part('text'), part('')] })).toEqual([]);
});

it.each([
  ['png', 'png'],
  ['jpeg', 'jpeg'],
  ['JPG', 'jpeg'],
  ['webp', 'webp'],
  ['gif', 'gif'],
  ['svg+xml', null],
])('the format of image/%s is %s', (subtype, format) => {
  expect(readPicture(`data:image/${subtype};base64,AAAA`)).toEqual({ data: 'AAAA', format });
});

it('what stands before the data may be 128 characters long', () => {
  const urlWith = (length: number) => `${'data:image/png;a='.padEnd(length - ';base64,'.length, 'b')};base64,AAAA`;
  expect(readPicture(urlWith(128))).toEqual({ data: 'AAAA', format: 'png' });
  expect(readPicture(urlWith(129))).toBeNull();
});
