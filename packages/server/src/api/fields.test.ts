import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../config/limits.ts'
import { ApiError } from './errors.ts'
import { checkDescription, checkEmail, checkLine, checkName, isSameEmail, requireValid } from './fields.ts'

test('names match the whole pattern', () => {
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

test('descriptions have any number of lines, and at most 512 characters, not bytes (descriptionCharsMax)', () => {
  for (const text of ['', 'Größe: 5 µm', '🛳'.repeat(512), 'a  b', '<b>', 'a\nb', 'a\r\n\tb\n', 'a\u2028b'])
    assert.equal(checkDescription(text), undefined)
  for (const text of ['\u0000', 'a\u001b[31m', '\u007f', '\u0085'])
    assert.deepEqual(checkDescription(text, 'note'), {
      field: 'note',
      description: 'must not contain control characters, except tabs and line breaks',
    })
  assert.match(checkDescription('a'.repeat(513))?.description ?? '', /at most 512/)
})

test('a company and the like is one line', () => {
  assert.equal(checkLine('Größe & Söhne', 'company'), undefined)
  for (const text of ['a\nb', 'a\tb', '\r', '\u0000', '\u007f', '\u0085', '\u2028', '\u2029'])
    assert.deepEqual(checkLine(text, 'company'), {
      field: 'company',
      description: 'must be one line without control characters',
    })
  assert.match(checkLine('a'.repeat(513), 'company')?.description ?? '', /at most 512/)
})

test('an email address is bare, ASCII, and no longer than RFC 5321 allows (emailCharsMax)', () => {
  const label = 'a'.repeat(63)
  const longest = `${'l'.repeat(64)}@${label}.${label}.${'a'.repeat(limits.emailCharsMax - 65 - 2 * 64)}`
  for (const email of [
    'ada@example.com',
    'Ada.Lovelace+berth@Example.COM',
    "o'neil_{x}|~!#$%&*/=?^`-@a-b.c",
    'root@localhost',
    '1@2.3',
    longest,
  ])
    assert.equal(checkEmail(email), undefined, email)
  for (const email of [
    '',
    'ada',
    '@example.com',
    'ada@',
    'ada@@example.com',
    'ada@b@example.com',
    ' ada@example.com',
    'ada@example.com ',
    'ada @example.com',
    'ada@example.com\n',
    'Ada <ada@example.com>',
    '<ada@example.com>',
    'mailto:ada@example.com',
    'ada@example.com,bob@example.com',
    '"ada lovelace"@example.com',
    'ada.@example.com',
    '.ada@example.com',
    'a..b@example.com',
    'ada@.example.com',
    'ada@example..com',
    'ada@example.com.',
    'ada@-example.com',
    'ada@example-.com',
    'ada@exam_ple.com',
    'ada@[127.0.0.1]',
    'jürgen@example.com',
    'ada@exämple.com',
    'ada@example.com\u0000',
    'ada@\u212Aelvin.example',
    `${'l'.repeat(65)}@example.com`,
    `ada@${'a'.repeat(64)}.com`,
    `${longest}a`,
  ])
    assert.equal(checkEmail(email)?.field, 'email', email)
  assert.equal(checkEmail('', 'contact')?.field, 'contact')
})

test('email addresses are equal regardless of the case of ASCII letters only', () => {
  assert.ok(isSameEmail('Ada@Example.com', 'aDA@eXAMPLE.COM'))
  for (const [a, b] of [
    ['ada@example.com', 'adb@example.com'],
    ['ada@example.com', ''],
    ['ada@example.com', 'ada@example.com '],
    // The Kelvin sign is k in lower case, the long s is S in upper case.
    ['kay@example.com', '\u212Aay@example.com'],
    ['sue@example.com', '\u017Fue@example.com'],
    ['ada.l@example.com', 'adal@example.com'],
  ] as const)
    assert.ok(!isSameEmail(a, b), `${a} ${b}`)
})

test('one error reports every violation; its message describes the first', () => {
  requireValid()
  requireValid(undefined, undefined)
  const one = { field: 'a', description: 'is bad' }
  const two = { field: 'b', description: 'is worse' }
  assert.throws(
    () => requireValid(undefined, one, undefined, two),
    (error: unknown) => {
      assert.ok(error instanceof ApiError)
      assert.equal(error.message, 'Invalid argument: a: is bad')
      assert.deepEqual(error.details, [{ kind: 'BadRequest', fieldViolations: [one, two] }])
      return true
    },
  )
})
