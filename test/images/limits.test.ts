import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { layerLimits } from '@berth/image-contents/limits.ts'

test('every limit of layers is in force, and in docs/image-layers.md', () => {
  const code = globSync('packages/image-contents/src/**/*.ts')
    .filter((file) => !file.endsWith('/limits.ts') && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  const document = readFileSync('docs/image-layers.md', 'utf8')
  const missingIn = (text: string) =>
    Object.keys(layerLimits).filter((limit) => !new RegExp(`\\b${limit}\\b`).test(text))
  assert.deepEqual(missingIn(code), [], 'not in force')
  assert.deepEqual(missingIn(document), [], 'not in the document')
})
