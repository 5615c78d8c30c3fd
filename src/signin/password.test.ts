import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../core/limits.ts'
import { hashPassword, passwordProblem, verifyPassword } from './password.ts'

const ada = { email: 'ada.lovelace@example.com', name: 'Ada Lovelace' }

test('a password has passwordCharsMin to passwordCharsMax characters, however many bytes, and nothing else is asked of it', () => {
  const good = [
    'abcdefghijkl',
    'all small letters',
    '            1234 x y',
    'пароль длинный',
    '密码密码一二三四五六七八',
    '🦊🐻🐼🐨🐯🦁🐮🐷🐸🐵🐔🐧',
    'abcdef'.repeat(170),
  ]
  for (const password of good) assert.equal(passwordProblem(password, ada), undefined, password)
  assert.match(passwordProblem('abcdefghijk', ada) ?? '', new RegExp(`at least ${limits.passwordCharsMin}`))
  const long = 'abcdefgh'.repeat(limits.passwordCharsMax / 8)
  assert.equal(passwordProblem(long, ada), undefined)
  assert.match(passwordProblem(`${long}x`, ada) ?? '', new RegExp(`at most ${limits.passwordCharsMax}`))
})

test('a password made of its owner, or of few letters, is refused', () => {
  for (const password of [
    'ada.lovelace@example.com',
    'ADA.LOVELACE',
    'Ada Lovelace',
    'Ada Lovelace1',
    'ada.lovelace2026',
  ])
    assert.match(passwordProblem(password, ada) ?? '', /name or e-mail/, password)
  for (const password of ['aaaaaaaaaaaaaa', '121212121212', 'abcdabcdabcd'])
    assert.match(passwordProblem(password, ada) ?? '', /repeat/, password)
  assert.equal(passwordProblem('ada.lovelace wrote programs', ada), undefined)
})

test('a hash is of one password, of whatever form its letters have, and names its parameters', async () => {
  const stored = await hashPassword('Ångström and more')
  assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  assert.notEqual(stored, await hashPassword('Ångström and more'))
  assert.deepEqual(await verifyPassword(stored, 'Ångström and more'), { right: true, stale: false })
  assert.deepEqual(await verifyPassword(stored, 'A\u030angstro\u0308m and more'), {
    right: true,
    stale: false,
  })
  for (const other of ['ångström and more', 'Ångström and more ', '', stored])
    assert.equal((await verifyPassword(stored, other)).right, false, other)
})

test('no hash is the hash of nothing', async () => {
  for (const stored of ['', 'x', '$argon2id$', '$2b$12$abcdefghijklmnopqrstuv'])
    for (const password of ['', 'x', stored])
      assert.equal((await verifyPassword(stored, password)).right, false)
})

test('looking for somebody who is not there takes as long', async () => {
  const stored = await hashPassword('purple wagon sings loudly')
  const timeOf = async (hash: string) => {
    const times: number[] = []
    for (let at = 0; at < 7; at++) {
      const start = performance.now()
      await verifyPassword(hash, 'another password')
      times.push(performance.now() - start)
    }
    return times.sort((a, b) => a - b)[3] ?? 0
  }
  const [there, missing] = [await timeOf(stored), await timeOf('')]
  assert.ok(missing > there / 3 && missing < there * 3, `${there} ms against ${missing} ms`)
})
