import assert from 'node:assert/strict'
import { mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { identityTokenFile } from './identity-token.ts'

test('the file of a token is stored only if it is a regular file that the next command can read', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-token-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'token')
  writeFileSync(file, 'x')
  assert.equal(identityTokenFile(file), file)
  const link = join(directory, 'link')
  symlinkSync(file, link)
  assert.equal(identityTokenFile(link), link, 'Kubernetes replaces the target of the link')
  for (const text of [
    '-',
    'eyJ'.repeat(200),
    join(directory, 'none'),
    directory,
    '/dev/null',
    `/dev/fd/${openSync(file, 'r')}`,
  ])
    assert.equal(identityTokenFile(text), undefined, text.slice(0, 40))
})
