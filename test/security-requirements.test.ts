import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/** docs/security-requirements.md says what is in the code and in the tests. */

const root = fileURLToPath(new URL('..', import.meta.url))
const page = 'docs/security-requirements.md'
const textOf = (file: string) => readFileSync(join(root, file), 'utf8')

interface Section {
  readonly name: string
  readonly rule: string
  /** Backticked paths; none where it is marked as not enforced. */
  readonly files: readonly string[]
  readonly tests: readonly { readonly file: string; readonly title: string }[]
  readonly text: string
}

const sections: readonly Section[] = textOf(page)
  .split(/^### /m)
  .slice(1)
  .map((text) => {
    const [name = '', , rule = ''] = text.split('\n')
    const enforced = /^- Enforced in: (.*)$/m.exec(text)?.[1] ?? ''
    return {
      name,
      rule,
      text,
      files: [...enforced.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file),
      tests: [...text.matchAll(/^- Proven by: `([^`]+)`: (.+)$/gm)].map(([, file = '', title = '']) => ({
        file,
        title,
      })),
    }
  })

const named = new Set(sections.map(({ name }) => name))

/** Files in which a number is a reference; golden files and generated ones hold data. */
const files = globSync(
  [
    'packages/{server,cli,client,advisory-formats,contract}/src/**/*.{ts,js}',
    'test/**/*.ts',
    'docs/**/*.md',
    'packages/contract/proto/**/*.proto',
    'bench/**/*.ts',
    'scripts/*.ts',
    '*.md',
  ],
  { cwd: root },
).filter((file) => file !== page && file !== 'test/security-requirements.test.ts')

/** What each reference names, with a file that has it. Numbers of requirements begin with 1, those of tags in tests do not. */
function references(pattern: RegExp, nameOf: (number: string) => string): Map<string, string> {
  return new Map(
    files.flatMap((file) =>
      [...textOf(file).matchAll(pattern)].map(([, number = '']) => [nameOf(number), file] as const),
    ),
  )
}

function missing(used: ReadonlyMap<string, string>): string[] {
  return [...used].filter(([name]) => !named.has(name)).map(([name, file]) => `${name} in ${file}`)
}

test('every requirement and decision that code, tests and documents refer to has a section', () => {
  const requirements = references(/(?:(?<![\w-])|(?<=R\d+-))R([1-9]\d?)\b/g, (number) => `R${number}`)
  const decisions = references(/\b[Dd]ecision (\d+)\b/g, (number) => `Decision ${number}`)
  assert.ok(requirements.size > 40 && decisions.size > 5)
  assert.deepEqual([...missing(requirements), ...missing(decisions)], [])
})

test('every ADR that is referred to by its number exists', () => {
  const adrs = globSync('docs/adr/*.md', { cwd: root }).map((file) =>
    file.slice('docs/adr/'.length).slice(0, 4),
  )
  const used = references(/\bADR (\d+)\b/g, (number) => number.padStart(4, '0'))
  assert.deepEqual(
    [...used].filter(([number]) => !adrs.includes(number)),
    [],
  )
})

test('each section has a rule, files that exist, and tests whose titles are in their files', () => {
  assert.equal(named.size, sections.length, 'a section twice')
  for (const { name, rule, files: enforced, tests, text } of sections) {
    assert.match(rule, /^[^-\n].*\.$/, `${name}: the rule is a sentence`)
    const isOpen = /^- Not enforced: .+\.$/m.test(text)
    assert.ok(isOpen || (enforced.length > 0 && tests.length > 0), `${name}: enforced where, proven by what?`)
    for (const file of [...enforced, ...tests.map(({ file }) => file)])
      assert.ok(existsSync(join(root, file)), `${name}: there is no ${file}`)
    for (const { file, title } of tests)
      assert.ok(
        ["'", '"', '`'].some((quote) => textOf(file).includes(`${quote}${title}${quote}`)),
        `${name}: ${file} has no test with the title ${title}`,
      )
  }
})

test('no requirement is left out', () => {
  for (let number = 1; number <= 42; number++) assert.ok(named.has(`R${number}`), `R${number}`)
})
