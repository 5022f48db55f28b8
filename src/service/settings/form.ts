export interface Form<Value> {
  /** Returns the value; undefined for text of another form. */
  read(text: string): Value | undefined;
  /** The form that the text must have, for messages. */
  readonly takes: string;
  /** The values in a sentence of the documentation; null where the variable's meaning says it. */
  readonly values: string | null;
  /** The JSON schema of the value in a YAML file, where it need not be text. Helm reads patterns by RE2, without look-ahead. */
  readonly json: JsonSchema;
  /** The values worth trying to find out what the variable changes. */
  readonly others: readonly Value[];
}

type JsonSchema = Readonly<Record<string, unknown>>;

export function choice<const Word extends string>(...words: readonly Word[]): Form<Word> {
  return {
    read: (text) => words.find((word) => word === text),
    takes: `one of ${words.join(', ')}`,
    values: `One of ${words.map((word) => `\`${word}\``).join(', ')}.`,
    json: { type: 'string', enum: words },
    others: words,
  };
}

export const flag: Form<boolean> = {
  read: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  takes: 'true or false',
  values: 'One of `true`, `false`.',
  json: { enum: [true, false, 'true', 'false'] },
  others: [true, false],
};

export function count(least: number, most: number): Form<number> {
  return {
    read: (text) => (/^\d+$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined),
    takes: `a whole number from ${least} to ${most}`,
    values: `${least}–${most}.`,
    json: {
      anyOf: [
        { type: 'integer', minimum: least, maximum: most },
        { type: 'string', pattern: '^[0-9]+$' },
      ],
    },
    others: [least, most],
  };
}

/** A count above which something is refused: trying lower ones would tell nothing. */
export function limit(least: number, most: number): Form<number> {
  return { ...count(least, most), others: [most] };
}

/** Milliseconds change when something happens, not how a request is translated: no other is worth trying. */
export function milliseconds(least: number, most: number): Form<number> {
  return { ...count(least, most), others: [] };
}

export const share: Form<number> = {
  read: (text) => (/^(0|1|[01]?\.\d+)$/.test(text) && Number(text) <= 1 ? Number(text) : undefined),
  takes: 'a number from 0 to 1',
  values: null,
  json: {
    anyOf: [
      { type: 'number', minimum: 0, maximum: 1 },
      { type: 'string', pattern: '^(0|1|0?\\.[0-9]+|1\\.0+)$' },
    ],
  },
  others: [],
};

export const list: Form<readonly string[]> = {
  read: (text) =>
    text
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== ''),
  takes: 'words separated by commas',
  values: null,
  json: { type: 'string' },
  others: [],
};

export function text(
  takes: string,
  fits: (given: string) => boolean,
  json: JsonSchema = { type: 'string' },
): Form<string> {
  return { read: (given) => (fits(given) ? given : undefined), takes, values: null, json, others: [] };
}

export const anyText = text('text', () => true, { type: ['string', 'number'] });
/** A file's path. In a container there is no meaningful folder for a relative one. */
export const filePath = text('the path of a file', () => true, { type: 'string', pattern: '^(/.*)?$' });

export const path = text('a path that starts with /', (given) => /^(\/.*)?$/.test(given), {
  type: 'string',
  pattern: '^(/.*)?$',
});
export const url = text(
  'a URL such as http://host:4318, with http:// or https://',
  (given) => given === '' || (/^https?:\/\//i.test(given) && URL.canParse(given)),
  { type: 'string', pattern: '^(https?://.*)?$' },
);
