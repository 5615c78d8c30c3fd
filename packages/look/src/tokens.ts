/** The design tokens of every web page: the pages of the server, those of the command line, and the console. */

const light = {
  page: '#f4f6f9',
  card: '#ffffff',
  text: '#171c26',
  muted: '#545e6e',
  line: '#d5dae2',
  edge: '#7b8595',
  accent: '#0b57d0',
  'accent-strong': '#0842a0',
  'on-accent': '#ffffff',
  quiet: '#e9edf4',
  bad: '#a3190f',
  'bad-back': '#fdeceb',
  good: '#12603a',
  'good-back': '#e7f5ed',
  warn: '#7a4d00',
  'warn-back': '#fdf2dc',
  shadow: '0 1px 2px rgb(16 24 40 / 6%), 0 8px 24px rgb(16 24 40 / 6%)',
} as const

const dark: Readonly<Record<keyof typeof light, string>> = {
  page: '#0e1218',
  card: '#171c25',
  text: '#e8ecf2',
  muted: '#a5afbf',
  line: '#2c3442',
  edge: '#768196',
  accent: '#8ab4f8',
  'accent-strong': '#aecbfa',
  'on-accent': '#0a1a33',
  quiet: '#232b38',
  bad: '#ffb4ab',
  'bad-back': '#3a1714',
  good: '#8fdcae',
  'good-back': '#12301f',
  warn: '#f3c778',
  'warn-back': '#33260d',
  shadow: 'none',
}

/** The names of the tokens: `--page`, `--card` and so on. */
export type Token = keyof typeof light

const declare = (values: Readonly<Record<Token, string>>) =>
  Object.entries(values)
    .map(([name, value]) => `--${name}: ${value};`)
    .join('\n  ')

const sans = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif'
const mono = 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace'

/** Style rules that declare the tokens, in the color scheme of the system. */
export const tokensCss = `:root {
  color-scheme: light dark;
  --sans: ${sans};
  --mono: ${mono};
  ${declare(light)}
}

@media (prefers-color-scheme: dark) {
:root {
  ${declare(dark)}
}
}
`

const declareSwitchable = Object.entries(light)
  .filter(([name]) => name !== 'shadow')
  .map(([name, value]) => `--${name}: light-dark(${value}, ${dark[name as Token]});`)
  .join('\n  ')

/** The same without the shadow, for a page with a choice of schemes: `color-scheme` of an element decides. */
export const switchableTokensCss = `:root {
  color-scheme: light dark;
  --sans: ${sans};
  --mono: ${mono};
  ${declareSwitchable}
}
`
