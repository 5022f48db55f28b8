import { Ajv } from 'ajv';
import draft6 from 'ajv/dist/refs/json-schema-draft-06.json' with { type: 'json' };
// @ts-expect-error It has no types.
import schemas from 'har-schema';

const published: Readonly<Record<string, object>> = schemas;

const ajv = new Ajv({
  strict: false,
  allErrors: true,
  formats: { 'date-time': isDate, uri: URL.canParse, ipv4: true, ipv6: true },
});
ajv.addMetaSchema(draft6);
for (const schema of Object.values(published)) ajv.addSchema(schema);
const check = ajv.getSchema('har.json#');

function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text));
}

/** What is wrong with an HTTP archive by the published schema of HAR 1.2; empty for a valid one. */
export function harProblems(har: unknown): readonly string[] {
  if (check === undefined) throw new Error('har-schema has no har.json');
  check(har);
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
