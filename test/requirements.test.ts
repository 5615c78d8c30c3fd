import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

/**
 * The security requirements, R1 to R42, each from an incident at a product of this kind. Every one is named by the title of a test that shows it, or
 * stands here with the capability that it comes with.
 */
const REQUIREMENTS = 42

const later: Readonly<Record<string, string>> = {}

const root = fileURLToPath(new URL('..', import.meta.url))

function titles(): string[] {
  return ['src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.test.ts'))
      .flatMap((name) => {
        const text = readFileSync(join(root, folder, name), 'utf8')
        return [...text.matchAll(/\b(?:test|describe|it)\(\s*(['"`])(.*?)\1/g)].map(
          ([, , title]) => title ?? '',
        )
      }),
  )
}

test('each requirement is named by a test or belongs to a capability that is still to come', () => {
  const named = new Set(titles().flatMap((title) => title.match(/\bR[0-9]+\b/g) ?? []))
  const all = Array.from({ length: REQUIREMENTS }, (_, at) => `R${at + 1}`)
  assert.deepEqual(
    all.filter((number) => !named.has(number) && !Object.hasOwn(later, number)),
    [],
    'in neither',
  )
  assert.deepEqual(
    all.filter((number) => named.has(number) && Object.hasOwn(later, number)),
    [],
    'in both',
  )
  assert.deepEqual(
    [...named, ...Object.keys(later)].filter((number) => !all.includes(number)),
    [],
    'unknown',
  )
})
