import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  AccountAssociation_AmazonSchema,
  AccountAssociation_AzureSchema,
  AccountAssociation_GoogleSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/account_associations_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import type { ProbeResult } from '@berth/server/iam/cloud/probe.ts'
import { cloudProbes } from '@berth/server/iam/cloud/probes.ts'
import { createOutbound, type OutboundOptions } from '@berth/server/runtime/outbound/outbound.ts'
import { create } from '@bufbuild/protobuf'
import { freePort } from '../scripts/free-port.ts'
import { cloudAccounts, startClouds } from './support/tokens/clouds.ts'
import type { Responder } from './support/tokens/issuer.ts'

/** What a probe makes of everything that a provider can answer, and of one that does not. */

const loopback = ['127.0.0.0/8']
const quick = { ...limits, outboundTimeoutMs: 150 }
const GROUP = `${'a'.repeat(40)}/${'b'.repeat(16)}`

/** The three checks against one address. */
function checksAt(t: TestContext, url: string, options: Partial<OutboundOptions> = {}, names = {}) {
  const outbound = createOutbound({ privateNetworks: loopback, ...options })
  t.after(() => outbound.close())
  const issued: string[][] = []
  const tokens = {
    issue: async (group: string, audience: string) => {
      issued.push([group, audience])
      return 'secret-token'
    },
  }
  const probes = cloudProbes(
    { outbound, tokens },
    {
      awsStsEndpoint: url,
      googleStsEndpoint: url,
      azureLoginEndpoint: url,
      awsRole: 'berth',
      googlePool: 'berth',
      googleProvider: 'berth',
      ...names,
    },
  )
  const call = (signal?: AbortSignal) => ({ group: GROUP, signal })
  const { amazon, google, azure } = cloudAccounts
  return {
    issued,
    checks: {
      amazon: (signal?: AbortSignal) =>
        probes.amazon.check(create(AccountAssociation_AmazonSchema, amazon), call(signal)),
      google: (signal?: AbortSignal, project: { projectId: string; projectNumber: string } = google) =>
        probes.google.check(create(AccountAssociation_GoogleSchema, project), call(signal)),
      azure: (
        signal?: AbortSignal,
        tenant: { tenantId: string; clientIds: Record<string, string> } = azure,
      ) => probes.azure.check(create(AccountAssociation_AzureSchema, tenant), call(signal)),
    },
  }
}

async function cloudsFor(t: TestContext) {
  const clouds = await startClouds()
  t.after(() => clouds.stop())
  return clouds
}

/** Nothing that a provider wrote, nor what it was asked with, is in a result. */
function assertNotReady(result: ProbeResult, reason: string, what: string): void {
  assert.deepEqual([result.ready, result.reason], [false, reason], `${what}: ${result.message}`)
  assert.doesNotMatch(JSON.stringify(result), /mark|127\.|secret-token/, what)
  assert.notEqual(result.message, '')
}

const reply =
  (status: number, body: string | Buffer, headers: Record<string, string> = {}): Responder =>
  (_request, response) =>
    response.writeHead(status, headers).end(body)

test('R3: whatever a provider answers, the result says it in words of ours', async (t) => {
  const clouds = await cloudsFor(t)
  const { checks } = checksAt(t, clouds.url)
  const json = (value: unknown) => JSON.stringify(value)
  const answers: [reason: string, Responder][] = [
    ['unexpected answer', reply(200, '')],
    ['unexpected answer', reply(200, 'mark')],
    ['unexpected answer', reply(200, '[]')],
    ['unexpected answer', reply(200, '{"access_token":""}')],
    ['unexpected answer', reply(200, '{"access_token":["mark"]}')],
    ['unexpected answer', reply(200, '<AccessKeyId>mark</AccessKeyId>')],
    ['unexpected answer', reply(200, Buffer.from([0x22, 0xff, 0x22]))],
    [
      'unexpected answer',
      reply(200, gzipSync(json({ access_token: 'mark' })), { 'content-encoding': 'gzip' }),
    ],
    ['unexpected answer', reply(200, 'a'.repeat(limits.outboundBodyBytesMax + 1))],
    ['unexpected answer', reply(400, 'a'.repeat(limits.outboundBodyBytesMax + 1))],
    ['unexpected answer', reply(204, '')],
    ['unexpected answer', reply(404, 'mark', { mark: 'mark' })],
    ['unexpected answer', reply(400, '{"mark":"mark"}')],
    ['unreachable', reply(429, 'mark')],
    ['unreachable', reply(500, json({ access_token: 'mark' }))],
    ['unreachable', reply(503, 'mark')],
    ['unreachable', (request) => request.socket.destroy()],
    ['unreachable', (request) => request.socket.end('mark mark mark\r\n\r\n')],
  ]
  for (const [at, [reason, answer]] of answers.entries()) {
    clouds.answer = answer
    for (const [provider, check] of Object.entries(checks))
      assertNotReady(await check(), reason, `${provider} ${at}`)
  }
})

test('the errors that providers document are distinguished', async (t) => {
  const clouds = await cloudsFor(t)
  const { checks } = checksAt(t, clouds.url)
  const refused = 'refused by the provider'
  const cases: [keyof typeof checks, answer: string | object, reason: string, message: RegExp][] = [
    ['amazon', 'AccessDenied', refused, /role berth .*trust policy/],
    ['amazon', 'InvalidIdentityToken', refused, /identity provider .*sts\.amazonaws\.com/],
    ['amazon', 'IDPCommunicationError', refused, /cannot reach/],
    ['amazon', 'IDPRejectedClaim', refused, /clock/],
    ['amazon', 'ExpiredTokenException', refused, /clock/],
    ['amazon', 'MalformedPolicyDocument', refused, /does not show/],
    ['amazon', 'Throttling', 'unreachable', /try again/],
    ['google', { error: 'invalid_target' }, refused, /no workload identity provider berth\/berth/],
    ['google', { error: 'invalid_grant', error_description: 'mark' }, refused, /issuer and audience/],
    ['google', { error: 'unauthorized_client' }, refused, /attribute condition/],
    ['google', { error: { code: 403, message: 'mark' } }, refused, /does not show/],
    ['azure', { error: 'x', error_codes: [90002] }, refused, /no such tenant/],
    ['azure', { error: 'x', error_codes: [700016] }, refused, /no application/],
    ['azure', { error: 'x', error_codes: [1, 700213] }, refused, /federated credential/],
    ['azure', { error: 'x', error_codes: [700024] }, refused, /clock/],
    ['azure', { error: 'mark', error_codes: 'mark' }, refused, /does not show/],
    ['azure', { error: ['mark'] }, 'unexpected answer', /neither/],
  ]
  for (const [provider, error, reason, message] of cases) {
    clouds.answer =
      typeof error === 'string'
        ? reply(
            400,
            `<ErrorResponse><Error><Code>${error}</Code><Message>mark</Message></Error></ErrorResponse>`,
          )
        : reply(400, JSON.stringify(error))
    const result = await checks[provider]()
    assertNotReady(result, reason, JSON.stringify(error))
    assert.match(result.message, message)
  }
})

test('each exchange is the one that the provider publishes', async (t) => {
  const clouds = await cloudsFor(t)
  clouds.answer = reply(500, '')
  const { checks, issued } = checksAt(t, clouds.url, {}, { awsRole: 'path/other', googlePool: 'pool' })
  for (const check of Object.values(checks)) await check()
  const resource =
    '//iam.googleapis.com/projects/4711/locations/global/workloadIdentityPools/pool/providers/berth'
  assert.deepEqual(issued, [
    [GROUP, 'sts.amazonaws.com'],
    [GROUP, `https:${resource}`],
    [GROUP, 'api://AzureADTokenExchange'],
  ])
  const asked = clouds.requests.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  const azure = (client_id: string) => ({
    path: '/acme.example/oauth2/v2.0/token',
    form: {
      grant_type: 'client_credentials',
      client_id,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: 'secret-token',
      scope: 'https://management.azure.com/.default',
    },
  })
  assert.deepEqual(asked, [
    {
      path: '/',
      form: {
        Action: 'AssumeRoleWithWebIdentity',
        Version: '2011-06-15',
        RoleArn: 'arn:aws:iam::123456789012:role/path/other',
        RoleSessionName: 'berth-account-check',
        DurationSeconds: '900',
        WebIdentityToken: 'secret-token',
      },
    },
    azure('client-1'),
    azure('client-2'),
    {
      path: '/v1/token',
      form: {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        audience: resource,
        scope: 'https://www.googleapis.com/auth/cloud-platform',
        requested_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        subject_token: 'secret-token',
      },
    },
  ])
})

test('R15: a provider that is slow, or whose caller has gone, counts as unreachable', async (t) => {
  const clouds = await cloudsFor(t)
  const answers: Record<string, Responder> = {
    'no headers': () => {},
    'no body': (_request, response) => response.writeHead(200).flushHeaders(),
    'one byte at a time': (_request, response) => {
      const timer = setInterval(() => response.write('<'), 20)
      response.on('close', () => clearInterval(timer))
    },
  }
  const { checks } = checksAt(t, clouds.url, { limits: quick })
  for (const [name, answer] of Object.entries(answers)) {
    clouds.answer = answer
    for (const check of Object.values(checks)) assertNotReady(await check(), 'unreachable', name)
  }
  const gone = new AbortController()
  const patient = checksAt(t, clouds.url).checks
  const running = Object.values(patient).map((check) => check(gone.signal))
  gone.abort()
  for (const result of await Promise.all(running)) assertNotReady(result, 'unreachable', 'gone')
})

test('R2: a token is never sent on to where a redirect leads', async (t) => {
  const clouds = await cloudsFor(t)
  const elsewhere = await cloudsFor(t)
  const { checks } = checksAt(t, clouds.url)
  for (const status of [301, 302, 303, 307, 308]) {
    clouds.answer = reply(status, 'mark', { location: elsewhere.url })
    for (const check of Object.values(checks)) assertNotReady(await check(), 'unexpected answer', `${status}`)
  }
  assert.deepEqual(elsewhere.requests, [])
})

test('R2: an address in a private network is rejected unless the operator allows it', async (t) => {
  const clouds = await cloudsFor(t)
  for (const url of [clouds.url, clouds.url.replace('http:', 'https:'), 'http://8.8.8.8', 'http://[::1]:1']) {
    const { checks } = checksAt(t, url, { privateNetworks: [] })
    for (const check of Object.values(checks)) {
      const result = await check()
      assertNotReady(result, 'unreachable', url)
      assert.match(result.message, /is not allowed to connect/)
    }
  }
  const named = checksAt(t, 'http://cloud.example', { resolve: async () => ['10.0.0.1'] }).checks
  assertNotReady(await named.amazon(), 'unreachable', 'a name')
  assert.deepEqual(clouds.requests, [])
})

test('a provider that does not listen is one that cannot be reached', async (t) => {
  const { checks } = checksAt(t, `http://127.0.0.1:${await freePort()}`)
  for (const check of Object.values(checks)) assertNotReady(await check(), 'unreachable', 'closed')
})

test('values that would redirect a request are detected before it is sent', async (t) => {
  const clouds = await cloudsFor(t)
  const { checks, issued } = checksAt(t, clouds.url)
  for (const tenantId of ['..', '.', 'a/b', 'a?b', 'a#b', '%2e%2e', 'a..b', '', '-/../v1', 'ä'])
    assertNotReady(
      await checks.azure(undefined, { ...cloudAccounts.azure, tenantId }),
      'not configured',
      tenantId,
    )
  for (const projectNumber of ['1/../2', 'acme', '', ' 1', '1'.repeat(21)])
    assertNotReady(
      await checks.google(undefined, { ...cloudAccounts.google, projectNumber }),
      'not configured',
      projectNumber,
    )
  assert.deepEqual([issued, clouds.requests], [[], []])
})
