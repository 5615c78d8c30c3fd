import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAddressGuard } from './address-guard.ts'

const special = [
  '0.0.0.0',
  '0.1.2.3',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.1',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:0:127.0.0.1',
  '::ffff:10.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2001:10::1',
  '2001:20::1',
  '2002:7f00:1::',
  '2002:808:808::',
  '3fff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd00::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '',
  'localhost',
  '1.2.3.4.5',
]

test(`R2: ${special.length} addresses that are not globally reachable unicast are rejected`, () => {
  const guard = createAddressGuard([])
  for (const address of special) assert.equal(guard.allows(address, 'encrypted'), false, address)
})

test('a globally reachable address is allowed, for encrypted connections only', () => {
  const guard = createAddressGuard([])
  for (const address of ['8.8.8.8', '1.1.1.1', '172.32.0.1', '2606:4700::1111', '::ffff:8.8.8.8']) {
    assert.equal(guard.allows(address, 'encrypted'), true, address)
    assert.equal(guard.allows(address, 'plain'), false, address)
  }
})

test('an allowed network is allowed for both transports, and nothing beside it', () => {
  const guard = createAddressGuard(['10.1.0.0/16', 'fd00:1::/32', '::1/128'])
  for (const transport of ['plain', 'encrypted'] as const) {
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd00:1::5', '::1']) {
      assert.equal(guard.allows(address, transport), true, address)
    }
    for (const address of ['10.2.0.1', '127.0.0.1', 'fd00:2::1', '::2', '64:ff9b::a01:203']) {
      assert.equal(guard.allows(address, transport), false, address)
    }
  }
})

test('a network that cannot be read is an error at start', () => {
  for (const network of ['10.0.0.0', 'localhost/8', '10.0.0.0/33', '']) {
    assert.throws(() => createAddressGuard([network]), /not a network in CIDR notation/, network)
  }
})
