import { isJsonObject } from '../../formats/json/exact.ts';
import { messageOf } from './error-texts.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The content of `MODEL_CATALOG_FILE`: fields of the catalog by model, and under `*` for all. Throws an `Error` that names
 * the model and the field which is wrong.
 */
export function readCatalog(text: string): ReadonlyMap<string, Fields> {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new Error(`it is not JSON: ${messageOf(error)}`);
  }
  if (!isJsonObject(file)) throw new Error('it is not an object');
  return new Map(Object.entries(file).map(([model, fields]) => [model, fieldsOf(model, fields)]));
}

function fieldsOf(model: string, fields: unknown): Fields {
  if (!isJsonObject(fields)) throw new Error(`'${model}' must be an object of fields (got ${JSON.stringify(fields)})`);
  if ('slug' in fields)
    throw new Error(`'${model}': 'slug' is the model's name, by which Codex finds it; leave it out`);
  const { context_window: tokens } = fields;
  if (tokens !== undefined && !(Number.isSafeInteger(tokens) && Number(tokens) > 0))
    throw new Error(`'${model}': 'context_window' must be a whole number above 0 (got ${JSON.stringify(tokens)})`);
  return fields;
}
