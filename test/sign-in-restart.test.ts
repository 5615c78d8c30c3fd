import assert from 'node:assert/strict'
import { test } from 'node:test'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import { readConfig } from '@berth/server/installation/config.ts'
import { openInstallation } from '@berth/server/installation/installation.ts'
import type { Berth } from '@berth/server/main.ts'
import { freePort } from '../scripts/free-port.ts'
import { createSignedInBrowser } from './support/browser/web-browser.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import {
  type Cleanup,
  runBerth,
  type Serving,
  serveBerth,
  temporaryDirectory,
} from './support/server/process.ts'
import { createPerson } from './support/signin/accounts.ts'
import { fetchHeadlessToken, newClient } from './support/signin/headless.ts'
import { startInvite } from './support/signin/invites.ts'
import {
  claimsOf,
  codeFlow,
  postForm,
  submitConsent,
  type TokenReply,
  tokenRequest,
  withQuery,
} from './support/signin/oauth.ts'

test('R16: on SQLite every flow continues after the server was killed at any step', (t) =>
  throughRestarts(t, { BERTH_DATA_DIR: temporaryDirectory(t) }))

test('R16: on PostgreSQL every flow continues after the server was killed at any step', {
  skip: withoutPostgres,
}, async (t) => {
  const { url } = await startPostgres(t)
  await throughRestarts(t, { BERTH_DATA_DIR: temporaryDirectory(t), BERTH_DATABASE_URL: url })
})

/** All flows side by side; the server is killed between any two of their steps. */
async function throughRestarts(t: Cleanup, env: Readonly<Record<string, string>>): Promise<void> {
  const settings = { ...env, BERTH_LISTEN: `127.0.0.1:${await freePort()}`, BERTH_LOG_LEVEL: 'error' }
  let server: Serving | undefined
  const restart = async () => {
    server?.child.kill('SIGKILL')
    await server?.finished
    server = await serveBerth(t, settings)
    return server.url
  }
  const url = await restart()
  const operator = (await runBerth(t, ['admin', 'token'], settings)).stdout
  const { organization } = JSON.parse((await runBerth(t, ['admin', 'bootstrap', '--json'], settings)).stdout)
  const api = async (path: string, bearer: string, body?: object) => {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const invite = await api(`/iam/v2beta1/groupInvites/${organization.uid}`, operator, {
    roleUid: managedRoleByName.get('viewer')?.uid,
    ttl: '3600s',
  })
  assert.equal(invite.status, 200, JSON.stringify(invite.body))

  // A signed-in user: signing in has its own tests.
  const read = readConfig(settings)
  assert.ok('config' in read)
  const installation = await openInstallation(read.config, quiet, {})
  const past = { url, berth: { installation, addresses: { baseUrl: url } } as unknown as Berth }
  const identity = await createPerson(past, { email: 'ada@example.com' })
  const browser = await createSignedInBrowser(past, identity)
  await installation.close()

  // What the clients begin.
  await restart()
  const flow = codeFlow()
  const headless = newClient()
  const code = await browser.open(withQuery('/oauth/authorize', flow.parameters))
  const loopback = await browser.open(
    withQuery('/oauth', { redirect: 'http://localhost:49152/callback?token=true&error=true' }),
  )
  const headlessPage = await browser.open(`/oauth?headless_code=${headless.code}`)
  const device = (await postForm(url, '/oauth/device_authorization', { client_id: 'berth-cli' })).body
  const join = await startInvite(browser, invite.body['code'] as string)

  await restart()
  const devicePage = await browser.submit(
    await browser.open('/device'),
    { user_code: device['user_code'] as string },
    -1,
  )

  // The consents.
  await restart()
  const answer = (await submitConsent(browser, code)).redirectedTo
  const token = (await submitConsent(browser, loopback)).redirectedTo?.searchParams.get('token')
  assert.match((await submitConsent(browser, headlessPage)).text, /You are signed in/)
  assert.match((await submitConsent(browser, devicePage)).text, /Device connected/)
  assert.match((await submitConsent(browser, join)).text, /Welcome to/)

  // The answers.
  await restart()
  const redeem = () =>
    postForm(url, '/oauth/token', tokenRequest(flow, answer?.searchParams.get('code') ?? ''))
  const poll = () =>
    postForm(url, '/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'berth-cli',
      device_code: device['device_code'] as string,
    })
  const [byCode, byDevice] = [await redeem(), await poll()]
  for (const { status, body } of [byCode, byDevice]) assert.equal(status, 200, JSON.stringify(body))
  const mine = await api('/iam/v2beta1/groups', token ?? '')
  assert.ok(JSON.stringify(mine.body).includes(organization.uid), 'the role of the invite counts')

  // Nothing is good twice, also not for a server that was not there the first time.
  await restart()
  const renewed = await refresh(url, byDevice)
  assert.equal(renewed.status, 200, JSON.stringify(renewed.body))
  assert.equal((await redeem()).body.error, 'invalid_grant')
  assert.equal((await poll()).body.error, 'invalid_grant')
  assert.equal((await api('/iam/v2beta1/groups', byCode.body.access_token ?? '')).status, 401)
  for (const page of [code, loopback, headlessPage, devicePage, join])
    assert.equal((await submitConsent(browser, page)).status, 404)

  await restart()
  assert.equal((await refresh(url, byDevice)).body.error, 'invalid_grant')
  assert.equal((await refresh(url, renewed)).body.error, 'invalid_grant', 'the second use ended the session')
  const result = await fetchHeadlessToken(url, headless.code)
  assert.equal(result && claimsOf(headless.open(result))['sub'], identity)
}

const quiet = { error() {}, warn() {}, info() {}, debug() {} }

function refresh(url: string, { body }: TokenReply): Promise<TokenReply> {
  return postForm(url, '/oauth/token', {
    grant_type: 'refresh_token',
    client_id: 'berth-cli',
    refresh_token: body.refresh_token,
  })
}
