import assert from 'node:assert/strict'
import { apiOf, managedRole, newName } from '../api/api-fixture.ts'
import { createResource } from '../api/tenant.ts'
import { confirm, createSignedInBrowser, webBrowser } from '../browser/web-browser.ts'
import {
  basicAuth,
  digest,
  hostOf,
  imageFromManifest,
  pushBlob,
  pushImage,
  putManifest,
  requestAt,
  testImage,
  types,
} from '../registry/registry.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { createPerson } from '../signin/accounts.ts'
import { openInvite, startInvite } from '../signin/invites.ts'
import { newLocalAccount, PASSWORD, passwordPath, sendForm, setPassword } from '../signin/local-accounts.ts'
import {
  authorizationCodeOf,
  CLIENT,
  codeFlow,
  postForm,
  submitConsent,
  tokenRequest,
  withQuery,
} from '../signin/oauth.ts'
import { UPSTREAM_CLIENT, type UpstreamProvider } from '../signin/upstream-provider.ts'
import type { Tenants } from './tenants.ts'

/** Calls of the routes besides the methods of the contract: the registry, OSV, feeds, exports, and the pages of the sign-in; and more of some methods. */

export type RouteCalls = Readonly<Record<string, () => Promise<unknown>>>

export async function createRouteCalls(
  berth: TestBerth,
  tenants: Tenants,
  upstream: UpstreamProvider,
): Promise<RouteCalls> {
  return {
    ...registryCalls(berth, tenants),
    ...advisoryCalls(berth, tenants),
    ...furtherCalls(berth, tenants),
    ...(await signInCalls(berth, tenants, upstream)),
  }
}

function registryCalls(berth: TestBerth, { first, second, oci, user }: Tenants): RouteCalls {
  const expect = async (status: number, method: string, path: string, more = {}) => {
    const reply = await oci.request(method, path, more)
    assert.equal(reply.status, status, `${method} ${path}: ${reply.bytes}`)
    return reply
  }
  const locationOf = ({ headers }: { readonly headers: Headers }) =>
    (headers.get('location') ?? '').slice('/v2/'.length)
  /** Every request of a client about a repo, which the first push creates. */
  const pushPullDelete = async (name: string) => {
    const image = await pushImage(oci, name, testImage(), 'one')
    const [config = Buffer.from(''), layer = Buffer.from('')] = image.blobs
    await expect(200, 'HEAD', `${name}/manifests/one`)
    await expect(200, 'GET', `${name}/manifests/one`)
    await expect(200, 'GET', `${name}/manifests/${image.digest}`)
    await expect(200, 'HEAD', `${name}/blobs/${digest(config)}`)
    await expect(200, 'GET', `${name}/blobs/${digest(layer)}`)
    const index = imageFromManifest({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: [image.descriptor],
    })
    assert.equal((await putManifest(oci, name, 'all', index)).status, 201)
    const subject = testImage({ subject: image.descriptor, artifactType: 'application/x.test' })
    await pushImage(oci, name, subject)
    await expect(200, 'GET', `${name}/referrers/${image.digest}`)
    await expect(200, 'GET', `${name}/tags/list`)
    await expect(202, 'DELETE', `${name}/manifests/all`)
    await expect(202, 'DELETE', `${name}/manifests/${index.digest}`)
    await expect(202, 'DELETE', `${name}/manifests/${image.digest}`)
  }
  return {
    'registry: push, pull and delete by uid': () => pushPullDelete(`${first.organization}/${newName('app')}`),
    'registry: push, pull and delete by name': () => pushPullDelete(`shards.example/${newName('app')}`),
    'registry: resumable upload': async () => {
      const name = `${first.organization}/${newName('app')}`
      const blob = Buffer.from(newName('a blob'))
      const started = await expect(202, 'POST', `${name}/blobs/uploads/`)
      const chunk = await expect(202, 'PATCH', locationOf(started), { body: blob.subarray(0, 4) })
      await expect(204, 'GET', locationOf(chunk))
      await expect(201, 'PUT', `${locationOf(chunk)}?digest=${digest(blob)}`, { body: blob.subarray(4) })
      const other = await expect(202, 'POST', `${name}/blobs/uploads/`)
      await expect(204, 'DELETE', locationOf(other))
      await expect(202, 'DELETE', `${name}/blobs/${digest(blob)}`)
    },
    'registry: mount of a blob': async () => {
      for (const from of [first, second].map(({ organization }) => `${organization}/${newName('app')}`)) {
        const blob = await pushBlob(oci, from, Buffer.from(newName('a blob')))
        const name = `${first.organization}/${newName('app')}`
        await expect(201, 'POST', `${name}/blobs/uploads/?mount=${blob}&from=${from}`)
      }
    },
    'registry: catalog': () => expect(200, 'GET', '_catalog'),
    'registry: token': async () => {
      const password = await berth.tokenOf(user, { audiences: [hostOf(berth)] })
      const scope = `repository:${first.organization}/app:pull`
      const reply = await requestAt(
        `${berth.url}/token?service=${hostOf(berth)}&scope=${scope}`,
        'GET',
        {},
        basicAuth('_token', password),
      )
      assert.equal(reply.status, 200, reply.bytes.toString())
    },
  }
}

/** Requests of methods whose sample request does not run all of their statements. */
function furtherCalls(berth: TestBerth, { first, second, token, folderToken }: Tenants): RouteCalls {
  const api = apiOf(berth, token)
  const { organization } = first
  const list = async (query: Record<string, string>, by = api) => {
    const reply = await by.get('vulnerabilities/advisories', query)
    assert.equal(reply.status, 200, reply.text)
  }
  return {
    'advisories: lists with a text': async () => {
      await list({ query: 'left-pad' })
      await list({ query: 'left-pad', 'uidp.descendants_of': organization })
      await list({ query: 'left-pad' }, apiOf(berth, folderToken))
    },
    'advisories: import of a security database': async () => {
      const fixes = { name: 'left-pad', secfixes: { '1.2.0-r0': ['CVE-2025-0001'] } }
      const database = { distroversion: 'v3.19', reponame: 'main', packages: [{ pkg: fixes }] }
      const content = Buffer.from(JSON.stringify(database)).toString('base64')
      const { documents } = await api.create(`vulnerabilities/advisories/${organization}:importDocuments`, {
        documents: [{ name: 'main.json', content }],
      })
      assert.equal(documents[0].accepted, true, JSON.stringify(documents))
    },
    'repos: copy into another organization': async () => {
      const syncConfig = { source: first.uids['repo'] }
      await api.create(`registry/repos/${second.organization}`, { name: 'copy', syncConfig })
    },
    'repos: change of a catalog field': async () => {
      const reply = await api.patch(`registry/repos/${first.uids['repo']}`, { bundles: ['base'] }, 'bundles')
      assert.equal(reply.status, 200, reply.text)
    },
  }
}

function advisoryCalls(berth: TestBerth, { first, token }: Tenants): RouteCalls {
  const expectOk = async (path: string, body?: object) => {
    const response = await fetch(berth.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    assert.equal(response.status, 200, `${path}: ${text.slice(0, 200)}`)
  }
  const query = { package: { name: 'left-pad', ecosystem: 'npm' }, version: '1.0.0' }
  const osv = `/osv/${first.organization}/v1`
  const feeds = `/vulnerabilities/feeds/${first.organization}`
  return {
    'OSV: query': () => expectOk(`${osv}/query`, query),
    'OSV: querybatch': () => expectOk(`${osv}/querybatch`, { queries: [query] }),
    'OSV: record': () => expectOk(`${osv}/vulns/GHSA-2222-3333-4444`),
    'feeds: OSV archive': () => expectOk(`${feeds}/osv/all.zip`),
    'feeds: security database': () => expectOk(`${feeds}/secdb/security.json`),
    'feeds: OpenVEX': () => expectOk(`${feeds}/openvex/.well-known/vex-repository.json`),
    'audit: export': () => expectOk(`/audit/v1/events:export?uidp.descendants_of=${first.organization}`),
  }
}

async function signInCalls(
  berth: TestBerth,
  { first, second, user }: Tenants,
  upstream: UpstreamProvider,
): Promise<RouteCalls> {
  const provider = await createResource(berth, `/iam/v2beta1/identityProviders/${first.organization}`, {
    name: newName('provider'),
    defaultRole: managedRole('viewer'),
    oidc: {
      issuer: upstream.issuer,
      clientId: UPSTREAM_CLIENT.id,
      clientSecret: UPSTREAM_CLIENT.secret,
      additionalScopes: ['email', 'groups'],
      groupsClaim: 'groups',
    },
  })
  await createResource(berth, `/iam/v2beta1/externalGroupRoleMappings/${provider.uid}`, {
    externalGroupId: 'engineers',
    roleUid: managedRole('editor'),
    scope: first.organization,
  })
  const signInThrough = async (sub: string) => {
    upstream.person = { sub, email: `${sub}@example.com`, email_verified: true, groups: ['engineers'] }
    const browser = webBrowser(berth.url)
    const page = await confirm(
      browser,
      await browser.open(withQuery('/sign-in/provider', { with: provider.uid })),
    )
    const { redirectedTo } = await webBrowser(upstream.issuer).open(page.redirectedTo?.href ?? '')
    const done = await browser.open(redirectedTo?.href ?? '')
    assert.equal(done.status, 200, done.text)
    assert.equal((await browser.open('/account')).path, '/account')
    return browser
  }
  const sub = newName('person')
  const expectPage = async (browser: ReturnType<typeof webBrowser>, path: string) => {
    const page = await browser.open(path)
    assert.equal(page.status, 200, `${path}: ${page.text}`)
    assert.equal(page.path, path)
    return page
  }
  const email = `${newName('ada')}@example.com`
  const newInvite = async (organization: string) =>
    (
      await createResource(berth, `/iam/v2beta1/groupInvites/${organization}`, {
        roleUid: managedRole('viewer'),
        ttl: '3600s',
      })
    ).code as string
  return {
    'sign-in: pages': async () => {
      const browser = await createSignedInBrowser(berth, user)
      for (const path of ['/start', '/account', '/account/groups', '/console'])
        await expectPage(browser, path)
      await expectPage(webBrowser(berth.url), '/sign-in')
    },
    'sign-in: account with a password': async () => {
      const account = await newLocalAccount(berth, email)
      const browser = webBrowser(berth.url)
      const page = await browser.open(await passwordPath(berth, account))
      assert.match((await browser.submit(page, { password: PASSWORD })).path, /^\/account/)
      const signedIn = await setPassword(webBrowser(berth.url), email)
      assert.equal(signedIn.status, 200, signedIn.text)
      await sendForm(browser, await browser.open('/account'), '/account/name', { name: 'Grace' })
      await sendForm(browser, await browser.open('/account'), '/account/sessions/end-others')
      const { forms } = await browser.open('/account')
      await browser.post('/sign-out', { form_token: forms[0]?.fields['form_token'] })
    },
    'sign-in: deletion of an account': async () => {
      const address = `${newName('ada')}@example.com`
      const account = await newLocalAccount(berth, address)
      const browser = webBrowser(berth.url)
      const page = await browser.open(await passwordPath(berth, account))
      await browser.submit(page, { password: PASSWORD })
      const form = await expectPage(browser, '/account/delete')
      const done = await sendForm(browser, form, '/account/delete', { email: address })
      assert.equal(done.status, 200, done.text)
    },
    'sign-in: identity provider, first time': () => signInThrough(sub),
    'sign-in: identity provider, again': async () => {
      const browser = await signInThrough(sub)
      await expectPage(browser, '/account/groups')
    },
    'sign-in: invite': async () => {
      const browser = await createSignedInBrowser(berth, await createPerson(berth))
      const page = await startInvite(browser, await newInvite(second.organization))
      const done = await submitConsent(browser, page)
      assert.equal(done.status, 200, done.text)
      await openInvite(webBrowser(berth.url), await newInvite(second.organization))
    },
    'OAuth: code, refresh, revocation': async () => {
      const browser = await createSignedInBrowser(berth, user)
      const flow = codeFlow({ scope: 'openid email profile offline_access' })
      const code = await authorizationCodeOf(browser, flow)
      const { status, body } = await postForm(berth.url, '/oauth/token', tokenRequest(flow, code))
      assert.equal(status, 200, JSON.stringify(body))
      const refreshed = await postForm(berth.url, '/oauth/token', {
        grant_type: 'refresh_token',
        client_id: CLIENT,
        refresh_token: body.refresh_token,
      })
      assert.equal(refreshed.status, 200, JSON.stringify(refreshed.body))
      const revoked = await postForm(berth.url, '/oauth/revoke', {
        client_id: CLIENT,
        token: refreshed.body.refresh_token,
      })
      assert.equal(revoked.status, 200, JSON.stringify(revoked.body))
    },
    'OAuth: device': async () => {
      const browser = await createSignedInBrowser(berth, user)
      const started = await postForm(berth.url, '/oauth/device_authorization', { client_id: CLIENT })
      const { device_code, user_code } = started.body as unknown as Record<string, string>
      const page = await browser.submit(await browser.open('/device'), { user_code }, -1)
      await submitConsent(browser, page)
      const { status, body } = await postForm(berth.url, '/oauth/token', {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: CLIENT,
        device_code,
      })
      assert.equal(status, 200, JSON.stringify(body))
    },
  }
}
