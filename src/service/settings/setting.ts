import { type Form, filePath } from './form.ts';

/** One setting: a variable of the environment, and what the code gets for it. */
export interface Setting<Variable extends string = string, Value = unknown, Used = unknown> {
  readonly variable: Variable;
  readonly form: Form<Value>;
  /** The text that stands in when the variable is unset or empty. */
  readonly fallback: string;
  /** A sentence or two, for the documentation and `--help`. */
  readonly meaning: string;
  /** Who sets it, and when, for the documentation: a guide, a client, an incident. A variable that nobody sets is a constant. */
  readonly setBy: string;
  /** The values worth trying, besides this one, to find out what it changed in a request with this body. */
  others(value: Value, body: unknown): readonly Value[];
  /** Turns the value of the variable into what the service works with. `content` is that of the file that the value names, if it names one. */
  use(value: Value, content: unknown): Used;
  /** How the file that it names is read; null for any other setting. */
  readonly file: FileForm<unknown> | null;
}

export interface FileForm<Content> {
  readonly maxBytes: number;
  /** The form that the text must have, for messages. */
  readonly takes: string;
  /** The content of the file's text. Throws an `Error` that says in plain English what is wrong with it. */
  read(text: string): Content;
  /** Contents worth trying, as `others` of a setting. */
  readonly others: readonly Content[];
}

/** A setting whose value the code takes as it is. */
export function setting<const Variable extends string, Value>(
  variable: Variable,
  form: Form<Value>,
  fallback: string,
  meaning: string,
  setBy: string,
  others: Setting<Variable, Value>['others'] = () => form.others,
): Setting<Variable, Value, Value> {
  return { variable, form, fallback, meaning, setBy, others, use: (value) => value, file: null };
}

/** A setting that may be left out: the code gets null for `none`, its default. */
export function optional<const Variable extends string, Value extends string | number>(
  variable: Variable,
  form: Form<Value>,
  none: Value,
  meaning: string,
  setBy: string,
  others: Setting<Variable, Value>['others'] = () => form.others,
): Setting<Variable, Value, Value | null> {
  const use = (value: Value) => (value === none ? null : value);
  return { ...setting(variable, form, String(none), meaning, setBy, others), use };
}

/** A setting that names a file, read at the start: the code gets its content, or `unset` without one. */
export function readContent<const Variable extends string, Content>(
  variable: Variable,
  meaning: string,
  setBy: string,
  file: FileForm<Content>,
  unset: Content,
): Setting<Variable, string, Content> {
  // `readContents` has put it through `file.read`.
  const use = (_path: string, content: unknown) => (content === null ? unset : (content as Content));
  return { ...setting(variable, filePath, '', meaning, setBy, () => []), use, file };
}

/**
 * Settings by their names in the code, nested to any depth; a list where the code reads them from `Config`. A number or a text in place
 * of a setting is the same everywhere.
 */
export type SettingTable = readonly Setting[] | { readonly [name: string]: Setting | SettingTable | number | string };

/** Every setting of a table. */
export type SettingIn<Table> = Table extends number | string
  ? never
  : Table extends Setting
    ? Table
    : Table extends readonly (infer One)[]
      ? One
      : { [Name in keyof Table]: SettingIn<Table[Name]> }[keyof Table];

/** Values that the code gets of a table: the same shape, with values in place of settings. */
export type ValuesOf<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends number | string
    ? Table[Name]
    : Table[Name] extends Setting<string, unknown, infer Used>
      ? Used
      : ValuesOf<Table[Name]>;
};

/** The table of settings that a value of that shape is made of: a row for each of its fields. */
export type TableOf<Values> = {
  readonly [Name in keyof Values]:
    | Setting<string, unknown, Values[Name]>
    | TableOf<Values[Name]>
    | (Values[Name] extends number | string ? Values[Name] : never);
};

/** Whether the entry of a table is a setting, not a table of its own or a value that is the same everywhere. */
export function isSetting(entry: Setting | SettingTable | number | string): entry is Setting {
  return typeof entry === 'object' && 'variable' in entry && typeof entry.variable === 'string';
}

/** Every setting of a table, each once, in its order. */
export function settingsIn(table: SettingTable): readonly Setting[] {
  const found = Object.values(table).flatMap((entry) => {
    if (typeof entry !== 'object') return [];
    return isSetting(entry) ? [entry] : settingsIn(entry);
  });
  return [...new Set(found)];
}

/** The values of a table. `config` and `contents` are by variable; a variable without contents has no file. */
export function valuesOf<Table extends SettingTable>(
  table: Table,
  config: Readonly<Record<string, unknown>>,
  contents: Readonly<Record<string, unknown>> = {},
): ValuesOf<Table> {
  const entries = Object.entries(table).map(([name, entry]) => {
    if (typeof entry !== 'object') return [name, entry];
    if (!isSetting(entry)) return [name, valuesOf(entry, config, contents)];
    return [name, entry.use(config[entry.variable], contents[entry.variable] ?? null)];
  });
  return Object.fromEntries(entries) as ValuesOf<Table>;
}
