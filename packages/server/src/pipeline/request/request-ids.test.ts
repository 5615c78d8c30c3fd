import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../config/limits.ts'
import { createRequestIds } from './request-ids.ts'

test('keeps an x-request-id of a client that is valid', () => {
  const idOf = createRequestIds()
  for (const id of [
    'a',
    '7f1c2e4e-93cf-4ea2-9a05-0f3d8a3b0f67',
    'Root=1-67891233-abcdef012345678912345678',
    'host/abc-000001',
    'x'.repeat(limits.requestIdCharsMax),
  ])
    assert.equal(idOf(id), id)
})

test('replaces an x-request-id of a client that is too long, empty, or has other characters, and creates unique ids', () => {
  const idOf = createRequestIds()
  const created = [
    undefined,
    '',
    'x'.repeat(limits.requestIdCharsMax + 1),
    'a b',
    'a, b',
    'a\nb',
    'someone@example.com',
    '"quoted"',
    'ünïcode',
    ['a', 'b'],
  ].map((id) => idOf(id))
  for (const id of created) assert.match(id, /^[0-9a-z]{10}-[0-9a-z]+$/)
  assert.equal(new Set(created).size, created.length)
})

test('replaces an x-request-id in the form that this node and others create, which could imitate the request of another client', () => {
  const [idOf, idOfOtherNode] = [createRequestIds(), createRequestIds()]
  const taken = idOf(undefined)
  assert.notEqual(idOf(taken), taken)
  assert.notEqual(idOfOtherNode(taken), taken)
})
