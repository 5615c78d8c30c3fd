import assert from 'node:assert/strict'
import { test } from 'node:test'
import { employerDomain } from './email-domains.ts'

test('the domain of an address follows its last @', () => {
  assert.equal(employerDomain('ada@example.com', []), 'example.com')
  assert.equal(employerDomain('ada@Example.COM', []), 'example.com')
  assert.equal(employerDomain('"a@b"@example.com', []), 'example.com')
  assert.equal(employerDomain('ada@mail.example.com', []), 'mail.example.com')
})

test('no address, a public provider and a blocked domain give no domain', () => {
  for (const email of ['', 'ada', '@example.com', 'ada@', 'ada@gmail.com', 'ada@GMX.de', 'ada@163.com'])
    assert.equal(employerDomain(email, []), undefined, email)
  assert.equal(employerDomain('ada@example.com', ['example.com']), undefined)
  assert.equal(employerDomain('ada@EXAMPLE.com', ['example.com']), undefined)
  assert.equal(employerDomain('ada@mail.example.com', ['example.com']), 'mail.example.com')
})
