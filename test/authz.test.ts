import assert from 'node:assert/strict'
import { type KeyObject, randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import {
  type CapabilitySet,
  capabilityByName,
  capabilitySetOf,
  encodeCapabilitySet,
  includesAll,
} from '@berth/contract/capabilities.ts'
import { InvitationsService } from '@berth/contract/gen/berth/iam/v1/invitations_pb.js'
import { GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { isWithin, randomUids, rootOf, type Uid } from '@berth/server/api/uid.ts'
import { createGrantsReader } from '@berth/server/iam/grants-reader.ts'
import { managedRoleByUid, managedRoles } from '@berth/server/iam/managed-roles.ts'
import { databaseFile } from '@berth/server/installation/installation.ts'
import { accessRuleOf } from '@berth/server/pipeline/authorize.ts'
import { type Db, openSqliteDb } from '@berth/server/storage/db.ts'
import { migrate } from '@berth/server/storage/schema/migrate.ts'
import type { DescMethodUnary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { freePort } from '../scripts/free-port.ts'
import { type GrpcClient, type GrpcFailure, grpcClient } from './support/api/grpc.ts'
import { emptyBody, hasRest, methods, requestAt, restRequestOf, shortName } from './support/api/methods.ts'
import { makeOperator } from './support/api/operator.ts'
import { call } from './support/api/rest.ts'
import { createTenant } from './support/api/sample-requests.ts'
import {
  bindRole,
  capabilitiesJson,
  createGroup,
  createIdentity,
  createOrganization,
  createResource,
  createRole,
} from './support/api/tenant.ts'
import { databases } from './support/database/databases.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { eventually } from './support/eventually.ts'
import { assertGolden } from './support/golden.ts'
import { runBerth, type Serving, serveBerth, temporaryDirectory } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { signJws, unsignedJws } from './support/tokens/issuer.ts'

const sqlite = { name: 'sqlite', open: undefined } as const
const unique = () => randomBytes(4).toString('hex')
const isOpen = (method: DescMethodUnary) => accessRuleOf(method).kind === 'open'
const guarded = methods.filter((method) => !isOpen(method))

/** The RPC code of a call, and what came back. */
async function outcome(
  client: GrpcClient,
  method: DescMethodUnary,
  request: object,
  token: string | undefined,
) {
  try {
    const options = { deadlineMs: 10_000, ...(token === undefined ? {} : { token }) }
    return {
      code: 0,
      reply: (await client.call(method, request as never, options)) as unknown as Record<string, unknown>,
    }
  } catch (error) {
    return { code: (error as GrpcFailure).code as number, reply: {} }
  }
}

describe('who may call what', () => {
  let berth: TestBerth
  let client: GrpcClient
  before(async () => {
    berth = await startTestBerth(sqlite)
    client = grpcClient(berth.url)
  })
  after(async () => {
    client.close()
    await berth.stop()
  })

  test('each managed role, bound at an organization, may call exactly the methods of the reviewed table', async () => {
    const organization = await createOrganization(berth, 'matrix.example')
    const identity = () => createIdentity(berth, organization)
    const tenant = await createTenant(berth, organization)
    const callers: { name: string; token: string }[] = []
    for (const { name } of managedRoles) {
      const uid = await identity()
      // Groups cannot grant it.
      if (name === 'operator') await makeOperator(berth, uid)
      else await bindRole(berth, organization, uid, name)
      // The operator changes things with a token of the server itself, or after a recent sign-in.
      callers.push({
        name,
        token: await berth.tokenOf(uid, name === 'operator' ? { isFromServer: true } : {}),
      })
    }
    callers.push({ name: '(none)', token: await berth.tokenOf(await identity()) })
    callers.push({ name: '(platform administrator)', token: berth.token })
    // All of them work for the organization, by their email address.
    await call('PATCH', `${berth.url}/iam/v2beta1/groups/${organization}`, {
      token: berth.token,
      body: { verified: true, kind: 'ORG_KIND_CUSTOMER' },
    })
    const { kysely } = berth.berth.installation.store.db
    await kysely.updateTable('identities').set({ email: 'someone@matrix.example' }).execute()

    const noRunIsRunning = async () =>
      (await kysely.selectFrom('storage_runs').select('id').where('state', '=', 'running').execute())
        .length === 0
    const rows: string[] = []
    // Last, for it gives a role to each of them.
    const accepts = (method: DescMethodUnary) =>
      Number(method === InvitationsService.method.acceptGroupInvite)
    for (const method of guarded.toSorted((a, b) => accepts(a) - accepts(b))) {
      const name = shortName(method)
      const cells: string[] = []
      // A caller that is denied leaves the request to the next one: preparing one takes several others.
      let request: object | undefined
      for (const { token, name: caller } of callers) {
        // Asking to be let in is for once a day.
        await kysely.deleteFrom('access_requests').execute()
        // A node has one dry run at a time.
        if (method.name === 'StartStorageRun') await eventually(noRunIsRunning)
        request ??= (await tenant.requestOf(method)) ?? requestAt(method, organization)
        const { code, reply } = await outcome(client, method, request, token)
        const listed = Object.values(reply).find(Array.isArray)
        const nothing = method.name.startsWith('List') && listed?.length === 0
        const cell = code === 0 ? (nothing ? 'o' : '+') : { 5: 'n', 7: '.', 12: 'u' }[code]
        assert.ok(cell !== undefined, `${name} as ${caller}: code ${code}`)
        if (code === 0) request = undefined
        cells.push(cell)
      }
      rows.push(`${name.padEnd(64)}${cells.map((cell) => cell.padStart(3)).join('')}`)
    }
    const legend = callers.map(({ name }, at) => `${String(at + 1).padStart(3)}  ${name}`)
    const head = `${''.padEnd(64)}${callers.map((_, at) => String(at + 1).padStart(3)).join('')}`
    assertGolden(
      'authz-matrix.txt',
      `Who may call what: a caller with one managed role on an organization, on objects in that organization.

  +  allowed   .  denied (7)   o  allowed, and sees nothing   n  allowed, and there is none (5)   u  allowed, not offered (12)

${legend.join('\n')}

${head}
${rows.join('\n')}
`,
    )
  })

  test('R6, R7, R11: every method rejects every bad token with code 16, over REST with one challenge, and over gRPC', async () => {
    const { keys } = berth.berth.installation
    const { kid, key } = await keys.current()
    const now = Math.floor(Date.now() / 1000)
    const good = { iss: berth.url, sub: berth.owner, aud: berth.url, iat: now, exp: now + 300 }
    const sign = (
      claims: object,
      signer: CryptoKey | KeyObject = key,
      id = kid,
      typ: string | undefined = 'at+jwt',
    ) =>
      new SignJWT({ ...good, ...claims })
        .setProtectedHeader({ alg: 'ES256', kid: id, ...(typ === undefined ? {} : { typ }) })
        .sign(signer)
    const groups = (token: string) => call('GET', `${berth.url}/iam/v2beta1/groups`, { token })
    assert.equal((await groups(await sign({}))).status, 200, 'nothing else is wrong with what follows')
    const other = await generateKeyPair('ES256')
    const [publicJwk] = (await keys.published()).keys
    const gone = await createIdentity(berth, berth.organization)
    const goneToken = await berth.tokenOf(gone)
    await call('DELETE', `${berth.url}/iam/v2beta1/identities/${gone}`, { token: berth.token })
    const signature = berth.token.split('.')[2] ?? ''
    const tokens: Record<string, string | undefined> = {
      'no token': undefined,
      malformed: 'x.y.z',
      'of one character': 'x',
      expired: await sign({ iat: now - 7200, exp: now - 3600 }),
      'without expiry': await sign({ exp: undefined }),
      'not valid yet': await sign({ nbf: now + 3600 }),
      'for another audience': await berth.tokenOf(berth.owner, { audiences: ['https://other.example'] }),
      'for an audience that begins like ours': await berth.tokenOf(berth.owner, {
        audiences: [`${berth.url}.evil.example`],
      }),
      'without audience': await sign({ aud: undefined }),
      'of another issuer': await sign({ iss: 'https://other.example' }),
      'with a list of issuers': await sign({ iss: [berth.url] }),
      'with alg none': unsignedJws({ alg: 'none', kid, typ: 'at+jwt' }, good),
      'with alg none and a signature': unsignedJws({ alg: 'none', kid, typ: 'at+jwt' }, good, signature),
      'with HS256 and the public key': await signJws(good, Buffer.from(JSON.stringify(publicJwk)), {
        alg: 'HS256',
        kid,
        typ: 'at+jwt',
      }),
      'of another key under our key id': await sign({}, other.privateKey),
      'with a key of its own in the header': await new SignJWT(good)
        .setProtectedHeader({ alg: 'ES256', kid, typ: 'at+jwt', jwk: await exportJWK(other.publicKey) })
        .sign(other.privateKey),
      'of an unknown key id': await sign({}, key, 'unknown'),
      'with a changed payload': unsignedJws(
        { alg: 'ES256', kid, typ: 'at+jwt' },
        { ...good, sub: gone },
        signature,
      ),
      'of the kind of an ID token': await sign({}, key, kid, 'JWT'),
      'of no kind': await sign({}, key, kid, ''),
      'for a subject that is no uid': await sign({ sub: 'root' }),
      'with a narrowing that cannot be read': await sign({ berth: { cap: 'x' } }),
      'of an identity that never was': await berth.tokenOf(randomBytes(20).toString('hex')),
      'of a deleted identity': goneToken,
      'too long': 'a'.repeat(17_000),
    }
    const uid = berth.organization
    const wrong: string[] = []
    for (const method of guarded) {
      if (!hasRest(method)) continue
      const { verb, path } = restRequestOf(method, uid)
      const body = emptyBody(method)
      await Promise.all(
        Object.entries(tokens).map(async ([name, token]) => {
          const [rest, grpc] = await Promise.all([
            call(verb, `${berth.url}${path}`, {
              ...(token === undefined ? {} : { token }),
              ...(body === undefined ? {} : { body }),
            }),
            outcome(client, method, requestAt(method, uid), token),
          ])
          const challenge = rest.headers.get('www-authenticate') ?? ''
          const one = /^Bearer realm="[^"]*"(, error="invalid_token")?$/.test(challenge)
          if (rest.status !== 401 || rest.body.code !== 16 || !one)
            wrong.push(`${shortName(method)} REST ${name}: ${rest.status} ${challenge}`)
          if (grpc.code !== 16) wrong.push(`${shortName(method)} gRPC ${name}: ${grpc.code}`)
        }),
      )
    }
    assert.deepEqual(wrong, [])
  })

  test('methods that need no token take no notice of a bad one', async () => {
    assert.equal((await call('GET', `${berth.url}/ping/v2beta1/ping`)).status, 200)
    assert.equal((await call('GET', `${berth.url}/ping/v2beta1/ping`, { token: 'x' })).status, 200)
  })

  test('R17, R35: a stranger cannot tell what is hidden from what is missing, byte for byte, and another tenant is a stranger', async () => {
    const mine = await createOrganization(berth, `mine ${unique()}`)
    const theirs = await createOrganization(berth, `theirs ${unique()}`)
    const stranger = await createIdentity(berth, mine)
    await bindRole(berth, mine, stranger, 'owner')
    const token = await berth.tokenOf(stranger)
    const identity = await createIdentity(berth, theirs)
    const role = await createRole(berth, theirs, ['groups.list'])
    const real = [
      theirs,
      await createGroup(berth, theirs, 'group'),
      identity,
      role,
      await bindRole(berth, theirs, identity, role),
      (await createResource(berth, `/registry/v2beta1/repos/${theirs}`, { name: 'repo' })).uid as string,
    ]
    const missing = [randomBytes(20).toString('hex'), `${theirs}/${'0'.repeat(16)}`]
    const answers = new Map<string, Set<string>>()
    for (const method of guarded.filter((one) => accessRuleOf(one).kind === 'scoped')) {
      const seen = new Set<string>()
      for (const uid of [...real, ...missing]) {
        const { verb, path } = restRequestOf(method, uid)
        const empty = emptyBody(method)
        // Where the scope is not in the path, it is in the body.
        const body = path.includes(uid) ? empty : requestAt(method, uid)
        const reply = await call(verb, `${berth.url}${path}`, {
          token,
          ...(empty === undefined ? {} : { body }),
        })
        const headers = [...reply.headers].filter(
          ([name]) => !['date', 'x-request-id', 'content-length'].includes(name),
        )
        seen.add(`${reply.status} ${JSON.stringify(headers)} ${reply.text.replaceAll(uid, '<uid>')}`)
      }
      answers.set(shortName(method), seen)
    }
    for (const [name, seen] of answers) {
      assert.equal(seen.size, 1, `${name}: ${[...seen].join('\n')}`)
      assert.match([...seen][0] ?? '', /^403 /, name)
    }
  })

  test('R17, R24: lists show another tenant nothing, filters or not', async () => {
    const theirs = await createOrganization(berth, `hidden ${unique()}`)
    const group = await createGroup(berth, theirs, 'group')
    const identity = await createIdentity(berth, theirs)
    await bindRole(berth, theirs, identity, 'viewer')
    const mine = await createOrganization(berth, `seeing ${unique()}`)
    const stranger = await createIdentity(berth, mine)
    await bindRole(berth, mine, stranger, 'owner')
    const token = await berth.tokenOf(stranger)
    for (const kind of ['groups', 'identities', 'roles', 'roleBindings']) {
      for (const filter of [
        '',
        `uidp.in_root=true`,
        `uidp.descendants_of=${theirs}`,
        `uidp.children_of=${theirs}`,
        `uidp.ancestors_of=${group}`,
        `uidp.ids=${identity}&uidp.ids=${group}`,
      ]) {
        const reply = await call('GET', `${berth.url}/iam/v2beta1/${kind}?${filter}`, { token })
        assert.equal(reply.status, 200, reply.text)
        assert.ok(!reply.text.includes(theirs), `${kind} ${filter}`)
      }
    }
  })

  test('a binding holds in its group and below, not above and not beside', async () => {
    const organization = await createOrganization(berth, `tree ${unique()}`)
    const one = await createGroup(berth, organization, 'one')
    const below = await createGroup(berth, one, 'below')
    const deeper = await createGroup(berth, below, 'deeper')
    const beside = await createGroup(berth, organization, 'beside')
    const identity = await createIdentity(berth, organization)
    await bindRole(berth, one, identity, 'viewer')
    const token = await berth.tokenOf(identity)
    for (const [group, expected] of [
      [organization, 403],
      [one, 200],
      [below, 200],
      [deeper, 200],
      [beside, 403],
      [berth.organization, 403],
    ] as const) {
      assert.equal(
        (await call('GET', `${berth.url}/iam/v2beta1/groups/${group}`, { token })).status,
        expected,
      )
    }
    const { body } = await call('GET', `${berth.url}/iam/v2beta1/groups`, { token })
    assert.deepEqual(body.groups.map(({ uid }: { uid: string }) => uid).sort(), [one, below, deeper].sort())
  })

  test('a narrowed token does less than its identity, and never more', async () => {
    const organization = await createOrganization(berth, `narrow ${unique()}`)
    const group = await createGroup(berth, organization, 'group')
    const identity = await createIdentity(berth, organization)
    await bindRole(berth, organization, identity, 'viewer')
    const caps = (...names: string[]) => capabilitySetOf(names.map((name) => capabilityByName(name) ?? 0))
    const groupsOnly = caps('groups.list')
    for (const [options, expected] of [
      [{}, [200, 200, 200, 403]],
      [{ scopes: [group] }, [403, 200, 200, 403]],
      [{ scopes: [] }, [403, 403, 200, 403]],
      [{ scopes: [`${organization}/${'0'.repeat(16)}`] }, [403, 403, 200, 403]],
      [{ capabilities: groupsOnly }, [200, 200, 200, 403]],
      // More than the role has is not had.
      [{ capabilities: caps('groups.list', 'groups.create') }, [200, 200, 200, 403]],
      [{ capabilities: caps() }, [403, 403, 200, 403]],
      [{ scopes: [group], capabilities: groupsOnly }, [403, 200, 200, 403]],
    ] as const) {
      const token = await berth.tokenOf(identity, options as { scopes?: string[]; capabilities?: bigint })
      const status = async (verb: string, path: string, body?: object) =>
        (
          await call(verb, `${berth.url}/iam/v2beta1/${path}`, {
            token,
            ...(body === undefined ? {} : { body }),
          })
        ).status
      const seen = [
        await status('GET', `groups/${organization}`),
        await status('GET', `groups/${group}`),
        await status('GET', 'groups'),
        await status('POST', `groups/${group}`, { name: unique() }),
      ]
      assert.deepEqual(
        seen,
        expected,
        JSON.stringify(options, (_, value) =>
          typeof value === 'bigint' ? encodeCapabilitySet(value as CapabilitySet) : value,
        ),
      )
    }
    // A narrowed token of the platform's administrator does not administer the platform.
    for (const options of [{ scopes: [organization] }, { capabilities: caps('groups.create') }]) {
      const token = await berth.tokenOf(berth.owner, options)
      assert.equal(
        (await call('POST', `${berth.url}/iam/v2beta1/groups`, { token, body: { name: unique() } })).status,
        403,
      )
    }
  })

  test('only the administrator of the platform creates and verifies organizations; an owner does neither', async () => {
    const organization = await createOrganization(berth, `owned ${unique()}`)
    const owner = await createIdentity(berth, organization)
    await bindRole(berth, organization, owner, 'owner')
    const ordinary = await berth.tokenOf(owner)
    const found = (token: string) =>
      call('POST', `${berth.url}/iam/v2beta1/groups`, { token, body: { name: unique() } })
    const verify = (token: string) =>
      call('PATCH', `${berth.url}/iam/v2beta1/groups/${organization}?updateMask=*`, {
        token,
        body: { name: `owned ${unique()}`, verified: true, kind: 'CUSTOMER' },
      })
    assert.deepEqual([(await found(ordinary)).status, (await found(berth.token)).status], [403, 200])
    const refused = await verify(ordinary)
    assert.ok(refused.status === 403 || refused.status === 400, refused.text)
    const read = await call('GET', `${berth.url}/iam/v2beta1/groups/${organization}`, { token: ordinary })
    assert.equal(read.body.verified, false)
    const { body } = await call('GET', `${berth.url}/iam/v2beta1/groups`, { token: ordinary })
    assert.deepEqual(
      body.groups.map(({ uid }: { uid: string }) => uid),
      [organization],
    )
    assert.ok(
      (await call('GET', `${berth.url}/iam/v2beta1/groups`, { token: berth.token })).body.totalCount > 2,
    )
  })

  test('R19: no caller grants, by binding, role or a change of either, a capability that they lack there', async () => {
    const organization = await createOrganization(berth, `escalate ${unique()}`)
    const granting = await createRole(
      berth,
      organization,
      [
        'groups.list',
        'roles.create',
        'roles.update',
        'roles.list',
        'role_bindings.create',
        'role_bindings.update',
        'role_bindings.list',
      ],
      'granting',
    )
    const identity = await createIdentity(berth, organization)
    await bindRole(berth, organization, identity, granting)
    const token = await berth.tokenOf(identity)
    const send = async (verb: string, path: string, body: object) =>
      (await call(verb, `${berth.url}/iam/v2beta1/${path}`, { token, body })).status
    const owner = managedRoles.find(({ name }) => name === 'owner')?.uid
    const other = await createIdentity(berth, organization)
    const small = await send('POST', `roles/${organization}`, {
      name: 'small',
      capabilities: capabilitiesJson('groups.list'),
    })
    assert.equal(small, 200)
    assert.equal(
      await send('POST', `roles/${organization}`, {
        name: 'large',
        capabilities: capabilitiesJson('groups.list', 'groups.delete'),
      }),
      403,
    )
    assert.equal(
      await send('PATCH', `roles/${granting}`, { capabilities: capabilitiesJson('groups.delete') }),
      403,
    )
    assert.equal(
      await send('POST', `roleBindings/${organization}`, { identityUid: identity, roleUid: owner }),
      403,
    )
    assert.equal(
      await send('POST', 'roleBindings:batchCreate', {
        parent: organization,
        requests: [{ roleBinding: { identityUid: identity, roleUid: owner } }],
      }),
      403,
    )
    const harmless = await bindRole(berth, organization, other, granting)
    assert.equal(await send('PATCH', `roleBindings/${harmless}`, { roleUid: owner }), 403)
    assert.equal(
      await send('POST', `roleBindings/${organization}`, { identityUid: other, roleUid: granting }),
      409,
    )
  })
})

test('with open organizations every signed-in identity founds one and owns it, and still sees no other', async (t) => {
  const berth = await startTestBerth(sqlite, { env: { BERTH_OPEN_ORGANIZATIONS: 'true' } })
  t.after(() => berth.stop())
  const token = await berth.tokenOf(await createIdentity(berth, berth.organization))
  const { body: founded, status } = await call('POST', `${berth.url}/iam/v2beta1/groups`, {
    token,
    body: { name: 'mine' },
  })
  assert.equal(status, 200)
  assert.equal(
    (await call('POST', `${berth.url}/iam/v2beta1/groups/${founded.uid}`, { token, body: { name: 'below' } }))
      .status,
    200,
  )
  assert.equal(
    (await call('GET', `${berth.url}/iam/v2beta1/groups/${berth.organization}`, { token })).status,
    403,
  )
  const verified = await call('POST', `${berth.url}/iam/v2beta1/groups`, {
    token,
    body: { name: 'other', verified: true, kind: 'CUSTOMER' },
  })
  assert.notEqual(verified.status, 200)
  assert.equal(
    (await call('POST', `${berth.url}/iam/v2beta1/groups`, { body: { name: 'nobody' } })).status,
    401,
  )
})

for (const database of databases) {
  test(`R12: on ${database.name} a deleted binding, a changed role and a deleted identity work at the next request`, async (t) => {
    const berth = await startTestBerth(database)
    const client = grpcClient(berth.url)
    t.after(async () => {
      client.close()
      await berth.stop()
    })
    const { organization } = berth
    const identity = await createIdentity(berth, organization)
    const role = await createRole(berth, organization, ['groups.list'])
    const token = await berth.tokenOf(identity)
    const status = async (): Promise<number> => {
      const { status: rest } = await call('GET', `${berth.url}/iam/v2beta1/groups/${organization}`, { token })
      const v2 = await call('GET', `${berth.url}/iam/v2/groups/${organization}`, { token })
      const grpc = await outcome(
        client,
        GroupsService.method.getGroup as DescMethodUnary,
        { uid: organization },
        token,
      )
      assert.equal(rest, v2.status)
      assert.equal({ 0: 200, 7: 403, 16: 401 }[grpc.code], rest)
      return rest
    }
    assert.equal(await status(), 403)
    const binding = await bindRole(berth, organization, identity, role)
    assert.equal(await status(), 200)
    const change = (capabilities: string[]) =>
      call('PATCH', `${berth.url}/iam/v2beta1/roles/${role}`, {
        token: berth.token,
        body: { capabilities: capabilitiesJson(...capabilities) },
      })
    await change(['roles.list'])
    assert.equal(await status(), 403)
    await change(['groups.list'])
    assert.equal(await status(), 200)
    await call('DELETE', `${berth.url}/iam/v2beta1/roleBindings/${binding}`, { token: berth.token })
    assert.equal(await status(), 403)
    await call('DELETE', `${berth.url}/iam/v2beta1/identities/${identity}`, { token: berth.token })
    assert.equal(await status(), 401)
  })
}

/** Two servers over one database; both answer under one name. */
async function twoNodes(
  t: Parameters<typeof serveBerth>[0],
  env: Readonly<Record<string, string>>,
): Promise<[Serving, Serving, TestTenant]> {
  const shared = {
    ...env,
    BERTH_BASE_URL: 'http://berth.test',
    BERTH_MASTER_KEY: randomBytes(32).toString('base64'),
  }
  const start = async () => {
    const listen = `127.0.0.1:${await freePort()}`
    return { ...(await serveBerth(t, { ...shared, BERTH_LISTEN: listen })), url: `http://${listen}` }
  }
  // Concurrently on an empty database: the second finds what the first has created.
  const [one, two] = await Promise.all([start(), start()])
  const { stdout, stderr } = await runBerth(t, ['admin', 'bootstrap', '--json'], shared)
  assert.notEqual(stdout, '', stderr)
  const { organization, token } = JSON.parse(stdout)
  const tokenOf = async (identity: string) =>
    (await runBerth(t, ['admin', 'token', '--identity', identity], shared)).stdout
  return [one, two, { organization: organization.uid, token, tokenOf }]
}

interface TestTenant {
  readonly organization: string
  readonly token: string
  tokenOf(identity: string): Promise<string>
}

test('R12: two nodes on one PostgreSQL database start concurrently and agree on every grant at the next request', {
  skip: withoutPostgres,
}, async (t) => {
  const dataDir = temporaryDirectory(t)
  const env = { BERTH_DATA_DIR: dataDir, BERTH_DATABASE_URL: (await startPostgres(t)).url }
  const [one, two, { organization, token, tokenOf }] = await twoNodes(t, env)
  const admin = (node: Serving) => ({ url: node.url, token })
  const identity = await createIdentity(admin(one), organization)
  const caller = await tokenOf(identity)
  const statuses = () =>
    Promise.all(
      [one, two].map(
        async ({ url }) =>
          (await call('GET', `${url}/iam/v2beta1/groups/${organization}`, { token: caller })).status,
      ),
    )
  assert.deepEqual(await statuses(), [403, 403])
  for (let round = 0; round < 5; round++) {
    const [writer, other] = round % 2 === 0 ? [one, two] : [two, one]
    const binding = await bindRole(admin(writer), organization, identity, 'viewer')
    assert.deepEqual(await statuses(), [200, 200])
    await call('DELETE', `${other.url}/iam/v2beta1/roleBindings/${binding}`, { token })
    assert.deepEqual(await statuses(), [403, 403])
  }
  await call('DELETE', `${two.url}/iam/v2beta1/identities/${identity}`, { token })
  assert.deepEqual(await statuses(), [401, 401])
  const keys = await Promise.all(
    [one, two].map(async ({ url }) =>
      (await call('GET', `${url}/.well-known/jwks.json`)).body.keys
        .map(({ kid }: { kid: string }) => kid)
        .sort(),
    ),
  )
  assert.deepEqual(keys[0], keys[1])
})

type Step =
  | {
      readonly kind: 'bind' | 'unbind'
      readonly who: number
      readonly where: number
      readonly role: number
      readonly by: number
    }
  | {
      readonly kind: 'role'
      readonly role: number
      readonly capabilities: readonly number[]
      readonly by: number
    }
  | { readonly kind: 'ask'; readonly who: number }

test('R24: cached permissions equal freshly read ones, after any writer and any order of writes', async (t) => {
  const directory = temporaryDirectory(t)
  const file = databaseFile(directory)
  const own = await openSqliteDb(file)
  const foreign = await openSqliteDb(file)
  t.after(async () => {
    await own.close()
    await foreign.close()
  })
  await migrate(own)
  const writers: readonly Db[] = [own, foreign]
  const index = (max: number) => fc.nat({ max: max - 1 })
  const capability = fc.constantFrom(
    ...['groups.list', 'groups.create', 'roles.list', 'repo.list'].map((name) => capabilityByName(name) ?? 0),
  )
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({
      kind: fc.constantFrom('bind' as const, 'unbind' as const),
      who: index(3),
      where: index(6),
      role: index(3),
      by: index(2),
    }),
    fc.record({
      kind: fc.constant('role' as const),
      role: index(2),
      capabilities: fc.uniqueArray(capability),
      by: index(2),
    }),
    fc.record({ kind: fc.constant('ask' as const), who: index(3) }),
  )
  const remembering = createGrantsReader({ db: own, clock: Date.now }, { ownersManageCatalog: false })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const roots = [randomUids.root(), randomUids.root()]
      const groups = roots
        .flatMap((root) => [root, randomUids.child(root)])
        .flatMap((uid, at) => (at % 2 === 1 ? [uid, randomUids.child(uid)] : [uid]))
      const identities = roots.map((root) => randomUids.child(root)).concat(randomUids.root())
      const roles: Uid[] = roots.map((root) => randomUids.child(root)).concat(managedRoles[0]?.uid as Uid)
      const model = {
        roles: new Map<string, CapabilitySet>(),
        bindings: new Map<string, { who: string; where: string; role: string }>(),
      }
      const resource = { name: 'x', description: '', created_ms: 0, updated_ms: 0 }
      for (const uid of identities) {
        await own.kysely
          .insertInto('identities')
          .values({
            ...resource,
            root: rootOf(uid),
            uid,
            parent: '',
            email: '',
            email_unverified: '',
            company: '',
            relationship: 0,
            relationship_data: new Uint8Array(),
            issuer: '',
            subject: '',
            registered_through: '',
            keys_expire_ms: 0,
            last_seen_ms: 0,
          })
          .execute()
      }
      for (const uid of roles.slice(0, 2)) {
        await own.kysely
          .insertInto('roles')
          .values({ ...resource, root: rootOf(uid), uid, parent: rootOf(uid), name: uid, capabilities: '[]' })
          .execute()
      }
      const expected = (who: string, at: string): CapabilitySet => {
        let held = capabilitySetOf([])
        for (const binding of model.bindings.values()) {
          if (binding.who !== who || !isWithin(at, binding.where)) continue
          const of =
            managedRoleByUid.get(binding.role)?.capabilities ??
            model.roles.get(binding.role) ??
            capabilitySetOf([])
          held = (held | of) as CapabilitySet
        }
        return held
      }
      const ask = async (who: string) => {
        const caller = { identity: who, scopes: undefined, capabilities: undefined, session: undefined }
        const [known, fresh] = [
          await remembering(caller),
          await createGrantsReader({ db: own, clock: Date.now }, { ownersManageCatalog: false })(caller),
        ]
        assert.ok(known && fresh)
        for (const uid of [...groups, ...groups.map((group) => randomUids.child(group)), '']) {
          assert.equal(known.at(uid), fresh.at(uid))
          assert.equal(known.at(uid), expected(who, uid))
        }
        const needed = capabilitySetOf([capabilityByName('groups.list') ?? 0])
        const holding = known.scopesHolding(needed)
        for (const uid of groups)
          assert.equal(
            holding.some((scope) => isWithin(uid, scope)),
            includesAll(expected(who, uid), needed),
          )
      }
      for (const one of steps) {
        if (one.kind === 'ask') {
          await ask(identities[one.who] ?? '')
          continue
        }
        const { kysely } = writers[one.by] as Db
        const role = roles[one.role] as Uid
        if (one.kind === 'role') {
          model.roles.set(role, capabilitySetOf(one.capabilities))
          await kysely
            .updateTable('roles')
            .set({ capabilities: JSON.stringify(one.capabilities) })
            .where('uid', '=', role)
            .execute()
        } else {
          const who = identities[one.who] as Uid
          const where = groups[one.where] as Uid
          const key = `${who} ${where} ${role}`
          const unbind = kysely
            .deleteFrom('role_bindings')
            .where('identity_uid', '=', who)
            .where('parent', '=', where)
            .where('role_uid', '=', role)
          if (one.kind === 'unbind') {
            model.bindings.delete(key)
            await unbind.execute()
          } else if (!model.bindings.has(key)) {
            model.bindings.set(key, { who, where, role })
            await kysely
              .insertInto('role_bindings')
              .values({
                root: rootOf(where),
                uid: randomUids.child(where),
                parent: where,
                identity_uid: who,
                role_uid: role,
                automatic: 0,
                accepted_through: '',
                created_ms: 0,
                updated_ms: 0,
              })
              .execute()
          }
        }
        for (const who of identities) await ask(who)
      }
    }),
    { numRuns: 15 },
  )
})
