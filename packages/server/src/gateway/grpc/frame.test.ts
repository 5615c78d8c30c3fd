import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  createFrameReader,
  encodeFrame,
  type Frame,
  parseTimeoutMs,
  percentEncode,
  protoFieldPath,
} from './frame.ts'

test('frames survive any cutting of the bytes', () => {
  const messages = fc.array(fc.tuple(fc.uint8Array({ maxLength: 300 }), fc.boolean()), { maxLength: 5 })
  fc.assert(
    fc.property(messages, fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }), (sent, cuts) => {
      let rest = Buffer.concat(sent.map(([payload, compressed]) => encodeFrame(payload, compressed)))
      const reader = createFrameReader(300)
      const received: Frame[] = []
      for (let turn = 0; rest.length > 0; turn += 1) {
        const length = cuts[turn % cuts.length] ?? 1
        const frames = reader.push(rest.subarray(0, length))
        assert.ok(typeof frames !== 'string')
        received.push(...frames)
        rest = rest.subarray(length)
      }
      assert.equal(reader.isMidFrame(), false)
      assert.deepEqual(
        received.map(({ payload, compressed }) => [new Uint8Array(payload), compressed]),
        sent.map(([payload, compressed]) => [new Uint8Array(payload), compressed]),
      )
    }),
  )
})

test('a small message does not keep the memory that it arrived in', () => {
  const chunk = Buffer.allocUnsafeSlow(64 * 1024)
  const frame = encodeFrame(new Uint8Array(200), false)
  frame.copy(chunk, 1000)
  const [message] = createFrameReader(1000).push(
    chunk.subarray(1000, 1000 + frame.length),
  ) as readonly Frame[]
  assert.ok((message?.payload.buffer.byteLength ?? Number.POSITIVE_INFINITY) < 10_000)
})

test('a frame that announces too much is rejected by its prefix', () => {
  assert.equal(createFrameReader(4).push(Buffer.from([0, 0, 0, 0, 5])), 'too-large')
  assert.equal(createFrameReader(4).push(Buffer.from([0, 0xff, 0xff, 0xff, 0xff])), 'too-large')
  const fits = createFrameReader(4)
  assert.deepEqual(fits.push(Buffer.from([0, 0, 0, 0, 4])), [])
  assert.equal(fits.isMidFrame(), true)
})

test('the first byte of a frame is 0 or 1', () => {
  assert.equal(createFrameReader(4).push(Buffer.from([2, 0, 0, 0, 0])), 'bad-flag')
})

test('grpc-timeout has up to eight digits and a unit', () => {
  for (const [header, ms] of [
    ['1H', 3_600_000],
    ['2M', 120_000],
    ['3S', 3000],
    ['4m', 4],
    ['500u', 0.5],
    ['1000n', 0.001],
    ['0S', 0],
    ['99999999H', 99_999_999 * 3_600_000],
  ] as const) {
    assert.ok(Math.abs((parseTimeoutMs(header) ?? Number.NaN) - ms) < 1e-9, header)
  }
  for (const header of ['', 'S', '1', '1s', '-1S', '1.5S', '123456789S', ' 1S', '1 S']) {
    assert.equal(parseTimeoutMs(header), undefined, header)
  }
})

test('grpc-message is printable ASCII that decodes to the text', () => {
  assert.equal(percentEncode('plain text ~!'), 'plain text ~!')
  assert.equal(percentEncode('100%\né'), '100%25%0A%C3%A9')
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const encoded = percentEncode(text)
      assert.match(encoded, /^[ -~]*$/)
      assert.equal(decodeURIComponent(encoded), text)
    }),
  )
})

test('field paths are spelled as in the proto files, keys of maps as they are', () => {
  assert.equal(protoFieldPath('claimMatch.issuerUrl'), 'claim_match.issuer_url')
  assert.equal(protoFieldPath('capabilities[0]'), 'capabilities[0]')
  assert.equal(
    protoFieldPath('claimMatch.claims["kebabCase"].valueOf'),
    'claim_match.claims["kebabCase"].value_of',
  )
  assert.equal(protoFieldPath('page_size'), 'page_size')
  assert.equal(protoFieldPath(''), '')
})
