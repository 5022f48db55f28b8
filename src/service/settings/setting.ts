import { type Form, filePath } from './form.ts';

/** A variable of the environment, and the value that the code gets for it. */
export interface Setting<Variable extends string = string, Value = unknown, Used = unknown> {
  readonly variable: Variable;
  readonly form: Form<Value>;
  /** The text of a variable that is unset or empty. */
  readonly fallback: string;
  /** A sentence or two for the documentation and `--help`. */
  readonly meaning: string;
  /** The guide, client or incident for which the variable is set, for the documentation. A variable that nobody sets is a constant. */
  readonly setBy: string;
  /** Returns other values worth trying, to find out what the value changed in a request with this body. */
  others(value: Value, body: unknown): readonly Value[];
  /** Returns what the service works with. `content` is that of the file that the value names, if it names one. */
  use(value: Value, content: unknown): Used;
  /** The form of the file that the value names; null if it names none. */
  readonly file: FileForm<unknown> | null;
}

export interface FileForm<Content> {
  readonly maxBytes: number;
  /** The form that the text must have, for messages. */
  readonly takes: string;
  /** Reads the file's text. Throws an `Error` that says in plain English what is wrong with it. */
  read(text: string): Content;
  readonly others: readonly Content[];
}

/** The text about a setting in its row; `others` are by default those of the form. */
type About<Value> = Pick<Setting<string, Value>, 'meaning' | 'setBy'> & Partial<Pick<Setting<string, Value>, 'others'>>;

/** Makes a setting whose value the code gets as it is. */
export function setting<const Variable extends string, Value>(
  variable: Variable,
  form: Form<Value>,
  fallback: string,
  about: About<Value>,
): Setting<Variable, Value, Value> {
  return { variable, form, fallback, others: () => form.others, ...about, use: (value) => value, file: null };
}

/** Makes a setting that may be left out: the code gets null for `none`, the default. */
export function optional<const Variable extends string, Value extends string | number>(
  variable: Variable,
  form: Form<Value>,
  none: Value,
  about: About<Value>,
): Setting<Variable, Value, Value | null> {
  return { ...setting(variable, form, String(none), about), use: (value) => (value === none ? null : value) };
}

/** Makes a setting that names a file, which is read at the start: the code gets its content, or `unset` without one. */
export function readContent<const Variable extends string, Content>(
  variable: Variable,
  { file, unset, ...about }: About<string> & { readonly file: FileForm<Content>; readonly unset: Content },
): Setting<Variable, string, Content> {
  // `readContents` has put the content through `file.read`.
  const use = (_path: string, content: unknown) => (content === null ? unset : (content as Content));
  return { ...setting(variable, filePath, '', { others: () => [], ...about }), use, file };
}

/** Settings by their names in the code, nested to any depth, or listed if the code reads them from `Config`. A number or a text is no setting. */
export type SettingTable = readonly Setting[] | { readonly [name: string]: Setting | SettingTable | number | string };

export type SettingIn<Table> = Table extends number | string
  ? never
  : Table extends Setting
    ? Table
    : Table extends readonly (infer One)[]
      ? One
      : { [Name in keyof Table]: SettingIn<Table[Name]> }[keyof Table];

/** The shape of a table with values in place of settings. */
export type ValuesOf<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends number | string
    ? Table[Name]
    : Table[Name] extends Setting<string, unknown, infer Used>
      ? Used
      : ValuesOf<Table[Name]>;
};

/** The table for values of this shape, with a row for each field. */
export type TableOf<Values> = {
  readonly [Name in keyof Values]:
    | Setting<string, unknown, Values[Name]>
    | TableOf<Values[Name]>
    | (Values[Name] extends number | string ? Values[Name] : never);
};

export function isSetting(entry: Setting | SettingTable | number | string): entry is Setting {
  return typeof entry === 'object' && 'variable' in entry && typeof entry.variable === 'string';
}

export function settingsIn(table: SettingTable): readonly Setting[] {
  const found = Object.values(table).flatMap((entry) => {
    if (typeof entry !== 'object') return [];
    return isSetting(entry) ? [entry] : settingsIn(entry);
  });
  return [...new Set(found)];
}

/** Reads the values of a table. `config` and `contents` are by variable; a variable without contents has no file. */
export function readValues<Table extends SettingTable>(
  table: Table,
  config: Readonly<Record<string, unknown>>,
  contents: Readonly<Record<string, unknown>> = {},
): ValuesOf<Table> {
  const entries = Object.entries(table).map(([name, entry]) => {
    if (typeof entry !== 'object') return [name, entry];
    if (!isSetting(entry)) return [name, readValues(entry, config, contents)];
    return [name, entry.use(config[entry.variable], contents[entry.variable] ?? null)];
  });
  return Object.fromEntries(entries) as ValuesOf<Table>;
}
