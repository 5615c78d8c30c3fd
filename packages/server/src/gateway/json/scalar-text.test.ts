import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseBytes } from './scalar-text.ts'

const base64Text = /^[A-Za-z0-9+/_-]*={0,2}$/

/** What proto3 JSON says, without regard to speed. */
function isBase64(text: string): boolean {
  const digits = text.replace(/=+$/, '').length
  return base64Text.test(text) && digits % 4 !== 1 && (digits === text.length || text.length % 4 === 0)
}

const characters = fc.constantFrom(...'ABYZaz019+/-_== \n.é\u0141\u0100𝒳\0')

test('R28: base64 is distinguished from other text by its lengths alone', () => {
  fc.assert(
    fc.property(fc.array(characters, { maxLength: 12 }), (parts) => {
      const text = parts.join('')
      assert.equal(parseBytes(text) !== undefined, isBase64(text), JSON.stringify(text))
    }),
    { numRuns: 20_000 },
  )
})

test('base64 is read in both alphabets, with and without padding', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), fc.boolean(), fc.boolean(), (bytes, url, padded) => {
      const text = Buffer.from(bytes).toString(url ? 'base64url' : 'base64')
      const written = padded ? text.padEnd(Math.ceil(text.length / 4) * 4, '=') : text.replace(/=+$/, '')
      assert.deepEqual(parseBytes(written), new Uint8Array(bytes))
    }),
  )
})
