import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ByteCollector } from './byte-collector.ts'

describe('bytes that arrive in pieces', () => {
  test('come out as they came in, however they were cut, again and again', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.uint8Array({ maxLength: 9000 }))), (rounds) => {
        const collector = new ByteCollector()
        for (const pieces of rounds) {
          for (const piece of pieces) collector.push(piece)
          const expected = Buffer.concat(pieces)
          assert.equal(collector.length, expected.length)
          assert.ok(collector.take().equals(expected))
        }
      }),
    )
  })

  test('come out as they came in, whatever length was announced', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 9000 }))
    fc.assert(
      fc.property(fc.nat(40_000), fc.array(pieces), (announced, rounds) => {
        const collector = new ByteCollector(announced)
        for (const round of rounds) {
          for (const piece of round) collector.push(piece)
          assert.ok(collector.take().equals(Buffer.concat(round)))
        }
      }),
    )
  })

  test('R28: of an announced length are held once, and reserve no more than four times what arrived', () => {
    const announced = 1024 * 1024
    const reserved = (received: number) => {
      const collector = new ByteCollector(announced)
      for (let at = 0; at < received; at += 16_384) collector.push(new Uint8Array(16_384))
      return collector.take().buffer.byteLength
    }
    assert.equal(reserved(announced), announced)
    for (const part of [16_384, 65_536, 131_072, 196_608]) assert.equal(reserved(part), part)
    assert.equal(reserved(announced / 4 + 16_384), announced)
  })

  test('R28: keep no more than twice their memory alive, when each comes with 64 KiB of something else', () => {
    const collector = new ByteCollector()
    for (let at = 0; at < 3000; at++) collector.push(new Uint8Array(65_536).subarray(100, 101))
    assert.ok(collector.take().buffer.byteLength <= 6000)
  })

  test('R28: a single small piece does not keep 64 KiB alive', () => {
    const collector = new ByteCollector()
    collector.push(new Uint8Array(65_536).subarray(100, 101))
    assert.ok(collector.take().buffer.byteLength <= 4096)
  })

  test('a single piece is not copied', () => {
    const collector = new ByteCollector()
    const piece = Buffer.alloc(10_000)
    collector.push(piece)
    assert.equal(collector.take().buffer, piece.buffer)
  })

  test('a piece that was kept is not written over by the next', () => {
    const collector = new ByteCollector()
    const memory = Buffer.from('one two three')
    collector.push(memory.subarray(0, 4))
    collector.push(Buffer.from('six'))
    assert.equal(collector.take().toString(), 'one six')
    assert.equal(memory.toString(), 'one two three')
  })
})
