/**
 * Settings: each room declares those that it reads, in a group. `berth serve --help` and the table of docs/operating.md are
 * generated from the declarations.
 */

export interface Setting<T> {
  /** Name of the environment variable. */
  readonly name: string
  /** What the value is, in Markdown: "address and port to serve on". */
  readonly help: string
  /** The default as help shows it, in Markdown. */
  readonly defaultText: string
  /** Completes "NAME must be ...". */
  readonly expected: string
  /** Returns undefined for an invalid text; `report` replaces the message, for more than one problem or another sentence. */
  readonly parse: (text: string, report: (problem: string) => void) => T | undefined
  readonly fallback: T
  /** Whether a running server takes over a changed value. */
  readonly reloads: boolean
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads the settings of a group. */
export interface SettingReader {
  /** Returns the value, or the default if the variable is empty or invalid. */
  read<T>(setting: Setting<T>): T
  isSet(setting: Setting<unknown>): boolean
  /** Reports a problem that concerns more than one setting, as a sentence. */
  report(problem: string): void
  readonly env: Environment
}

export interface SettingGroup<T> {
  readonly settings: readonly Setting<unknown>[]
  readonly read: (reader: SettingReader) => T
}

type Declared<T> = Pick<Setting<T>, 'help' | 'expected'> & {
  readonly parse: (text: string) => T | undefined
  readonly default?: string
  readonly reloads?: boolean
}

/** Declares a setting. Without `fallback` it is undefined if it is not set. */
export function setting<T>(name: string, declared: Declared<T> & { readonly fallback: T }): Setting<T>
export function setting<T>(name: string, declared: Declared<T>): Setting<T | undefined>
export function setting<T>(
  name: string,
  { default: defaultText = 'none', reloads = false, ...rest }: Declared<T> & { readonly fallback?: T },
): Setting<T | undefined> {
  return { name, defaultText, reloads, fallback: undefined, ...rest }
}

/** Declares a setting that is true or false. */
export function booleanSetting<T extends boolean | undefined>(
  name: string,
  declared: { readonly help: string; readonly default?: string; readonly fallback: T },
): Setting<boolean | T> {
  const { help, fallback, default: defaultText = `\`${fallback}\`` } = declared
  return { name, help, defaultText, reloads: false, expected: 'true or false', parse: parseBoolean, fallback }
}

/** Declares a setting with values that are separated by commas. Each invalid value is a problem that names it. */
export function listSetting<T>(
  name: string,
  { expected, parse, ...declared }: Declared<T>,
): Setting<readonly T[]> {
  return {
    defaultText: declared.default ?? 'none',
    reloads: false,
    name,
    help: declared.help,
    expected,
    fallback: [],
    parse(text, report) {
      const items = text
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '')
      return items.flatMap((item) => {
        const value = parse(item)
        if (value === undefined) report(`${name}: ${JSON.stringify(item)} must be ${expected}`)
        return value === undefined ? [] : [value]
      })
    },
  }
}

export function parseBoolean(value: string): boolean | undefined {
  if (value === 'true' || value === '1') return true
  return value === 'false' || value === '0' ? false : undefined
}

/** Reads groups from an environment. Returns every problem as a sentence that names the setting. */
export function readSettings<T extends Readonly<Record<string, SettingGroup<unknown>>>>(
  groups: T,
  env: Environment,
): {
  readonly values: { readonly [K in keyof T]: ReturnType<T[K]['read']> }
  readonly problems: readonly string[]
} {
  const problems: string[] = []
  const report = (problem: string) => {
    problems.push(problem)
  }
  const textOf = (name: string) => (env[name] === '' ? undefined : env[name])
  const reader: SettingReader = {
    env,
    report,
    isSet: ({ name }) => textOf(name) !== undefined,
    read<T>({ name, parse, expected, fallback }: Setting<T>): T {
      const text = textOf(name)
      if (text === undefined) return fallback
      const before = problems.length
      const value = parse(text, report)
      if (value !== undefined) return value
      if (problems.length === before) report(`${name} must be ${expected}`)
      return fallback
    },
  }
  const values = Object.fromEntries(Object.entries(groups).map(([name, { read }]) => [name, read(reader)]))
  return { values: values as { [K in keyof T]: ReturnType<T[K]['read']> }, problems }
}

/** Markdown as plain text, for a terminal: a reference to a page (", see [tokens](tokens.md)") is left out. */
export function plainText(markdown: string): string {
  return markdown
    .replace(/, see \[[^\]]+\]\([^)]*\)/g, '')
    .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
}
