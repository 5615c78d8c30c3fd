import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * Fails unless `text` is what test/golden/`name` holds. With BERTH_GOLDEN=write in the environment, writes the file
 * instead; the change then shows in the diff of the commit.
 */
export function assertGolden(name: string, text: string): void {
  const path = fileURLToPath(new URL(`../golden/${name}`, import.meta.url))
  const { BERTH_GOLDEN } = process.env
  if (BERTH_GOLDEN === 'write') {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return
  }
  try {
    assert.equal(text, read(path))
  } catch (error) {
    if (!(error instanceof assert.AssertionError)) throw error
    assert.fail(`test/golden/${name} differs; BERTH_GOLDEN=write accepts the new text\n${error.message}`)
  }
}

/** A file that does not exist yet compares as empty. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}
