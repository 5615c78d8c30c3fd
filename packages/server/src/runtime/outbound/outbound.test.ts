import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkTarget } from './outbound.ts'

const spellings = [
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1.',
  '１２７.0.0.1',
]
test(`R2: ${spellings.length} spellings of an address in a URL are the address that they mean`, () => {
  for (const host of spellings) {
    const url = checkTarget(`https://${host}/`)
    assert.equal('error' in url ? url.error : url.hostname, '127.0.0.1', host)
  }
})

const unfetchable = [
  'https://user@ci.example.com',
  'https://:x@ci.example.com',
  'ftp://ci.example.com',
  'file:///x',
  '/x',
  'https://',
  '',
]
test(`R2: ${unfetchable.length} URLs with credentials, other schemes and no host are not fetched`, () => {
  for (const url of unfetchable) {
    assert.ok('error' in checkTarget(url), url)
  }
})

test('R2: a redirect may go up to https, never down to http', () => {
  const secure = new URL('https://ci.example.com/a/b')
  const plain = new URL('http://ci.example.com/a/b')
  assert.equal(String(checkTarget('../c', secure)), 'https://ci.example.com/c')
  assert.equal(String(checkTarget('//other.example.com/c', secure)), 'https://other.example.com/c')
  assert.equal(String(checkTarget('https://ci.example.com/', plain)), 'https://ci.example.com/')
  assert.deepEqual(checkTarget('http://ci.example.com/', secure), { error: 'leads from https to http' })
  assert.deepEqual(checkTarget('data:application/json,{}', secure), { error: 'neither https nor http' })
})
