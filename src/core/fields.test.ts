import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from './errors.ts'
import { checkDescription, checkName, refuseIfAny } from './fields.ts'
import { limits } from './limits.ts'

test('names match the pattern, all of them', () => {
  for (const name of [
    'a',
    '0',
    ' ',
    'team one',
    'registry.pull_token_creator',
    '-._',
    'a'.repeat(limits.nameCharsMax),
  ])
    assert.equal(checkName(name), undefined, name)
  for (const name of ['', 'A', 'a/b', 'a\n', '\na', 'ä', 'a\u0000', 'a:b', '１'])
    assert.deepEqual(checkName(name), { field: 'name', description: 'name must match "^[a-z0-9 ._-]{1,}$"' })
  assert.deepEqual(checkName('a'.repeat(limits.nameCharsMax + 1), 'group.name'), {
    field: 'group.name',
    description: `name must have at most ${limits.nameCharsMax} characters`,
  })
})

test('descriptions are one line of at most 512 characters, not bytes', () => {
  for (const text of ['', 'Größe: 5 µm', '🛳'.repeat(512), 'a  b', '<b>'])
    assert.equal(checkDescription(text), undefined)
  for (const text of ['a\nb', 'a\tb', '\r', '\u0000', '\u007f', '\u0085', '\u2028', '\u2029'])
    assert.deepEqual(checkDescription(text, 'company'), {
      field: 'company',
      description: 'must be one line without control characters',
    })
  assert.match(checkDescription('a'.repeat(513))?.description ?? '', /at most 512/)
})

test('every violation is told in one error, whose message speaks of the first', () => {
  refuseIfAny()
  refuseIfAny(undefined, undefined)
  const one = { field: 'a', description: 'is bad' }
  const two = { field: 'b', description: 'is worse' }
  assert.throws(
    () => refuseIfAny(undefined, one, undefined, two),
    (error: unknown) => {
      assert.ok(error instanceof ApiError)
      assert.equal(error.message, 'Invalid argument: a: is bad')
      assert.deepEqual(error.details, [{ kind: 'BadRequest', fieldViolations: [one, two] }])
      return true
    },
  )
})
