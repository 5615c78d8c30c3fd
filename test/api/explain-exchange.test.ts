import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExplainService } from '@berth/contract/gen/berth/sts/v1/explain_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  assertError,
  invalidFieldError,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { createIdentity } from '../support/api/tenant.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import { createPerson } from '../support/signin/accounts.ts'
import { awsKeys, awsToken, startAwsSts } from '../support/tokens/aws-sts.ts'
import { exchange, statusOf } from '../support/tokens/exchange.ts'
import {
  newSigner,
  SUBJECT,
  signJws,
  startIssuer,
  type TestIssuer,
  unsignedJws,
} from '../support/tokens/issuer.ts'

/** Why a token can assume an identity, or cannot. */

interface Condition {
  readonly name: string
  readonly outcome: string
  readonly expected: string
  readonly actual: string
  readonly hint: string
}

async function explain(
  { url, token: owner }: TestBerth,
  identity: string,
  token: string,
  more: object = {},
): Promise<{ accepted: boolean; conditions: Condition[] }> {
  const reply = await call('POST', `${url}/iam/v2beta1/identities/${identity}:explainExchange`, {
    token: owner,
    body: { token, ...more },
  })
  assert.equal(reply.status, 200, reply.text)
  return reply.body
}

/** `form ok, issuer FAILED, key ?`: each condition and its outcome. */
function outcomes({ conditions }: { conditions: Condition[] }): string {
  const marks: Record<string, string> = { OUTCOME_OK: 'ok', OUTCOME_FAILED: 'FAILED', OUTCOME_UNKNOWN: '?' }
  return conditions.map(({ name, outcome }) => `${name} ${marks[outcome]}`).join(', ')
}

const failedOf = ({ conditions }: { conditions: Condition[] }) =>
  conditions.filter(({ outcome }) => outcome !== 'OUTCOME_OK')

const claimMatch = (issuer: TestIssuer, more: object = {}) => ({
  claimMatch: { issuer: issuer.name, subject: SUBJECT, ...more },
})

const ALL =
  'form ok, exists ok, relationship ok, issuer ok, time ok, key ok, signature ok, age ok, subject ok, audience ok'

onEveryDatabase('explaining an exchange', (cast) => {
  test('a matching token is accepted, condition by condition in the order of the exchange', async (t) => {
    const { berth } = cast()
    const issuer = await startIssuer(t)
    const identity = await createIdentity(
      berth,
      berth.organization,
      claimMatch(issuer, { claims: { ref: 'main' }, claimPatterns: { run: '[0-9]+' } }),
    )
    const token = await issuer.sign({ aud: berth.url, ref: 'main', run: 7 })
    const explained = await explain(berth, identity, `${token}\n`)
    assert.equal(explained.accepted, true)
    assert.equal(outcomes(explained), `${ALL}, claims.ref ok, claims.run ok`)
    const [, , , , , , , , subject, , , run] = explained.conditions
    assert.deepEqual(subject, {
      name: 'subject',
      outcome: 'OUTCOME_OK',
      expected: SUBJECT,
      actual: SUBJECT,
      hint: '',
    })
    assert.deepEqual([run?.expected, run?.actual], ['pattern [0-9]+', '7'])
  })

  test('it returns no token, and stores nothing', async (t) => {
    const { berth, writesNothing } = cast()
    const issuer = await startIssuer(t)
    const identity = await createIdentity(berth, berth.organization, claimMatch(issuer))
    const token = await issuer.sign({ aud: berth.url })
    await writesNothing(async () => {
      assert.equal((await explain(berth, identity, token)).accepted, true)
      await explain(berth, identity, 'x')
    })
  })

  test('each failed condition is shown with the expected value, the actual value and a hint', async (t) => {
    const { berth } = cast()
    const issuer = await startIssuer(t)
    const foreign = newSigner('k1')
    const now = Math.floor(Date.now() / 1000)
    const own = (claims: object = {}) => issuer.sign({ aud: berth.url, ...claims })
    const claims = { iss: issuer.name, sub: SUBJECT, aud: berth.url, iat: now, exp: now + 60 }
    /** The conditions of the identity, the token, the names of failed or unknown conditions, and the first hint. */
    const table: readonly [string, object, string, string, RegExp][] = [
      ['no JWT', {}, 'x', 'form', /neither a signed JWT nor a signed request/],
      ['no signature', {}, unsignedJws({ alg: 'none' }, claims), 'form', /supported algorithm/],
      ['no expiry', {}, await own({ exp: undefined }), 'form', /no expiry/],
      ['expired', {}, await own({ iat: now - 600, exp: now - 60 }), 'time', /has expired; get a new token/],
      ['of the future', {}, await own({ iat: now + 600, exp: now + 900 }), 'time', /compare the clocks/],
      ['old', {}, await own({ iat: now - 25 * 3600 }), 'age', /get a new token/],
      [
        'unknown key',
        {},
        await issuer.sign({ aud: berth.url }, { kid: 'k9' }),
        'key,signature',
        /does not publish/,
      ],
      ['another key', {}, await signJws(claims, foreign.privateKey, { kid: 'k1' }), 'signature', /^$/],
      ['another issuer', { issuer: 'https://ci.example.com' }, await own(), 'issuer,key,signature', /^$/],
      [
        'issuer with a slash',
        { issuer: `${issuer.name}/` },
        await own(),
        'issuer,key,signature',
        /trailing slash/,
      ],
      [
        'issuer pattern that is not allowed',
        { issuer: undefined, issuerPattern: 'http://127\\.0\\.0\\.1:[0-9]+' },
        await own(),
        'issuer,key,signature',
        /BERTH_PATTERN_ISSUERS/,
      ],
      ['another subject', {}, await own({ sub: 'repo:acme/other:ref:refs/heads/main' }), 'subject', /^$/],
      [
        'a glob',
        { subject: undefined, subjectPattern: 'repo:acme/*' },
        await own(),
        'subject',
        /write \.\* instead: repo:acme\/\.\*/,
      ],
      [
        'a pattern on a part',
        { subject: undefined, subjectPattern: 'repo:acme' },
        await own(),
        'subject',
        /only a part/,
      ],
      [
        'a pattern as an exact value',
        { subject: 'repo:acme/.*' },
        await own(),
        'subject',
        /exact value, not a pattern/,
      ],
      [
        'the default audience',
        {},
        await own({ aud: 'https://other.example' }),
        'audience',
        /must be for this token service/,
      ],
      ['an audience of its own', { audience: 'berth' }, await own(), 'audience', /^$/],
      ['a claim that is missing', { claims: { ref: 'main' } }, await own(), 'claims.ref', /no such claim/],
      [
        'a claim that is a list',
        { claims: { ref: 'main' } },
        await own({ ref: ['main'] }),
        'claims.ref',
        /nothing can match/,
      ],
      [
        'several',
        { claims: { a: '1', b: '2' } },
        await own({ a: '1', sub: 'x', aud: 'y' }),
        'subject,audience,claims.b',
        /^$/,
      ],
    ]
    for (const [name, match, token, expected, hint] of table) {
      const identity = await createIdentity(berth, berth.organization, claimMatch(issuer, match))
      const explained = await explain(berth, identity, token)
      const failed = failedOf(explained)
      assert.equal(explained.accepted, false, name)
      assert.equal(failed.map((condition) => condition.name).join(), expected, name)
      assert.match(failed[0]?.hint ?? '', hint, name)
      // The exchange is of the same mind.
      const reply = await exchange(berth.url, token, { aud: berth.url, identity })
      assert.notEqual(reply.status, 200, name)
    }
    const sorts = {
      aud: berth.url,
      identity: await createIdentity(berth, berth.organization, claimMatch(issuer)),
    }
    assert.equal(statusOf(await exchange(berth.url, await own(), sorts)), 'ok')
  })

  test('R1: keys are fetched only from the issuer that the identity trusts', async (t) => {
    const { berth } = cast()
    const [trusted, stranger] = [await startIssuer(t), await startIssuer(t)]
    const identity = await createIdentity(berth, berth.organization, claimMatch(trusted))
    const explained = await explain(berth, identity, await stranger.sign({ aud: berth.url }))
    assert.equal(
      outcomes(explained),
      ALL.replace('issuer ok', 'issuer FAILED')
        .replace('key ok', 'key ?')
        .replace('signature ok', 'signature ?'),
    )
    assert.deepEqual([...trusted.requests, ...stranger.requests], [])
  })

  test('for other kinds of identities it says how they are assumed', async (t) => {
    const { berth } = cast()
    const issuer = await startIssuer(t)
    const token = await issuer.sign({ aud: berth.url })
    const aws = { awsAccount: '123456789012', arnPattern: '.*', userIdPattern: '.*' }
    for (const [relationship, expected] of [
      [{ awsIdentity: aws }, /a signed request to AWS/],
      [{ servicePrincipal: 'SERVICE_PRINCIPAL_INGESTER' }, /which cannot be used here/],
    ] as const) {
      const identity = await createIdentity(berth, berth.organization, relationship)
      const explained = await explain(berth, identity, token)
      assert.equal(outcomes(explained), 'form ok, exists ok, relationship FAILED')
      assert.match(explained.conditions[2]?.expected ?? '', expected)
    }
    const signer = newSigner('k')
    const staticKeys = {
      issuer: issuer.name,
      subject: SUBJECT,
      issuerKeys: JSON.stringify({ keys: [signer.jwk] }),
    }
    const identity = await createIdentity(berth, berth.organization, { staticKeys })
    assert.equal(
      outcomes(await explain(berth, identity, token)),
      ALL.replace('key ok', 'key FAILED')
        .replace('signature ok', 'signature ?')
        .replace('subject', 'keys_expiration ok, subject'),
    )
    assert.deepEqual(issuer.requests, [])
  })

  test('tokens of the server itself and of users are explained, too', async () => {
    const { berth } = cast()
    const token = await berth.tokenOf(berth.owner)
    const own = await explain(berth, berth.owner, token)
    assert.equal(own.accepted, true)
    assert.equal(
      outcomes(own),
      ALL.replace(
        'subject ok, audience ok',
        'platform_token ok, platform_audience ok, session ok, subject ok',
      ),
    )
    const person = await createPerson(berth, { issuer: 'https://login.example', subject: newName('ada') })
    assert.deepEqual(
      failedOf(await explain(berth, person, token)).map(({ name }) => name),
      ['issuer', 'key', 'signature', 'subject', 'audience'],
    )
    const none = await explain(berth, person, token, { identityProvider: berth.organization })
    assert.equal(outcomes(none), 'form ok, exists ok, relationship FAILED')
  })

  test('only callers who may read the identity get an explanation', async (t) => {
    const { berth, organization, grpc } = cast()
    const issuer = await startIssuer(t)
    const { uid, member } = await organization()
    const identity = await createIdentity(berth, uid, claimMatch(issuer))
    const path = `iam/identities/${identity}:explainExchange`
    const body = { token: await issuer.sign({ aud: berth.url }) }
    const viewer = await member('viewer')
    assert.equal((await viewer.api.post(path, body)).body.accepted, true)
    const asking = { identity, token: body.token }
    const reply = await grpc.call(ExplainService.method.explainExchange, asking as never, {
      token: viewer.api.token,
    })
    assert.equal(reply.accepted, true)
    const stranger = await (await organization()).member('owner')
    assertError(await stranger.api.post(path, body), permissionDeniedError)
    const anonymous = await call('POST', `${berth.url}/iam/v2beta1/identities/${identity}:explainExchange`, {
      body,
    })
    assertError(anonymous, { status: 401, code: 16 })
    const gone = `${uid}/${'0'.repeat(16)}`
    assertError(
      await viewer.api.post(`iam/identities/${gone}:explainExchange`, body),
      notFoundError('iam.chainguard.dev/Identity', gone),
    )
    assertError(await viewer.api.post(path, {}), invalidFieldError('token'))
    const long = { token: 'a'.repeat(limits.bearerTokenCharsMax + 1) }
    assertError(await viewer.api.post(path, long), invalidFieldError('token'))
    assertError(
      await viewer.api.post(path, { ...body, identityProvider: 'x' }),
      invalidFieldError('identityProvider'),
    )
  })
})

const sqlite = { name: 'sqlite', open: undefined } as const

test('R3, R15: a failing issuer is reported without its response or address', async (t) => {
  const berth = await startTestBerth(sqlite)
  t.after(() => berth.stop())
  const issuer = await startIssuer(t)
  const identity = await createIdentity(berth, berth.organization, claimMatch(issuer))
  issuer.answer = (_request, response) => response.writeHead(500, 'mark').end('mark')
  const { conditions, accepted } = await explain(berth, identity, await issuer.sign({ aud: berth.url }))
  assert.equal(accepted, false)
  const key = conditions.find(({ name }) => name === 'key')
  assert.equal(key?.outcome, 'OUTCOME_FAILED')
  assert.equal(key?.hint, 'the keys of the issuer could not be fetched')
  assert.doesNotMatch(JSON.stringify(key), new RegExp(`mark|${new URL(issuer.name).port}`))
})

test('a signed request to AWS is explained, and forwarded only if it may be', async (t) => {
  const sts = await startAwsSts(t)
  const berth = await startTestBerth(sqlite, { env: { BERTH_AWS_STS_ENDPOINT: sts.url } })
  t.after(() => berth.stop())
  const { account, arn, userId } = awsKeys.role
  const identity = await createIdentity(berth, berth.organization, {
    awsIdentity: { awsAccount: account, arn, userIdPattern: 'AROAEXAMPLE:*' },
  })
  const REQUEST =
    'form ok, method ok, host ok, action ok, headers ok, signed_headers ok, passed_headers ok, audience ok, identity ok, date ok, exists ok, relationship ok'
  const explained = await explain(berth, identity, awsToken(berth.url, identity))
  assert.equal(outcomes(explained), `${REQUEST}, caller ok, account ok, arn ok, user_id FAILED`)
  assert.deepEqual(failedOf(explained), [
    {
      name: 'user_id',
      outcome: 'OUTCOME_FAILED',
      expected: 'pattern AROAEXAMPLE:*',
      actual: userId,
      hint: '* repeats the item before it; for any text write .* instead: AROAEXAMPLE:.*',
    },
  ])
  const from = sts.requests.length
  const elsewhere = awsToken('https://elsewhere.example', identity, { target: '/admin' })
  assert.equal(
    outcomes(await explain(berth, identity, elsewhere)),
    `${REQUEST.replace('action ok', 'action FAILED').replace('audience ok', 'audience FAILED')}, caller ?, account ?, arn ?, user_id ?`,
  )
  assert.equal(sts.requests.length, from)
  await sts.answer(500)
  const down = failedOf(await explain(berth, identity, awsToken(berth.url, identity)))
  assert.equal(down[0]?.hint, 'try again in a minute')
})

test('an identity that no token can match is explained by what is stored', async (t) => {
  const sts = await startAwsSts(t)
  const berth = await startTestBerth(sqlite, { env: { BERTH_AWS_STS_ENDPOINT: sts.url } })
  t.after(() => berth.stop())
  const issuer = 'https://static.example'
  const withoutKeys = await createIdentity(berth, berth.organization, {
    staticKeys: { issuer, subject: SUBJECT, issuerKeys: 'bar' },
  })
  const { privateKey } = newSigner('k1')
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: issuer, sub: SUBJECT, aud: berth.url, iat: now, exp: now + 60 }
  const token = await signJws(claims, privateKey, { kid: 'k1' })
  const [key] = failedOf(await explain(berth, withoutKeys, token))
  assert.deepEqual(
    [key?.name, key?.hint],
    ['key', 'staticKeys.issuerKeys of the identity must be a JSON Web Key Set: it is not JSON'],
  )
  const refused = await exchange(berth.url, token, { aud: berth.url, identity: withoutKeys })
  assert.equal(statusOf(refused), '401/16')
  assert.doesNotMatch(refused.text, /JSON/)
  const { account, userId } = awsKeys.role
  const withoutArn = await createIdentity(berth, berth.organization, {
    awsIdentity: { awsAccount: account, arn: 'bar', userId },
  })
  const [arn] = failedOf(await explain(berth, withoutArn, awsToken(berth.url, withoutArn)))
  assert.equal(arn?.name, 'arn')
  assert.match(arn?.hint ?? '', /^awsIdentity\.arn of the identity must be an ARN such as /)
})

test('a token for the registry is accepted for the registry alone, and the audience must be one of this server', async (t) => {
  const own = await startTestBerth(sqlite, { env: { BERTH_REGISTRY_HOST: 'registry.test' } })
  t.after(() => own.stop())
  const issuer = await startIssuer(t)
  const identity = await createIdentity(own, own.organization, claimMatch(issuer))
  const token = await issuer.sign({ aud: 'registry.test' })
  assert.equal((await explain(own, identity, token, { audience: 'registry.test' })).accepted, true)
  const forApi = await explain(own, identity, token)
  assert.deepEqual(
    failedOf(forApi).map(({ name }) => name),
    ['audience'],
  )
  const reply = await call('POST', `${own.url}/iam/v2beta1/identities/${identity}:explainExchange`, {
    token: own.token,
    body: { token, audience: 'https://elsewhere.example' },
  })
  assertError(reply, invalidFieldError('audience'))
})
