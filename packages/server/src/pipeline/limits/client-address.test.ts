import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientAddressKey, clientAddressResolver, createTrustedProxyTest } from './client-address.ts'

const trusted = ['10.0.0.0/8', 'fd00::/8']

const cases: readonly [why: string, socket: string | undefined, forwarded: string | undefined, is: string][] =
  [
    ['no header', '10.0.0.1', undefined, '10.0.0.1'],
    ['a stranger who writes the header', '192.0.2.1', '198.51.100.7', '192.0.2.1'],
    ['one proxy', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
    [
      'what the client wrote is left of what the proxy appended',
      '10.0.0.1',
      '1.1.1.1, 192.0.2.9',
      '192.0.2.9',
    ],
    ['a chain of proxies', '10.0.0.1', '1.1.1.1,192.0.2.9, 10.2.3.4 ,fd00::7', '192.0.2.9'],
    ['only proxies', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['an entry that is no address', '10.0.0.1', '192.0.2.9, unknown', '10.0.0.1'],
    ['an entry that is no address behind a proxy', '10.0.0.1', '192.0.2.9, unknown, 10.0.0.2', '10.0.0.2'],
    ['a bare number', '10.0.0.1', '3221225985', '10.0.0.1'],
    ['an octal number', '10.0.0.1', '0300.0.2.1', '10.0.0.1'],
    ['an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['an empty entry', '10.0.0.1', '192.0.2.9,', '10.0.0.1'],
    ['a port', '10.0.0.1', '192.0.2.9:4711', '192.0.2.9'],
    ['IPv6 in brackets', '10.0.0.1', '[2001:DB8::1]', '2001:db8::1'],
    ['IPv6 in brackets with a port', '10.0.0.1', '[2001:db8:0::1]:4711', '2001:db8::1'],
    ['an IPv6 proxy', 'fd00::1', '2001:db8::1', '2001:db8::1'],
    ['IPv4 inside IPv6', '::ffff:192.0.2.1', undefined, '192.0.2.1'],
    ['a proxy whose IPv4 is inside IPv6', '::ffff:10.0.0.1', '::ffff:192.0.2.1', '192.0.2.1'],
    ['a socket that is gone', undefined, '192.0.2.1', ''],
  ]
for (const [why, socket, forwarded, is] of cases) {
  test(`address of ${why}`, () => assert.equal(clientAddressResolver(trusted)(socket, forwarded), is))
}

test('without trusted proxies the header is never looked at', () => {
  assert.equal(clientAddressResolver([])('10.0.0.1', '192.0.2.1'), '10.0.0.1')
})

test('headers that came one by one are one list', () => {
  assert.equal(clientAddressResolver(trusted)('10.0.0.1', ['1.1.1.1', '192.0.2.9']), '192.0.2.9')
})

test('a /64 of IPv6 is one client, and so is each IPv4 address', () => {
  assert.equal(clientAddressKey('192.0.2.1'), '192.0.2.1')
  assert.equal(clientAddressKey('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64')
  assert.equal(clientAddressKey('2001:db8:1:2::'), clientAddressKey('2001:db8:1:2:ffff:ffff:ffff:ffff'))
  assert.notEqual(clientAddressKey('2001:db8:1:2::1'), clientAddressKey('2001:db8:1:3::1'))
  assert.equal(clientAddressKey('fe80::1%eth0'), 'fe80::/64')
  assert.equal(clientAddressKey(''), '')
})

test('recognizes trusted proxies, in any spelling', () => {
  const isTrustedProxy = createTrustedProxyTest(trusted)
  for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd00::1'])
    assert.ok(isTrustedProxy(address), address)
  for (const address of ['192.0.2.1', '2001:db8::1', 'text', '', undefined])
    assert.ok(!isTrustedProxy(address), address)
  assert.ok(!createTrustedProxyTest([])('10.1.2.3'))
})
