import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { decodeJwt } from 'jose'
import { call } from '../support/api/rest.ts'
import { bindRole, createIdentity } from '../support/api/tenant.ts'
import { databases } from '../support/database/databases.ts'
import { cleanups } from '../support/server/process.ts'
import { startTestBerth, type TestBerth } from '../support/server/test-berth.ts'
import {
  type AwsKey,
  type AwsSts,
  type AwsTokenOptions,
  awsKeys,
  awsToken,
  startAwsSts,
} from '../support/tokens/aws-sts.ts'
import { exchange, statusOf } from '../support/tokens/exchange.ts'

/** Identities of AWS, against a service that checks signatures as AWS does, in a process of its own. */

const MINUTE_MS = 60_000
const role = {
  awsAccount: awsKeys.role.account,
  arnPattern: '^arn:aws:sts::123456789012:assumed-role/deploy/(.+)$',
  userIdPattern: '^AROAEXAMPLE:(.+)$',
}
const user = { awsAccount: awsKeys.user.account, arn: awsKeys.user.arn, userId: awsKeys.user.userId }

for (const database of databases) {
  describe(`exchange of AWS identities on ${database.name}`, () => {
    const suite = cleanups()
    let sts: AwsSts
    let berth: TestBerth
    let identity: string
    const identityOf = (awsIdentity: object) => createIdentity(berth, berth.organization, { awsIdentity })
    const shown = (token: string, uid = identity) =>
      exchange(berth.url, token, { aud: berth.url, identity: uid })
    const signed = (options?: AwsTokenOptions, uid = identity) => awsToken(berth.url, uid, options)

    before(async () => {
      sts = await startAwsSts(suite)
      berth = await startTestBerth(database, { env: { BERTH_AWS_STS_ENDPOINT: sts.url } })
      identity = await identityOf(role)
      await bindRole(berth, berth.organization, identity, 'viewer')
    })
    after(async () => {
      await berth.stop()
      await suite.run()
    })

    test('a signed request is exchanged, in either alphabet and with or without padding', async () => {
      for (const encoding of ['base64', 'base64url'] as const) {
        // Of each length, so that there is padding of each.
        for (const extra of ['', 'x', 'xx']) {
          const token = signed({ encoding, headers: { 'X-Extra': `?>~${extra}` } })
          for (const text of [token, token.replace(/=+$/, '')]) {
            const reply = await shown(text)
            assert.equal(reply.status, 200, reply.text)
            const groups = await call('GET', `${berth.url}/iam/v2beta1/groups`, { token: reply.body.token })
            assert.equal(groups.status, 200)
          }
        }
      }
    })

    test('the token names the signer', async () => {
      const { body } = await shown(signed())
      const claims = decodeJwt(body.token)
      assert.equal(claims.sub, identity)
      assert.deepEqual(claims['act'], { iss: sts.url, sub: awsKeys.role.arn, aud: berth.url })
      assert.equal((claims.exp ?? 0) - (claims.iat ?? 0), 3600)
    })

    test('only the signed headers are forwarded to AWS', async () => {
      const from = sts.requests.length
      await shown(signed())
      const { headers, body, target } = sts.requests[from] ?? assert.fail('AWS was not asked')
      assert.equal(target, '/?Action=GetCallerIdentity&Version=2011-06-15')
      assert.equal(body, '')
      const names = headers.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase())
      assert.deepEqual(names.sort(), [
        'accept',
        'accept-encoding',
        'authorization',
        'chainguard-audience',
        'chainguard-identity',
        'connection',
        'content-length',
        'host',
        'user-agent',
        'x-amz-date',
        'x-amz-security-token',
      ])
      assert.equal(sts.requests.length, from + 1)
    })

    test('account, ARN and user id must all be those of the identity', async () => {
      const table: readonly [string, object, AwsKey, string][] = [
        ['role by patterns', role, awsKeys.role, 'ok'],
        ['user by exact values', user, awsKeys.user, 'ok'],
        ['another account', role, awsKeys.stranger, '403/7'],
        ['another principal of the account', role, awsKeys.user, '403/7'],
        ['another ARN', { ...user, arn: `${user.arn}a` }, awsKeys.user, '403/7'],
        ['another user id', { ...user, userId: 'AIDAOTHER' }, awsKeys.user, '403/7'],
        [
          'R4: an ARN pattern on a part',
          { ...role, arnPattern: 'arn:aws:sts::123456789012:assumed-role/deploy' },
          awsKeys.role,
          '403/7',
        ],
        ['R4: a user id pattern on a part', { ...role, userIdPattern: 'AROAEXAMPLE' }, awsKeys.role, '403/7'],
        [
          'R4: an anchored alternative',
          { ...role, arnPattern: 'x|arn:aws:sts::123456789012' },
          awsKeys.role,
          '403/7',
        ],
        [
          'a role made anew under its name',
          { ...role, userIdPattern: '^AROANEW:(.+)$' },
          awsKeys.role,
          '403/7',
        ],
      ]
      const denials = new Set<string>()
      for (const [name, awsIdentity, key, expected] of table) {
        const uid = await identityOf(awsIdentity)
        const reply = await shown(signed({ key }, uid), uid)
        assert.equal(statusOf(reply), expected, name)
        if (reply.status !== 200) denials.add(reply.text)
      }
      const missing = `${berth.organization}/${'0'.repeat(16)}`
      denials.add((await shown(signed({}, missing), missing)).text)
      assert.equal(denials.size, 1, 'one answer for an identity that does not fit and one that is not there')
    })

    const header = (name: string, value: string | undefined): AwsTokenOptions => ({
      headers: { [name]: value },
    })
    const altered = (from: string | RegExp, to: string): AwsTokenOptions => ({
      change: (request) => {
        const changed = request.replace(from, to)
        assert.notEqual(changed, request)
        return changed
      },
    })
    /** What is wrong, and words of the message that says so. None of these is sent on to AWS. */
    const refused: readonly [string, AwsTokenOptions | string, RegExp][] = [
      ['no base64', 'no~base64', /neither a signed JWT nor a signed request/],
      ['no request', Buffer.from('hello').toString('base64'), /neither a signed JWT nor a signed request/],
      ['both alphabets mixed', '+-_/', /neither a signed JWT/],
      ['no version', altered(' HTTP/1.1', ''), /not a valid HTTP/],
      ['another version', altered('HTTP/1.1', 'HTTP/1.0'), /not a valid HTTP/],
      ['no empty line at the end', altered(/\r\n\r\n$/, '\r\n'), /not a valid HTTP/],
      ['a body', altered(/$/, 'Action=AssumeRole'), /not a valid HTTP/],
      ['a second request', altered(/$/, 'GET / HTTP/1.1\r\n\r\n'), /not a valid HTTP/],
      [
        'a bare line feed',
        altered('Accept: application/json\r\n', 'Accept: application/json\n'),
        /not a valid HTTP/,
      ],
      ['a bare carriage return', altered('application/json\r\n', 'application/json\r'), /not a valid HTTP/],
      ['a folded header', altered('Accept: ', 'Accept:\r\n '), /not a valid HTTP/],
      ['a blank before the colon', altered('Accept: ', 'Accept : '), /not a valid HTTP/],
      ['a header without a name', altered('Accept: ', ': '), /not a valid HTTP/],
      ['a NUL', altered('Accept: ', 'Accept: \0'), /not a valid HTTP/],
      ['a letter outside ASCII', altered('Accept: ', 'Accept: é'), /not a valid HTTP/],
      [
        'too many headers',
        altered('Accept: ', `${Array.from({ length: 41 }, (_, n) => `X-${n}: y\r\n`).join('')}Accept: `),
        /not a valid HTTP/,
      ],
      ['two Authorization headers', altered('Accept: ', 'Authorization: x\r\nAccept: '), /not a valid HTTP/],
      [
        'two X-Amz-Date headers',
        altered('Accept: ', 'x-amz-date: 20260101T000000Z\r\nAccept: '),
        /not a valid HTTP/,
      ],
      ['two audience headers', altered('Accept: ', 'chainguard-audience: x\r\nAccept: '), /not a valid HTTP/],
      ['two identity headers', altered('Accept: ', 'CHAINGUARD-IDENTITY: x\r\nAccept: '), /not a valid HTTP/],
      ['two hosts', altered('Accept: ', 'host: x\r\nAccept: '), /not a valid HTTP/],
      ['GET', { method: 'GET' }, /is not a POST/],
      ['another host', header('Host', 'sts.example.com'), /another host/],
      ['a host with a port', header('Host', '127.0.0.1:443'), /another host/],
      ['a host in capitals', header('Host', 'LOCALHOST'), /another host/],
      ['no host', header('Host', undefined), /another host/],
      [
        'another action',
        { target: '/?Action=AssumeRole&Version=2011-06-15' },
        /not one for GetCallerIdentity/,
      ],
      [
        'an action more',
        { target: '/?Action=GetCallerIdentity&Version=2011-06-15&Action=AssumeRole' },
        /not one for/,
      ],
      ['another path', { target: '/x?Action=GetCallerIdentity&Version=2011-06-15' }, /not one for/],
      [
        'another server as the path',
        { target: '//evil.example/?Action=GetCallerIdentity&Version=2011-06-15' },
        /not one for/,
      ],
      ['a body announced', header('Content-Length', '5'), /a header that is not allowed/],
      ['a chunked body announced', header('Transfer-Encoding', 'chunked'), /a header that is not allowed/],
      ['an upgrade', header('Upgrade', 'h2c'), /a header that is not allowed/],
      ['audience not signed', { unsigned: ['Chainguard-Audience'] }, /does not cover/],
      ['identity not signed', { unsigned: ['Chainguard-Identity'] }, /does not cover/],
      ['host left out of the signature', altered('host;', ''), /does not cover/],
      ['date left out of the signature', altered(';x-amz-date', ''), /does not cover/],
      ['no Authorization', altered(/Authorization: .*\r\n/, ''), /does not cover/],
      [
        'two lists of signed headers',
        altered('SignedHeaders=', 'SignedHeaders=a;b, SignedHeaders='),
        /does not cover/,
      ],
      ['another kind of Authorization', altered('AWS4-HMAC-SHA256', 'Bearer'), /does not cover/],
      ['no audience', header('Chainguard-Audience', undefined), /does not cover/],
      ['a user agent signed', altered('SignedHeaders=', 'SignedHeaders=user-agent;'), /are not forwarded/],
      ['another audience', header('Chainguard-Audience', 'https://elsewhere.example'), /another audience/],
      ['the audience and more', header('Chainguard-Audience', 'http://127.0.0.1:1, x'), /another audience/],
      ['another identity', header('Chainguard-Identity', 'x'), /names another identity/],
      ['expired', { ageMs: 15 * MINUTE_MS + 2000 }, /older than 15 minutes/],
      ['of the future', { ageMs: -6 * MINUTE_MS }, /dated in the future/],
      ['no date', header('X-Amz-Date', 'yesterday'), /no date/],
      ['a day that does not exist', header('X-Amz-Date', '20260231T000000Z'), /no date/],
    ]
    test(`${refused.length} requests are rejected with the reason, and are not forwarded`, async () => {
      const from = sts.requests.length
      for (const [name, options, message] of refused) {
        const reply = await shown(typeof options === 'string' ? options : signed(options))
        assert.equal(statusOf(reply), '401/16', `${name}: ${reply.text}`)
        assert.match(reply.body.message, message, name)
      }
      assert.equal(sts.requests.length, from)
    })

    test('the audience can be the address or the host, and spaces in it are normalized', async () => {
      const { host } = new URL(berth.url)
      for (const audience of [berth.url, host, `  ${host}  `]) {
        assert.equal(statusOf(await shown(awsToken(audience, identity))), 'ok', audience)
      }
    })

    test('R14: a request is valid for 15 minutes, and can be reused until then', async () => {
      for (const ageMs of [14 * MINUTE_MS, -4 * MINUTE_MS]) {
        const token = signed({ ageMs })
        assert.deepEqual([statusOf(await shown(token)), statusOf(await shown(token))], ['ok', 'ok'])
      }
    })

    test('a signature that AWS does not accept is rejected', async () => {
      const wrong = { ...awsKeys.role, secretAccessKey: 'a guess' }
      const unknown = { ...awsKeys.role, accessKeyId: 'ASIANOBODY' }
      const stale = { ...awsKeys.role, sessionToken: 'of another session' }
      for (const [name, options] of Object.entries<AwsTokenOptions>({
        'wrong secret': { key: wrong },
        'unknown key': { key: unknown },
        'another session': { key: stale },
        'another service': { service: 'iam' },
        'a header changed afterwards': altered('Accept: application/json', 'Accept: */*'),
        'signature changed': altered(/Signature=./, 'Signature=g'),
      })) {
        const reply = await shown(signed(options))
        assert.equal(statusOf(reply), '401/16', `${name}: ${reply.text}`)
        assert.match(reply.body.message, /AWS rejected the signed request/)
      }
    })

    test('AWS tokens assume no other identity, and other tokens no AWS identity', async () => {
      const claimMatch = { issuer: 'https://ci.example.com', subject: 'x' }
      const other = await createIdentity(berth, berth.organization, { claimMatch })
      const service = await createIdentity(berth, berth.organization, {
        servicePrincipal: 'SERVICE_PRINCIPAL_INGESTER',
      })
      const from = sts.requests.length
      for (const uid of [other, service, berth.owner])
        assert.equal(statusOf(await shown(signed({}, uid), uid)), '403/7')
      assert.equal(statusOf(await shown(berth.token)), '403/7')
      assert.equal(statusOf(await shown(berth.token, service)), '403/7')
      const unnamed = await exchange(berth.url, signed(), { aud: berth.url })
      assert.equal(statusOf(unnamed), '401/16')
      assert.equal(sts.requests.length, from)
    })

    test('R3, R15: a service that fails makes the exchange unavailable, and any other response is rejected', async () => {
      for (const [how, expected] of [
        [429, '503/14'],
        [500, '503/14'],
        [503, '503/14'],
        ['throttling', '503/14'],
        ['broken', '503/14'],
        ['redirect', '503/14'],
        ['endless', '503/14'],
        [400, '401/16'],
        [403, '401/16'],
        ['no JSON', '401/16'],
        ['no caller', '401/16'],
      ] as const) {
        await sts.answer(how)
        const reply = await shown(signed())
        assert.equal(statusOf(reply), expected, String(how))
        assert.doesNotMatch(reply.text, new RegExp(`mark-of-aws|${new URL(sts.url).port}`))
      }
      await sts.answer('properly')
      assert.equal(statusOf(await shown(signed())), 'ok')
    })
  })
}

test('R15: a request to AWS that gets no response times out', async (t) => {
  const sts = await startAwsSts(t)
  const berth = await startTestBerth(
    { name: 'sqlite', open: undefined },
    { env: { BERTH_AWS_STS_ENDPOINT: sts.url } },
  )
  t.after(() => berth.stop())
  const identity = await createIdentity(berth, berth.organization, { awsIdentity: role })
  await sts.answer('never')
  const reply = await exchange(berth.url, awsToken(berth.url, identity), { aud: berth.url, identity })
  assert.equal(statusOf(reply), '503/14')
})

test('R2: an address of AWS in a network that is not allowed is not fetched', async (t) => {
  const sts = await startAwsSts(t)
  const berth = await startTestBerth(
    { name: 'sqlite', open: undefined },
    { env: { BERTH_AWS_STS_ENDPOINT: sts.url, BERTH_ISSUER_PRIVATE_NETWORKS: '127.0.0.2/32' } },
  )
  t.after(() => berth.stop())
  const identity = await createIdentity(berth, berth.organization, { awsIdentity: role })
  const reply = await exchange(berth.url, awsToken(berth.url, identity), { aud: berth.url, identity })
  assert.equal(statusOf(reply), '503/14')
  assert.deepEqual(sts.requests, [])
})
