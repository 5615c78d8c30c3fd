import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { HpackDecoder } from './decoder.ts'
import { headerBlockBytesMax, writeHeaderBlock } from './encoder.ts'

const wide = { headerBytesMax: 10_000_000, headerFieldsMax: 10_000 }

function encode(...fields: string[]): Buffer {
  const out = Buffer.alloc(headerBlockBytesMax(fields))
  return out.subarray(0, writeHeaderBlock(fields, out, 0))
}

describe('a header block', () => {
  test('has an index for a field of the static table', () => {
    assert.equal(encode(':status', '200').toString('hex'), '88')
    assert.equal(encode(':status', '404', 'accept-encoding', 'gzip, deflate').toString('hex'), '8d90')
  })

  test('has an index for a name of the static table', () => {
    // Source: RFC 7541, C.2.2.
    assert.equal(encode(':path', '/sample/path').toString('hex'), '040c2f73616d706c652f70617468')
    assert.equal(encode(':status', '201').toString('hex'), '0803323031')
    assert.equal(encode('content-type', '').toString('hex'), '0f1000')
  })

  test('has other names as texts', () => {
    assert.equal(
      encode('grpc-status', '0').toString('hex'),
      `000b${Buffer.from('grpc-status').toString('hex')}0130`,
    )
  })

  test('forbids that proxies index secrets', () => {
    assert.equal(encode('set-cookie', 'a').toString('hex'), '1f280161')
    assert.equal(encode('authorization', 'a').toString('hex'), '1f080161')
  })

  test('has lengths of any size', () => {
    for (const [length, hex] of [
      [126, '7e'],
      [127, '7f00'],
      [254, '7f7f'],
      [255, '7f8001'],
      [100_000, '7fa18c06'],
    ] as const) {
      const block = encode('etag', 'e'.repeat(length))
      assert.equal(block.subarray(0, 2 + hex.length / 2).toString('hex'), `0f13${hex}`)
      assert.deepEqual(new HpackDecoder(wide).decode(block), ['etag', 'e'.repeat(length)])
    }
  })

  test('leaves the bytes around it as they are', () => {
    const names = fc.constantFrom(':status', 'content-type', 'set-cookie', 'x-custom', 'grpc-message')
    const values = fc.string({ unit: fc.nat(255).map((code) => String.fromCharCode(code)), maxLength: 200 })
    fc.assert(
      fc.property(fc.array(fc.tuple(names, values), { maxLength: 20 }), fc.nat(10), (pairs, at) => {
        const fields = pairs.flat()
        const bytesMax = headerBlockBytesMax(fields)
        const out = Buffer.alloc(at + bytesMax + 10, 0xaa)
        const end = writeHeaderBlock(fields, out, at)
        assert.ok(end <= at + bytesMax)
        assert.deepEqual(new HpackDecoder(wide).decode(out.subarray(at, end)), fields)
        for (const around of [out.subarray(0, at), out.subarray(end)]) {
          assert.ok(around.every((byte) => byte === 0xaa))
        }
      }),
    )
  })
})
