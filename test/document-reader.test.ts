import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReadResult } from '@berth/advisory-formats/advisory-record.ts'
import { createDocumentReader } from '@berth/server/advisories/documents/document-reader.ts'
import { limits } from '@berth/server/config/limits.ts'
import { eventually } from './support/eventually.ts'

/** The process that parses documents: whatever happens with one, the next is parsed. */

const record = {
  id: 'EX-1',
  modified: '2025-01-02T03:04:05Z',
  affected: [{ package: { ecosystem: 'npm', name: 'a' } }],
}
const small = Buffer.from(JSON.stringify(record))
/** Almost as many values as a document may have (advisoryValuesMax): reading it takes about ten seconds. */
const large = Buffer.from(
  JSON.stringify({
    ...record,
    references: Array.from({ length: 650_000 }, (_, at) => ({
      type: 'WEB',
      url: `https://example.com/${at}`,
    })),
  }),
)
const reasonOf = (result: ReadResult) => ('rejection' in result ? result.rejection.reason : '')

test('a document that takes too long is rejected, and those behind it are parsed', async (t) => {
  const reader = createDocumentReader({ ...limits, documentParseMsMax: 500 })
  t.after(() => reader.close())
  const [slow, next] = await Promise.all([
    reader.read('slow.json', '', large),
    reader.read('next.json', '', small),
  ])
  const tooLong = 'takes longer than 0.5 s to parse'
  assert.equal(reasonOf(slow), tooLong)
  // A busy machine takes as long for any document.
  assert.ok(['', tooLong].includes(reasonOf(next)), reasonOf(next))
  await eventually(async () => reasonOf(await reader.read('next.json', '', small)) === '')
})

test('a document that takes too much memory is rejected, and the next is parsed', async (t) => {
  const reader = createDocumentReader({ ...limits, documentParseMemoryMib: 64 })
  t.after(() => reader.close())
  assert.match(reasonOf(await reader.read('large.json', '', large)), /^needs more than 64 MiB to parse$/)
  assert.equal(reasonOf(await reader.read('next.json', '', small)), '')
})

test('closing aborts the current document', async () => {
  const reader = createDocumentReader()
  const reading = reader.read('large.json', '', large)
  await new Promise((resolve) => setTimeout(resolve, 100))
  await reader.close()
  assert.match(reasonOf(await reading), /ended/)
})
