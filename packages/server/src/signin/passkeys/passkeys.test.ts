import assert from 'node:assert/strict'
import { test } from 'node:test'
import { passkeysUnsupportedReason } from './passkeys.ts'

const cases: readonly (readonly [address: string, obstacle: RegExp | undefined])[] = [
  ['https://berth.example.com', undefined],
  ['https://berth.example.com:8443', undefined],
  ['https://berth', undefined],
  ['https://1.example.com', undefined],
  ['http://localhost:8080', undefined],
  ['http://berth.localhost', undefined],
  ['https://localhost', undefined],
  [
    'http://berth.example.com',
    /only over https, and the address of this server is http:\/\/berth\.example\.com\./,
  ],
  ['http://localhost.example.com', /only over https/],
  ['http://127.0.0.1:8080', /only for a host name, .* http:\/\/127\.0\.0\.1:8080, has an IP address/],
  ['https://192.0.2.1', /IP address/],
  ['https://3221225985', /IP address/],
  ['https://[::1]:8443', /IP address/],
  ['http://[2001:db8::1]', /IP address/],
]
for (const [address, obstacle] of cases) {
  test(`passkeys at ${address}`, () => {
    const reason = passkeysUnsupportedReason(address)
    if (obstacle === undefined) assert.equal(reason, undefined)
    else assert.match(reason ?? '', obstacle)
    assert.ok(reason === undefined || reason.includes('BERTH_AUTH_URL'), 'names the setting')
  })
}
