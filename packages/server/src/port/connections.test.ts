import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../config/limits.ts'
import { createConnectionAdmission, createConnectionKeys } from './connections.ts'

function setUp(nowMs = () => 0) {
  const bounds = {
    connectionsMax: 6,
    connectionsPerAddressMax: 3,
    undecidedConnectionsMax: 4,
    abusiveConnectionsPerAddressMax: 2,
    abuseWindowMs: 1000,
  }
  const all = createConnectionAdmission(bounds, (address) => address === '10.0.0.1', nowMs)
  const dropped: unknown[] = []
  const from = (remoteAddress: string) => {
    const connection = { remoteAddress, destroy: () => dropped.push(connection) }
    return connection
  }
  return { all, dropped, from }
}

describe('connections', () => {
  test('of one address are limited, and those of a trusted proxy are not', () => {
    const { all, from } = setUp()
    const mine = [from('192.0.2.1'), from('192.0.2.1'), from('192.0.2.1')] as const
    for (const one of mine) assert.ok(all.add(one))
    assert.ok(!all.add(from('192.0.2.1')))
    assert.ok(all.add(from('192.0.2.2')))
    all.remove(mine[0])
    all.remove(mine[0])
    assert.ok(all.add(from('192.0.2.1')))
    assert.ok(!all.add(from('192.0.2.1')))
    for (const one of mine) all.remove(one)
    for (let at = 0; at < 4; at++) assert.ok(all.add(from('10.0.0.1')))
  })

  test('of an address that has too many do not close those of others, however many are open', () => {
    const { all, dropped, from } = setUp()
    for (let at = 0; at < 3; at++) {
      const one = from('192.0.2.1')
      assert.ok(all.add(one))
      all.markDecided(one)
    }
    for (const address of ['192.0.2.2', '192.0.2.3', '192.0.2.4']) assert.ok(all.add(from(address)))
    assert.equal(all.open, 6)
    assert.ok(!all.add(from('192.0.2.1')))
    assert.deepEqual(dropped, [])
    assert.ok(all.add(from('192.0.2.5')))
    assert.equal(dropped.length, 1)
  })

  test('that have sent nothing are closed for new ones, the oldest first', () => {
    const { all, dropped, from } = setUp()
    const silent = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'].map(from)
    for (const one of silent) assert.ok(all.add(one))
    assert.ok(all.add(from('192.0.2.5')))
    assert.deepEqual(dropped, [silent[0]])
    assert.equal(all.undecided, 4)
  })

  test('are rejected when all that are open are in use', () => {
    const { all, dropped, from } = setUp()
    for (let at = 1; at <= 6; at++) {
      const one = from(`192.0.2.${at}`)
      assert.ok(all.add(one))
      all.markDecided(one)
    }
    assert.ok(!all.add(from('192.0.2.7')))
    assert.deepEqual(dropped, [])
    assert.equal(all.open, 6)
  })

  test('of an address that abuses its connections are rejected for a time', () => {
    let nowMs = 0
    const { all, from } = setUp(() => nowMs)
    for (let at = 0; at < 2; at++) {
      assert.ok(all.add(from('2001:db8::1')))
      all.reportAbuse('2001:db8::1')
    }
    assert.ok(!all.add(from('2001:db8::2')), 'of the same /64')
    assert.ok(all.add(from('192.0.2.1')))
    nowMs = 1000
    assert.ok(all.add(from('2001:db8::1')))
    for (let at = 0; at < 9; at++) all.reportAbuse('10.0.0.1')
    assert.ok(all.add(from('10.0.0.1')))
  })

  test('have generous limits: many people share an address (connectionsMax, connectionsPerAddressMax, undecidedConnectionsMax, abusiveConnectionsPerAddressMax, abuseWindowMs)', () => {
    assert.ok(limits.connectionsPerAddressMax >= 1000)
    assert.ok(limits.connectionsMax >= 4 * limits.connectionsPerAddressMax)
    assert.ok(limits.undecidedConnectionsMax < limits.connectionsMax)
    assert.ok(limits.abusiveConnectionsPerAddressMax >= 10 && limits.abuseWindowMs <= 60_000)
  })
})

test('connections of one IPv6 network have one key, and those of a trusted proxy none', () => {
  const keyOf = createConnectionKeys(['10.0.0.0/8'])
  assert.equal(keyOf('2001:db8::1'), keyOf('2001:db8::ffff:2'))
  assert.notEqual(keyOf('2001:db8::1'), keyOf('2001:db8:0:1::1'))
  assert.notEqual(keyOf('::ffff:192.0.2.1'), keyOf('::ffff:192.0.2.2'))
  assert.equal(keyOf('::ffff:10.1.2.3'), undefined)
})
