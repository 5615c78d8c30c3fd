import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CompactJWSHeaderParameters, CompactSign } from 'jose'
import { limits } from '../../config/limits.ts'
import { evaluateUntilFailure } from '../trust/evaluate.ts'
import { type KeySource, subjectTokenAlgs } from '../trust/key-set.ts'
import { staticKeySource } from '../trust/static-keys.ts'
import { checkSubjectToken, readSubjectToken } from './subject-token.ts'

const now = Date.UTC(2026, 0, 1)
const clock = () => now
const seconds = now / 1000

const pairs = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  p384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  p521: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  ed: generateKeyPairSync('ed25519'),
}
type Pair = keyof typeof pairs
const pairOf: Record<string, Pair> = { ES256: 'p256', ES384: 'p384', ES512: 'p521', EdDSA: 'ed' }
const publicJwks = Object.entries(pairs).map(([kid, pair]) => ({
  ...pair.publicKey.export({ format: 'jwk' }),
  kid,
}))
const keys = staticKeySource(JSON.stringify({ keys: publicJwks }))

const good = {
  iss: 'https://ci.example.com',
  sub: 'repo:a/b',
  aud: 'sts.example.com',
  exp: seconds + 300,
  iat: seconds,
}

function encode(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

function sign(
  payload: unknown,
  header: CompactJWSHeaderParameters = { alg: 'ES256', kid: 'p256' },
  key?: KeyObject,
) {
  const bytes = Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload))
  const signer = new CompactSign(bytes).setProtectedHeader(header)
  return signer.sign(key ?? pairs[pairOf[header.alg] ?? 'rsa'].privateKey)
}

/** A token whose form only matters. */
function unsigned(header: unknown, payload: unknown = good): string {
  return `${encode(header)}.${encode(payload)}.AAAA`
}

/** `ok`, or what is wrong and whose fault it is. */
async function outcome(token: string, source: KeySource = keys, time = clock): Promise<string> {
  const read = readSubjectToken(token)
  if (!read.ok) return `token: ${read.reason}`
  const checked = await evaluateUntilFailure((evaluate) =>
    checkSubjectToken(token, read, { keys: source, clock: time }, evaluate),
  )
  return checked.ok ? 'ok' : `${checked.failed.fault}: ${checked.failed.reason}`
}

test('R6: every allowed algorithm verifies with the key of its type', async () => {
  for (const alg of subjectTokenAlgs) {
    const kid = pairOf[alg] ?? 'rsa'
    assert.equal(await outcome(await sign(good, { alg, kid })), 'ok', alg)
    assert.equal(await outcome(await sign(good, { alg })), 'ok', `${alg} without kid`)
  }
})

test('R6: unsigned and symmetric tokens and other algorithms are rejected before any key is fetched', async () => {
  const source: KeySource = { find: () => assert.fail('a key was asked for') }
  for (const alg of [
    'none',
    'None',
    'NONE',
    '',
    'HS256',
    'HS384',
    'HS512',
    'RS1',
    'ES256K',
    'rs256',
    'dir',
    'RSA-OAEP',
    7,
    null,
    undefined,
    ['RS256'],
    {},
  ]) {
    assert.match(
      await outcome(unsigned({ alg, kid: 'rsa' }), source),
      /token: .*supported algorithm/,
      JSON.stringify(alg),
    )
  }
})

test('R6: a public key is never used as the secret of an HMAC', async () => {
  const pem = pairs.rsa.publicKey.export({ format: 'pem', type: 'spki' })
  const input = `${encode({ alg: 'HS256', kid: 'rsa' })}.${encode(good)}`
  const token = `${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`
  assert.match(await outcome(token), /^token: /)
})

test('R6: an algorithm of another key type is rejected', async () => {
  const [head, ...rest] = (await sign(good)).split('.')
  assert.ok(head)
  for (const header of [
    { alg: 'RS256', kid: 'p256' },
    { alg: 'EdDSA', kid: 'p256' },
    { alg: 'ES384', kid: 'p256' },
  ]) {
    assert.match(await outcome([encode(header), ...rest].join('.')), /^token: /)
  }
})

test('R7: keys in the token, and URLs of keys, have no effect', async () => {
  const attacker = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = attacker.publicKey.export({ format: 'jwk' })
  for (const extra of [
    { jwk },
    { jku: 'https://evil.example/jwks' },
    { x5u: 'https://evil.example/x' },
    { x5c: ['AAAA'] },
  ]) {
    const header = { alg: 'ES256', kid: 'p256', ...extra } as CompactJWSHeaderParameters
    assert.match(await outcome(await sign(good, header, attacker.privateKey)), /token: the signature/)
    assert.equal(await outcome(await sign(good, header)), 'ok')
  }
})

test('critical extensions are rejected', async () => {
  for (const header of [
    { alg: 'ES256', crit: ['b64'], b64: false },
    { alg: 'ES256', crit: ['x'], x: 1 },
    { alg: 'ES256', crit: [] },
  ]) {
    assert.match(await outcome(unsigned(header)), /crit/)
  }
})

test('only a compact JWS of three parts is read', async () => {
  const [head, body, signature] = (await sign(good)).split('.')
  for (const token of [
    '',
    '.',
    '..',
    'x',
    `${head}.${body}`,
    `${head}.${body}.`,
    `${head}.${body}.${signature}.`,
    `${head}.${body}.${signature}.${signature}.${signature}`,
    `${head}..${signature}`,
    `.${body}.${signature}`,
    ` ${head}.${body}.${signature}`,
    `${head}=.${body}.${signature}`,
    `${head}.${body}\n.${signature}`,
    `${encode('[]')}.${body}.${signature}`,
    `${encode('null')}.${body}.${signature}`,
    `${encode('{')}.${body}.${signature}`,
    `${Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')}.${body}.${signature}`,
    JSON.stringify({ protected: head, payload: body, signature }),
  ]) {
    assert.match(await outcome(token), /^token: /, token)
  }
})

test('a token of more than 16384 characters is rejected unparsed', () => {
  const token = unsigned({ alg: 'ES256' }, { ...good, pad: 'a'.repeat(limits.bearerTokenCharsMax) })
  assert.deepEqual(readSubjectToken(token), { ok: false, reason: 'the token is too long' })
})

test('R8: the claims have the required types', async () => {
  for (const [name, change] of Object.entries({
    'no iss': { iss: undefined },
    'array iss': { iss: ['https://ci.example.com'] },
    'empty iss': { iss: '' },
    'long iss': { iss: `https://${'a'.repeat(300)}` },
    'no sub': { sub: undefined },
    'number sub': { sub: 7 },
    'array sub': { sub: ['repo:a/b'] },
    'empty sub': { sub: '' },
    'long sub': { sub: 'a'.repeat(1025) },
    'NUL in iss': { iss: `${good.iss}/\u0000` },
    'line break in iss': { iss: `${good.iss}/\n` },
    'NUL in sub': { sub: 'repo:a\u0000/b' },
    'DEL in sub': { sub: 'repo:a/b\u007f' },
    'a control character of Latin-1 in sub': { sub: 'repo:a/b\u0085' },
    'number aud': { aud: 7 },
    'null aud': { aud: null },
    'object aud': { aud: { 0: 'sts.example.com' } },
    'mixed aud': { aud: ['sts.example.com', 7] },
    'nested aud': { aud: [['sts.example.com']] },
    'no exp': { exp: undefined },
    'string exp': { exp: String(seconds + 300) },
    'null exp': { exp: null },
    'string nbf': { nbf: '0' },
    'null iat': { iat: null },
  })) {
    assert.match(await outcome(await sign({ ...good, ...change })), /^token: /, name)
  }
  for (const payload of [
    '[]',
    `[${JSON.stringify(good)}]`,
    'null',
    '"x"',
    '7',
    '',
    '{',
    `${JSON.stringify(good)}x`,
    '{"exp":1e999}',
  ]) {
    assert.match(await outcome(await sign(payload)), /^token: /, payload)
  }
})

test('R8: exp is strict, nbf and iat may be 60 seconds ahead', async () => {
  for (const [change, ok] of [
    [{ exp: seconds + 1 }, true],
    [{ exp: seconds + 0.5 }, true],
    [{ exp: seconds }, false],
    [{ exp: seconds - 1 }, false],
    [{ exp: -1 }, false],
    [{ nbf: seconds + 60 }, true],
    [{ nbf: seconds + 61 }, false],
    [{ iat: seconds + 60 }, true],
    [{ iat: seconds + 61 }, false],
    [{ iat: undefined }, true],
    [{ iat: 0, nbf: 0 }, true],
  ] as const) {
    assert.equal((await outcome(await sign({ ...good, ...change }))) === 'ok', ok, JSON.stringify(change))
  }
})

test('a token that expires while its keys are fetched is rejected', async () => {
  let time = now
  const slow: KeySource = {
    find(alg, kid) {
      time += 301_000
      return keys.find(alg, kid)
    },
  }
  assert.equal(await outcome(await sign(good), slow, () => time), 'token: the token has expired')
})

test('R14: a token contains when it was issued', async () => {
  const read = readSubjectToken(await sign({ ...good, iat: seconds - 3600 }))
  assert.ok(read.ok)
  assert.equal(read.claims.issuedAtMs, now - 3600_000)
})

test('the audience is a list, for both forms of the claim', () => {
  for (const [aud, expected] of [
    ['a', ['a']],
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [[], []],
    [undefined, []],
  ]) {
    const read = readSubjectToken(unsigned({ alg: 'ES256', kid: 'k' }, { ...good, aud }))
    assert.ok(read.ok)
    assert.deepEqual(read.claims.audience, expected)
  }
})

test('R1: the claims that select the identity are read without any key', () => {
  assert.deepEqual(readSubjectToken(unsigned({ alg: 'ES256', kid: 'k' })), {
    ok: true,
    header: { alg: 'ES256', kid: 'k', typ: undefined },
    claims: {
      issuer: good.iss,
      subject: good.sub,
      audience: [good.aud],
      expiresAtMs: now + 300_000,
      issuedAtMs: now,
      payload: good,
    },
  })
})

test('R9: a changed payload or signature never verifies, also after the original did', async () => {
  const token = await sign(good)
  const [head, body = '', signature = ''] = token.split('.')
  assert.equal(await outcome(token), 'ok')
  assert.equal(await outcome(token), 'ok')
  const other = encode({ ...good, sub: 'repo:a/c' })
  assert.match(await outcome(`${head}.${other}.${signature}`), /token: the signature/)
  await fc.assert(
    fc.asyncProperty(fc.nat(signature.length - 3), async (at) => {
      const flipped = signature[at] === 'A' ? 'B' : 'A'
      assert.match(
        await outcome(`${head}.${body}.${signature.slice(0, at)}${flipped}${signature.slice(at + 1)}`),
        /^token: /,
      )
    }),
    { numRuns: 30 },
  )
})

test('R3: no reason repeats anything of the token', async () => {
  const marks = { iss: 'https://mark.example', sub: 'mark', aud: ['mark'], exp: seconds - 1, mark: 'mark' }
  for (const token of [
    await sign(marks),
    unsigned({ alg: 'mark' }),
    unsigned({ alg: 'ES256', kid: 'mark' }),
    'mark.mark.mark',
  ]) {
    assert.doesNotMatch(await outcome(token), /mark/)
  }
})

test('R15: unavailable keys make the token unverifiable, not accepted', async () => {
  const token = await sign(good)
  assert.equal(
    await outcome(token, { find: async () => ({ kind: 'unavailable', reason: 'down' }) }),
    'elsewhere: down',
  )
  assert.equal(
    await outcome(token, { find: async () => ({ kind: 'invalid', reason: 'not allowed' }) }),
    'token: not allowed',
  )
  assert.match(await outcome(token, { find: async () => ({ kind: 'unknown' }) }), /token: .*does not publish/)
})

test('no text makes reading or verifying throw', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(
        fc.string(),
        fc.tuple(fc.jsonValue(), fc.jsonValue()).map(([h, p]) => unsigned(h, p)),
      ),
      async (text) => {
        assert.equal(readSubjectToken(text).ok, false)
        assert.match(await outcome(text), /^token: /)
      },
    ),
  )
})

test('R8: a header or payload with a duplicate member is rejected, and so is one that exceeds jwtDepthMax or jwtElementsMax', () => {
  const header = '{"alg":"ES256","kid":"p256"}'
  const times = `"exp":${seconds + 300},"iat":${seconds}`
  const payload = `{"iss":"https://ci.example.com","sub":"repo:a/b","aud":"sts.example.com",${times}}`
  const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const withMember = (member: string) => payload.replace('}', `,${member}}`)
  const table: readonly (readonly [header: string, payload: string, expected: string])[] = [
    [header, payload, 'ok'],
    [header, withMember('"nested":{"a":1,"b":{"a":2}},"list":[{"a":1},{"a":1}]'), 'ok'],
    ['{"alg":"none","alg":"ES256","kid":"p256"}', payload, 'header of the token has a duplicate member'],
    ['{"alg":"ES256","kid":"other","kid":"p256"}', payload, 'header of the token has a duplicate member'],
    [
      '{"alg":"ES256","kid":"p256","\\u006bid":"p256"}',
      payload,
      'header of the token has a duplicate member',
    ],
    [header, withMember('"sub":"repo:evil/b"'), 'payload of the token has a duplicate member'],
    [header, withMember('"iss":"https://ci.example.com"'), 'payload of the token has a duplicate member'],
    [header, withMember('"s\\u0075b":"repo:evil/b"'), 'payload of the token has a duplicate member'],
    [header, withMember('"aud":["x"]'), 'payload of the token has a duplicate member'],
    [header, withMember('"act":{"sub":"a","sub":"b"}'), 'payload of the token has a duplicate member'],
    [header, withMember('"list":[{"a":1},{"a":1,"a":2}]'), 'payload of the token has a duplicate member'],
    [header, withMember('"__proto__":1,"__proto__":2'), 'payload of the token has a duplicate member'],
    [header, withMember(`"deep":${nested(limits.jwtDepthMax - 1)}`), 'ok'],
    [header, withMember(`"deep":${nested(limits.jwtDepthMax)}`), 'payload of the token is nested deeper'],
    [
      header,
      withMember(`"wide":[${'1,'.repeat(limits.jwtElementsMax)}1]`),
      'payload of the token is nested deeper',
    ],
    [`{"alg":"ES256","deep":${nested(limits.jwtDepthMax)}}`, payload, 'header of the token is nested deeper'],
  ]
  for (const [first, second, expected] of table) {
    const read = readSubjectToken(`${encode(first)}.${encode(second)}.AAAA`)
    const actual = read.ok ? 'ok' : read.reason
    assert.ok(
      expected === 'ok' ? actual === 'ok' : actual.includes(expected),
      `${first} ${second.slice(0, 300)}: ${actual}`,
    )
  }
})
