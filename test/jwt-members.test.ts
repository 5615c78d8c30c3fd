import assert from 'node:assert/strict'
import { sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { onEveryDatabase } from './support/api/api-fixture.ts'
import { call } from './support/api/rest.ts'
import { createIdentity } from './support/api/tenant.ts'
import { confirm, webBrowser } from './support/browser/web-browser.ts'
import { cleanups, temporaryDirectory } from './support/server/process.ts'
import { exchange, statusOf } from './support/tokens/exchange.ts'
import { newSigner, SUBJECT, signJws, startIssuer, type TestIssuer } from './support/tokens/issuer.ts'

/** A signed token in which an object has a member twice is refused wherever tokens are read: readers differ in which one they take. */

const suite = cleanups()
let provider: TestIssuer
const env: Record<string, string> = { BERTH_ISSUER_PRIVATE_NETWORKS: '127.0.0.0/8' }
before(async () => {
  provider = await startIssuer(suite)
  const file = join(temporaryDirectory(suite), 'providers.json')
  writeFileSync(file, JSON.stringify([{ name: 'twice', issuer: provider.name, clientId: 'berth' }]))
  env['BERTH_SIGN_IN_PROVIDERS_FILE'] = file
})
after(() => suite.run())

const seconds = () => Math.floor(Date.now() / 1000)

/** JSON of the members, in order, of which two may have one name. */
const json = (...members: readonly (readonly [name: string, value: unknown])[]) =>
  `{${members.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join()}}`

/** A compact JWS of these very texts. */
function signTexts(header: string, payload: string, { privateKey }: ReturnType<typeof newSigner>): string {
  const text = [header, payload].map((part) => Buffer.from(part).toString('base64url')).join('.')
  const signature = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

onEveryDatabase(
  'tokens with a member twice',
  (cast) => {
    test('R8: a subject token is rejected at the exchange, whichever of the two members is the right one', async (t) => {
      const { berth } = cast()
      const issuer = await startIssuer(t)
      const claimMatch = { issuer: issuer.name, subject: SUBJECT }
      const identity = await createIdentity(berth, berth.organization, { claimMatch })
      const { signer } = issuer
      const claims = [
        ['iss', issuer.name],
        ['sub', SUBJECT],
        ['aud', berth.url],
        ['iat', seconds()],
        ['exp', seconds() + 300],
      ] as const
      const header = json(['alg', 'ES256'], ['kid', signer.kid])
      const table: readonly (readonly [header: string, payload: string, status: string])[] = [
        [header, json(...claims), 'ok'],
        [header, json(...claims, ['sub', SUBJECT]), '401/16'],
        [header, json(['sub', 'someone'], ...claims), '401/16'],
        [header, json(...claims, ['sub', 'someone']), '401/16'],
        [header, json(...claims, ['aud', 'elsewhere']), '401/16'],
        [json(['alg', 'none'], ['alg', 'ES256'], ['kid', signer.kid]), json(...claims), '401/16'],
        [json(['alg', 'ES256'], ['kid', 'k0'], ['kid', signer.kid]), json(...claims), '401/16'],
      ]
      for (const [first, second, status] of table) {
        const reply = await exchange(berth.url, signTexts(first, second, signer), {
          aud: berth.url,
          identity,
        })
        assert.equal(statusOf(reply), status, `${first} ${second} ${reply.text}`)
        if (status !== 'ok') assert.match(reply.body.message, /has a duplicate member/)
      }
    })

    test('R8: an access token of our own is rejected by the API and by the registry', async () => {
      const { berth } = cast()
      const { keys } = berth.berth.installation
      const { kid, key } = await keys.current()
      const claims = [
        ['iss', berth.url],
        ['sub', berth.owner],
        ['aud', berth.url],
        ['iat', seconds()],
        ['exp', seconds() + 300],
      ] as const
      const header = json(['alg', 'ES256'], ['kid', kid], ['typ', 'at+jwt'])
      const signer = { ...newSigner(kid), privateKey: key }
      const groups = `${berth.url}/iam/v2beta1/groups`
      const good = await call('GET', groups, { token: signTexts(header, json(...claims), signer) })
      assert.equal(good.status, 200, good.text)
      for (const payload of [json(...claims, ['sub', berth.owner]), json(['sub', 'x'], ...claims)]) {
        const token = signTexts(header, payload, signer)
        const reply = await call('GET', groups, { token })
        assert.equal(reply.status, 401, reply.text)
        assert.match(reply.body.message, /payload of the token has a duplicate member/)
        const registry = await fetch(`${berth.url}/v2/`, { headers: { authorization: `Bearer ${token}` } })
        assert.equal(registry.status, 401)
      }
    })

    test('R8: an ID token or user information of a sign-in provider signs no user in', async () => {
      const { berth } = cast()
      let nonce = ''
      let twice: 'nothing' | 'ID token' | 'user information' = 'nothing'
      provider.answer = async (request, response) => {
        const { name, signer } = provider
        const path = (request.url ?? '').replace(/\?.*/, '')
        const claims = [
          ['iss', name],
          ['sub', 'ada'],
          ['aud', 'berth'],
          ['nonce', nonce],
          ['iat', seconds()],
          ['exp', seconds() + 300],
        ] as const
        const documents: Record<string, () => Promise<string> | string> = {
          '/.well-known/openid-configuration': () =>
            JSON.stringify({
              issuer: name,
              authorization_endpoint: `${name}/authorize`,
              token_endpoint: `${name}/token`,
              userinfo_endpoint: `${name}/userinfo`,
              jwks_uri: `${name}/keys`,
              response_types_supported: ['code'],
              subject_types_supported: ['public'],
              id_token_signing_alg_values_supported: ['ES256'],
            }),
          '/keys': () => JSON.stringify({ keys: [signer.jwk] }),
          '/token': async () =>
            JSON.stringify({
              access_token: 'x',
              token_type: 'Bearer',
              id_token: await signJws(
                json(...claims, ...(twice === 'ID token' ? ([['sub', 'ada']] as const) : [])),
                signer.privateKey,
                { kid: signer.kid },
              ),
            }),
          '/userinfo': () =>
            json(
              ['sub', 'ada'],
              ['email', 'ada@example.com'],
              ...(twice === 'user information' ? ([['email', 'eve@example.com']] as const) : []),
            ),
        }
        response.setHeader('content-type', 'application/json').end(await documents[path]?.())
      }
      const signedIn = async () => {
        const browser = webBrowser(berth.url)
        const asked = await browser.open('/sign-in/provider?with=twice')
        const left = (await confirm(browser, asked)).redirectedTo ?? assert.fail()
        nonce = left.searchParams.get('nonce') ?? ''
        const back = new URL(left.searchParams.get('redirect_uri') ?? '')
        back.searchParams.set('code', 'c')
        back.searchParams.set('state', left.searchParams.get('state') ?? '')
        const page = await browser.open(back.href)
        return { status: page.status, isIn: (await browser.open('/account')).path === '/account' }
      }
      assert.deepEqual(await signedIn(), { status: 200, isIn: true })
      for (const what of ['ID token', 'user information'] as const) {
        twice = what
        assert.deepEqual(await signedIn(), { status: 403, isIn: false }, what)
      }
    })
  },
  { env },
)
