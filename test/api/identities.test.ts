import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { Identities } from '@berth/contract/gen/chainguard/platform/iam/identities_pb.js'
import {
  IdentitiesService,
  type IdentitySchema,
  RelationshipType,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import {
  assertError,
  claimMatch,
  failedPreconditionError,
  invalidFieldError,
  managedRole,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { call, type RestReply } from '../support/api/rest.ts'
import { stableText } from '../support/api/stable-output.ts'
import { assertGolden } from '../support/golden.ts'

const TYPE = 'iam.chainguard.dev/Identity'
const DAY_MS = 24 * 3_600_000

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwks = (key: object) => JSON.stringify({ keys: [{ ...key, kid: 'k1' }] })
const issuerKeys = jwks(pair.publicKey.export({ format: 'jwk' }))
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()
const staticKeys = { issuer: 'https://static.example', subject: 's', issuerKeys }

const relationships = {
  claimMatch: {
    ...claimMatch,
    audience: 'https://api.example',
    claims: { ref: 'main' },
    claimPatterns: { job: '^b.*$' },
  },
  staticKeys: {
    ...staticKeys,
    expirationTime: inDays(30),
    audiences: ['https://api.example'],
  },
  awsIdentity: { awsAccount: '123456789012', arnPattern: '^arn:aws:sts::.*$', userId: 'AROA:me' },
  servicePrincipal: 'SERVICE_PRINCIPAL_INGESTER',
}

onEveryDatabase('identities', (cast) => {
  test('create, get, list, update and delete return the exact JSON', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const body = { name: 'ci robot', description: 'Builds', company: 'Example', claimMatch }
    const created = await api.post(`iam/identities/${root}`, body)
    assert.equal(created.status, 200, created.text)
    const { uid } = created.body
    assert.equal(uid.slice(0, -17), root)
    assert.equal(created.body.lastSeenTime, created.body.createTime)
    assert.deepEqual((await api.get(`iam/identities/${uid}`)).body, created.body)
    const listed = await api.get('iam/identities', { 'uidp.children_of': root, name: 'ci robot' })
    assert.deepEqual(listed.body.identities, [created.body])
    cast().berth.advance(5)
    const updated = await api.patch(`iam/identities/${uid}`, { claimMatch: { subject: 'other' } })
    assert.ok(updated.body.updateTime > created.body.updateTime)
    assert.equal(updated.body.createTime, created.body.createTime)
    assertGolden(
      'api-identities.json',
      stableText({ created: created.body, listed: listed.body, updated: updated.body }),
    )
    const deleted = await api.delete(`iam/identities/${uid}`)
    assert.deepEqual([deleted.status, deleted.text], [200, ''])
    assertError(await api.get(`iam/identities/${uid}`), notFoundError(TYPE, uid))
    assertError(await api.patch(`iam/identities/${uid}`, {}), notFoundError(TYPE, uid))
    assertError(await api.delete(`iam/identities/${uid}`), notFoundError(TYPE, uid))
  })

  test('the same over gRPC', async () => {
    const { owner, uid: root } = await cast().organization()
    const { grpc } = cast()
    const { token } = owner.api
    const { createIdentity, getIdentity, listIdentities, updateIdentity, deleteIdentity } =
      IdentitiesService.method
    const value = {
      iss: { case: 'issuer', value: 'https://a.example' },
      sub: { case: 'subject', value: 's' },
    } as const
    const created = await grpc.call(
      createIdentity,
      { parent: root, identity: { name: 'robot', relationship: { case: 'claimMatch', value } } },
      { token },
    )
    assert.equal(created.relationship.case, 'claimMatch')
    assert.ok(created.lastSeenTime !== undefined)
    assert.deepEqual(await grpc.call(getIdentity, { uid: created.uid }, { token }), created)
    const listed = await grpc.call(
      listIdentities,
      { relationshipType: RelationshipType.CLAIM_MATCH, name: 'robot' },
      { token },
    )
    assert.deepEqual([listed.identities, listed.totalCount], [[created], 1n])
    const updated = await grpc.call(
      updateIdentity,
      { identity: { uid: created.uid, name: 'renamed' }, updateMask: { paths: ['name'] } },
      { token },
    )
    assert.deepEqual([updated.name, updated.relationship], ['renamed', created.relationship])
    await grpc.call(deleteIdentity, { uid: created.uid }, { token })
    await assert.rejects(grpc.call(getIdentity, { uid: created.uid }, { token }), { code: 5 })
  })

  test('identities are listed by the start of their name, and by their issuer', async () => {
    const { owner, uid: root } = await cast().organization()
    const { grpc } = cast()
    const add = async (name: string, issuer: string) => {
      const { uid } = await owner.api.create(`iam/identities/${root}`, {
        name,
        claimMatch: { issuer, subject: 's' },
      })
      return uid as string
    }
    const build = await add('ci build', 'https://a.example')
    const deploy = await add('ci_deploy', 'https://b.example')
    const other = await add('c', 'https://a.example')
    const list = async (query: Record<string, string>) => {
      const { body } = await owner.api.get('iam/identities', {
        'uidp.children_of': root,
        order_by: 'name',
        ...query,
      })
      assert.equal(body.totalCount, String(body.identities.length))
      return body.identities.map(({ uid }: { uid: string }) => uid)
    }
    assert.deepEqual(await list({ name_prefix: 'c' }), [other, build, deploy])
    assert.deepEqual(await list({ name_prefix: 'ci' }), [build, deploy])
    assert.deepEqual(await list({ name_prefix: 'ci_' }), [deploy])
    assert.deepEqual(await list({ name_prefix: '%' }), [])
    assert.deepEqual(await list({ issuer: 'https://a.example' }), [other, build])
    assert.deepEqual(await list({ issuer: 'https://a.example', name_prefix: 'ci' }), [build])
    assert.deepEqual(await list({ issuer: 'https://A.example' }), [])
    const { identities } = await grpc.call(
      IdentitiesService.method.listIdentities,
      { issuer: 'https://b.example', namePrefix: 'ci' },
      { token: owner.api.token },
    )
    assert.deepEqual(
      identities.map(({ uid }) => uid),
      [deploy],
    )
  })

  test('identities with static keys are listed by the time when the keys expire', async () => {
    const { owner, uid: root } = await cast().organization()
    const { grpc } = cast()
    const now = Date.now()
    const hour = (hours: number) => new Date(now + hours * 3_600_000).toISOString()
    const add = async (name: string, expirationTime?: string) => {
      const staticKeys = { ...relationships.staticKeys, expirationTime }
      const { uid } = await owner.api.create(`iam/identities/${root}`, { name, staticKeys })
      return uid as string
    }
    const late = await add('late', hour(48))
    const soon = await add('soon', hour(2))
    const unset = await add('unset')
    await owner.api.create(`iam/identities/${root}`, { name: 'other', claimMatch: relationships.claimMatch })
    const list = async (query: Record<string, string>) =>
      (
        await owner.api.get('iam/identities', {
          'uidp.children_of': root,
          order_by: 'expiration_time',
          ...query,
        })
      ).body.identities.map(({ uid }: { uid: string }) => uid)
    assert.deepEqual(await list({ expires_after: hour(0) }), [soon, late, unset])
    assert.deepEqual(await list({ expires_before: hour(49) }), [soon, late])
    assert.deepEqual(await list({ expires_after: hour(3), expires_before: hour(49) }), [late])
    assert.equal((await list({ order_by: 'expiration_time desc' }))[0], unset)
    await owner.api.patch(`iam/identities/${soon}`, { staticKeys: { expirationTime: hour(72) } })
    assert.deepEqual(await list({ expires_before: hour(100) }), [late, soon])
    await owner.api.patch(`iam/identities/${late}`, { claimMatch: relationships.claimMatch })
    const { identities } = await grpc.call(
      IdentitiesService.method.listIdentities,
      { expiresBefore: timestampFromMs(now + 100 * 3_600_000) },
      { token: owner.api.token },
    )
    assert.deepEqual(
      identities.map(({ uid }) => uid),
      [soon],
    )
    assert.equal((await owner.api.get('iam/identities', { expires_after: 'x' })).status, 400)
  })

  test('each relationship is returned unchanged, and can be listed by its type', async () => {
    const { owner, uid: root } = await cast().organization()
    const types = {
      claimMatch: 'RELATIONSHIP_TYPE_CLAIM_MATCH',
      staticKeys: 'RELATIONSHIP_TYPE_STATIC',
      awsIdentity: 'RELATIONSHIP_TYPE_AWS_IDENTITY',
      servicePrincipal: 'RELATIONSHIP_TYPE_SERVICE_PRINCIPAL',
    }
    const { uid: group } = await owner.api.create(`iam/groups/${root}`, { name: 'robots' })
    for (const [kind, value] of Object.entries(relationships)) {
      const made = await owner.api.create(`iam/identities/${group}`, { name: 'robot', [kind]: value })
      assert.deepEqual(
        Object.keys(relationships).filter((name) => name in made),
        [kind],
      )
      const kept = kind === 'claimMatch' ? { ...relationships.claimMatch } : value
      assert.deepEqual(made[kind], kept)
      const { body } = await owner.api.get('iam/identities', {
        'uidp.children_of': group,
        relationship_type: types[kind as keyof typeof types],
      })
      assert.deepEqual([body.identities, body.totalCount], [[made], '1'])
    }
  })

  test('V4-V9: an invalid relationship is rejected, field by field, and nothing is written', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.create(`iam/identities/${root}`, { name: 'robot', claimMatch })
    const [issuer, subject] = ['https://a.example', 's']
    const [awsAccount, arn] = ['123456789012', 'arn:aws:iam::123456789012:user/alice']
    const tooLong = 'x'.repeat(limits.claimCharsMax + 1)
    const tooMany = Object.fromEntries(
      Array.from({ length: limits.claimsMax + 1 }, (_, at) => [`claim${at}`, 'x']),
    )
    const cases: readonly [body: object, ...fields: string[]][] = [
      [{}, 'claimMatch'],
      [{ claimMatch: {} }, 'claimMatch.issuer', 'claimMatch.subject'],
      [{ claimMatch: { issuer } }, 'claimMatch.subject'],
      [{ claimMatch: { subject } }, 'claimMatch.issuer'],
      [{ claimMatch: { issuer: '', subject } }, 'claimMatch.issuer'],
      [{ claimMatch: { issuer: 'a.example', subject } }, 'claimMatch.issuer'],
      [{ claimMatch: { issuer: 'ftp://a.example', subject } }, 'claimMatch.issuer'],
      [{ claimMatch: { issuer: 'https://a.example?x=1', subject } }, 'claimMatch.issuer'],
      [{ claimMatch: { issuer, subject: '' } }, 'claimMatch.subject'],
      [{ claimMatch: { issuer, subjectPattern: '(' } }, 'claimMatch.subjectPattern'],
      [{ claimMatch: { issuer, subjectPattern: '(?=a)' } }, 'claimMatch.subjectPattern'],
      [{ claimMatch: { issuerPattern: '.*', subject } }, 'claimMatch.issuerPattern'],
      [{ claimMatch: { issuer, subject, audience: '' } }, 'claimMatch.audience'],
      [{ claimMatch: { issuer, subject, audiencePattern: '[' } }, 'claimMatch.audiencePattern'],
      [{ claimMatch: { issuer, subject, claimPatterns: { a: '*' } } }, 'claimMatch.claimPatterns[a]'],
      [{ staticKeys: {} }, 'staticKeys.issuer', 'staticKeys.subject', 'staticKeys.issuerKeys'],
      [
        { staticKeys: { ...staticKeys, issuerKeys: jwks(pair.privateKey.export({ format: 'jwk' })) } },
        'staticKeys.issuerKeys',
      ],
      [{ staticKeys: { ...staticKeys, expirationTime: inDays(366) } }, 'staticKeys.expirationTime'],
      [{ staticKeys: { ...staticKeys, expirationTime: inDays(-1) } }, 'staticKeys.expirationTime'],
      [{ staticKeys: { ...staticKeys, audiences: ['a', 'b'] } }, 'staticKeys.audiences'],
      [{ staticKeys: { ...staticKeys, audiences: [''] } }, 'staticKeys.audiences[0]'],
      [{ claimMatch: { issuer, subject: ' ' } }, 'claimMatch.subject'],
      [{ claimMatch: { issuer, subject: tooLong } }, 'claimMatch.subject'],
      [{ claimMatch: { issuer, subjectPattern: '' } }, 'claimMatch.subjectPattern'],
      [{ claimMatch: { issuer, subject, audience: ' ' } }, 'claimMatch.audience'],
      [{ claimMatch: { issuer, subject, audience: tooLong } }, 'claimMatch.audience'],
      [{ claimMatch: { issuer, subject, audiencePattern: '' } }, 'claimMatch.audiencePattern'],
      [{ claimMatch: { issuer, subject, claims: { '': 'x' } } }, 'claimMatch.claims[]'],
      [{ claimMatch: { issuer, subject, claims: { a: tooLong } } }, 'claimMatch.claims[a]'],
      [{ claimMatch: { issuer, subject, claims: { [tooLong]: 'a' } } }, `claimMatch.claims[${tooLong}]`],
      [{ claimMatch: { issuer, subject, claimPatterns: { ' ': 'x' } } }, 'claimMatch.claimPatterns[ ]'],
      [{ claimMatch: { issuer, subject, claims: tooMany } }, 'claimMatch.claims'],
      [{ staticKeys: { ...staticKeys, subject: ' ' } }, 'staticKeys.subject'],
      [{ staticKeys: { ...staticKeys, audiences: [tooLong] } }, 'staticKeys.audiences[0]'],
      [{ awsIdentity: {} }, 'awsIdentity.awsAccount', 'awsIdentity.arn', 'awsIdentity.userId'],
      [{ awsIdentity: { awsAccount, userId: 'b' } }, 'awsIdentity.arn'],
      [{ awsIdentity: { awsAccount, arn } }, 'awsIdentity.userId'],
      [{ awsIdentity: { arn, userId: 'b' } }, 'awsIdentity.awsAccount', 'awsIdentity.arn'],
      [
        { awsIdentity: { awsAccount: '12345678901', arn, userId: 'b' } },
        'awsIdentity.awsAccount',
        'awsIdentity.arn',
      ],
      [{ awsIdentity: { awsAccount: '210987654321', arn, userId: 'b' } }, 'awsIdentity.arn'],
      [{ awsIdentity: { awsAccount, arn: '', userId: '' } }, 'awsIdentity.arn', 'awsIdentity.userId'],
      [{ awsIdentity: { awsAccount, arn: arn + tooLong, userId: 'b' } }, 'awsIdentity.arn'],
      [{ awsIdentity: { awsAccount, arn, userId: tooLong } }, 'awsIdentity.userId'],
      [{ awsIdentity: { awsAccount, arn, userIdPattern: '(' } }, 'awsIdentity.userIdPattern'],
      [{ awsIdentity: { awsAccount, arnPattern: '', userId: 'b' } }, 'awsIdentity.arnPattern'],
      [{ awsIdentity: { ...relationships.awsIdentity, arnPattern: '(' } }, 'awsIdentity.arnPattern'],
      [{ servicePrincipal: 'SERVICE_PRINCIPAL_UNSPECIFIED' }, 'servicePrincipal'],
      [{ servicePrincipal: 99 }, 'servicePrincipal'],
    ]
    await cast().writesNothing(async () => {
      for (const [relationship, ...fields] of cases) {
        const body = { name: 'robot', ...relationship }
        assertError(await owner.api.post(`iam/identities/${root}`, body), invalidFieldError(...fields))
        assertError(await owner.api.patch(`iam/identities/${uid}`, body, '*'), invalidFieldError(...fields))
      }
    })
  })

  test('an identity that no token can match is stored with a warning, over REST and gRPC and in version 1', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const keysWarning = (field: string) =>
      `299 - "no token can match the identity yet: ${field} must be a JSON Web Key Set: it is not JSON"`
    const arnWarning = (field: string) =>
      `299 - "no caller from AWS can match the identity yet: ${field} must be an ARN such as `
    const keys = { issuer: 'https://static.example', subject: 's', issuerKeys: 'bar' }
    const aws = { awsAccount: '123456789012', arn: 'bar', userId: 'b' }
    const assertWarning = (warning: unknown, expected: string) => {
      assert.ok(String(warning).startsWith(expected), `${warning} begins with ${expected}`)
    }
    const warningOf = async (reply: Promise<RestReply>) => {
      const { status, headers, text } = await reply
      assert.equal(status, 200, text)
      return headers.get('warning') ?? ''
    }
    for (const [kind, value, warning, sentName, fieldAsSent] of [
      ['staticKeys', keys, keysWarning('staticKeys.issuerKeys'), 'static_keys', 'static_keys.issuerKeys'],
      ['awsIdentity', aws, arnWarning('awsIdentity.arn'), 'aws_identity', 'aws_identity.arn'],
    ] as const) {
      const created = await api.post(`iam/identities/${root}`, { name: 'robot', [kind]: value })
      assertWarning(created.headers.get('warning') ?? created.text, warning)
      const { uid } = created.body
      for (const [field, text] of Object.entries(value)) assert.equal(created.body[kind][field], text)
      assertWarning(await warningOf(api.patch(`iam/identities/${uid}`, { description: 'x' })), warning)
      assertWarning(
        await warningOf(api.patch(`iam/identities/${uid}`, { [sentName]: value })),
        kind === 'staticKeys' ? keysWarning(fieldAsSent) : arnWarning(fieldAsSent),
      )
      assert.equal(await warningOf(api.get(`iam/identities/${uid}`)), '')
      assert.equal(await warningOf(api.patch(`iam/identities/${uid}`, { claimMatch })), '')
    }

    const metadata: unknown[] = []
    const options = {
      token: api.token,
      onMetadata: (received: { get(name: string): unknown[] }) => metadata.push(...received.get('warning')),
    }
    const { createIdentity } = IdentitiesService.method
    const value = {
      awsAccount: aws.awsAccount,
      awsArn: { case: 'arn', value: 'bar' },
      awsUserId: { case: 'userId', value: 'b' },
    } as const
    const create = (relationship: NonNullable<MessageInitShape<typeof IdentitySchema>['relationship']>) =>
      cast().grpc.call(createIdentity, { parent: root, identity: { name: 'robot', relationship } }, options)
    await create({ case: 'awsIdentity', value })
    await create({ case: 'staticKeys', value: keys })
    await cast().grpc.call(
      Identities.method.create,
      { parentId: root, identity: { name: 'robot', relationship: { case: 'static', value: keys } } },
      options,
    )
    assert.equal(metadata.length, 3, String(metadata))
    assertWarning(metadata[0], arnWarning('aws_identity.arn'))
    assertWarning(metadata[1], keysWarning('static_keys.issuer_keys'))
    assertWarning(metadata[2], keysWarning('static.issuer_keys'))

    for (const [body, warning] of [
      [{ awsIdentity: aws }, arnWarning('awsIdentity.arn')],
      [{ static: keys }, keysWarning('static.issuerKeys')],
    ] as const) {
      const url = `${cast().berth.url}/iam/v1/identities/${root}`
      const v1 = await call('POST', url, { token: api.token, body: { name: 'robot', ...body } })
      assertWarning(v1.headers.get('warning') ?? v1.text, warning)
    }
  })

  test('V4: two relationships in one identity are rejected', async () => {
    const { owner, uid } = await cast().organization()
    for (const both of [
      { claimMatch, staticKeys },
      { claimMatch: { ...claimMatch, issuerPattern: 'https://a\\.example' } },
      { claimMatch: { ...claimMatch, subjectPattern: 'a' } },
      { claimMatch: { ...claimMatch, audience: 'a', audiencePattern: 'a' } },
      { awsIdentity: { ...relationships.awsIdentity, arn: 'arn:aws:iam::123456789012:root' } },
      { awsIdentity: { ...relationships.awsIdentity, userIdPattern: 'a' } },
    ]) {
      const reply = await cast().writesNothing(() =>
        owner.api.post(`iam/identities/${uid}`, { name: 'a', ...both }),
      )
      assert.deepEqual([reply.status, reply.body.code], [400, 3])
    }
  })

  test('other invalid fields are rejected', async () => {
    const { owner, uid: root } = await cast().organization()
    const cases: readonly [body: object, ...fields: string[]][] = [
      [{ claimMatch }, 'name'],
      [{ name: 'Robot', claimMatch }, 'name'],
      [{ name: 'robot', description: 'a\u0007b', claimMatch }, 'description'],
      [{ name: 'robot', company: 'c'.repeat(513), claimMatch }, 'company'],
      [{ name: '', description: '\u0007', company: '\n' }, 'name', 'description', 'company', 'claimMatch'],
      [{ name: 'robot', claimMatch: { ...claimMatch, audiences: 'x' } }, 'claimMatch.audiences'],
      [{ name: 'robot', claimMatch, claim_matcher: {} }, 'claim_matcher'],
    ]
    await cast().writesNothing(async () => {
      for (const [body, ...fields] of cases)
        assertError(await owner.api.post(`iam/identities/${root}`, body), invalidFieldError(...fields))
    })
  })

  test('V8: keys expire within 365 days of the identity, to the millisecond', async () => {
    const { owner, uid: root } = await cast().organization()
    const at = (ms: number) => ({
      name: 'robot',
      staticKeys: { ...staticKeys, expirationTime: new Date(ms).toISOString() },
    })
    const made = await owner.api.create(`iam/identities/${root}`, { name: 'robot', staticKeys })
    // Not filled in: what was given comes back, and the end follows from the creation.
    assert.equal('expirationTime' in made.staticKeys, false)
    const late = Date.now() + limits.staticKeyLifetimeMsMax + 60_000
    assertError(
      await owner.api.post(`iam/identities/${root}`, at(late)),
      invalidFieldError('staticKeys.expirationTime'),
    )
  })

  test('a list by an unknown relationship is rejected', async () => {
    const { owner } = await cast().organization()
    const refused = await owner.api.get('iam/identities', { relationship_type: '99' })
    assertError(refused, invalidFieldError('relationship_type'))
  })

  test('T2: the mask * switches between relationships in place, and stored values are returned without defaults', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const made = await api.create(`iam/identities/${root}`, { name: 'robot', description: 'd', claimMatch })
    assert.deepEqual(made.claimMatch, { ...claimMatch, claims: {}, claimPatterns: {} })
    const steps: object[] = [
      { awsIdentity: relationships.awsIdentity },
      { claimMatch: { issuerPattern: 'https://a\\.example', subjectPattern: '.*@example.com' } },
      { staticKeys: relationships.staticKeys },
      { servicePrincipal: 'SERVICE_PRINCIPAL_COSIGNED' },
      { servicePrincipal: 'SERVICE_PRINCIPAL_INGESTER' },
      { claimMatch },
    ]
    for (const relationship of steps) {
      const body = { name: 'robot', description: 'd', ...relationship }
      const { status, body: updated, text } = await api.patch(`iam/identities/${made.uid}`, body, '*')
      assert.equal(status, 200, text)
      assert.equal(updated.createTime, made.createTime)
      const names = Object.keys(updated).filter((name) => name in relationships)
      assert.deepEqual(names, Object.keys(relationship))
      assert.deepEqual((await api.get(`iam/identities/${made.uid}`)).body, updated)
      const hydrated = await api.post(`iam/roleBindings/${root}`, {
        identityUid: made.uid,
        roleUid: managedRole('viewer'),
      })
      const exact = 'claimMatch' in relationship && 'issuer' in (relationship.claimMatch as object)
      const { issuer, subject } = exact
        ? claimMatch
        : 'staticKeys' in relationship
          ? staticKeys
          : { issuer: '', subject: '' }
      assert.deepEqual([hydrated.body.identity.issuer, hydrated.body.identity.subject], [issuer, subject])
      await api.delete(`iam/roleBindings/${hydrated.body.uid}`)
    }
  })

  test('R10: a misspelt audience is rejected, never ignored', async () => {
    const { owner, uid } = await cast().organization()
    const body = { name: 'robot', claimMatch: { ...claimMatch, audiences: 'https://api.example' } }
    assertError(
      await owner.api.post(`iam/identities/${uid}`, body),
      invalidFieldError('claimMatch.audiences'),
    )
  })

  test('identities may share name, issuer and subject', async () => {
    const { owner, uid } = await cast().organization()
    const one = await owner.api.create(`iam/identities/${uid}`, { name: 'twin', claimMatch })
    const two = await owner.api.create(`iam/identities/${uid}`, { name: 'twin', claimMatch })
    assert.notEqual(one.uid, two.uid)
    const { body } = await owner.api.get('iam/identities', { name: 'twin' })
    assert.equal(body.totalCount, '2')
  })

  test('a missing group is 404 for callers who may create there, and 403 for others', async () => {
    const [mine, theirs] = [await cast().organization(), await cast().organization()]
    const gone = `${mine.uid}/0123456789abcdef`
    const body = { name: 'robot', claimMatch }
    assertError(
      await mine.owner.api.post(`iam/identities/${gone}`, body),
      notFoundError('iam.chainguard.dev/Group', gone),
    )
    assertError(await theirs.owner.api.post(`iam/identities/${gone}`, body), permissionDeniedError)
    assertError(await mine.owner.api.post('iam/identities/', body), invalidFieldError('parent'))
  })

  test('an update can change fields of the relationship and switch between relationships', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const full = { ...claimMatch, claims: { a: '1' }, audience: 'aud' }
    const cases: readonly [body: object, mask: string | undefined, wanted: object][] = [
      [{ claimMatch: { subject: 'new' } }, undefined, { claimMatch: { ...full, subject: 'new' } }],
      [
        { claimMatch: { subject: 'new', issuer: 'https://b.example' } },
        'claimMatch.subject',
        { claimMatch: { ...full, subject: 'new' } },
      ],
      [
        { claimMatch: { subject: 'new' } },
        'claim_match.subject',
        { claimMatch: { ...full, subject: 'new' } },
      ],
      [
        { claimMatch: { subjectPattern: 'n.*' } },
        undefined,
        { claimMatch: { ...full, subject: undefined, subjectPattern: 'n.*' } },
      ],
      [
        { claimMatch: { subjectPattern: 'n.*' } },
        'claimMatch.subjectPattern',
        { claimMatch: { ...full, subject: undefined, subjectPattern: 'n.*' } },
      ],
      [
        { claimMatch: { issuer: 'https://b.example', subject: 'b' } },
        'claimMatch',
        { claimMatch: { issuer: 'https://b.example', subject: 'b', claims: {}, audience: undefined } },
      ],
      [{ claimMatch: { claims: { b: '2' } } }, undefined, { claimMatch: { ...full, claims: { b: '2' } } }],
      [
        { servicePrincipal: 'SERVICE_PRINCIPAL_COSIGNED' },
        undefined,
        { claimMatch: undefined, servicePrincipal: 'SERVICE_PRINCIPAL_COSIGNED' },
      ],
      [
        { servicePrincipal: 'SERVICE_PRINCIPAL_COSIGNED' },
        'servicePrincipal',
        { claimMatch: undefined, servicePrincipal: 'SERVICE_PRINCIPAL_COSIGNED' },
      ],
      [
        { awsIdentity: relationships.awsIdentity },
        'awsIdentity',
        { claimMatch: undefined, awsIdentity: relationships.awsIdentity },
      ],
      [
        { name: 'robot', servicePrincipal: 1 },
        '*',
        { claimMatch: undefined, company: '', servicePrincipal: 'SERVICE_PRINCIPAL_COSIGNED' },
      ],
      [{ company: null, description: 'd' }, undefined, { company: '', description: 'd' }],
    ]
    for (const [body, mask, wanted] of cases) {
      const made = await api.create(`iam/identities/${root}`, {
        name: 'robot',
        company: 'c',
        claimMatch: full,
      })
      const { status, body: updated, text } = await api.patch(`iam/identities/${made.uid}`, body, mask)
      assert.equal(status, 200, text)
      const { claimMatch: wantedMatch, ...rest } = { ...made, ...wanted } as Record<string, unknown>
      const plain = JSON.parse(
        JSON.stringify({
          ...rest,
          updateTime: updated.updateTime,
          ...(wantedMatch === undefined
            ? {}
            : { claimMatch: { claimPatterns: {}, ...(wantedMatch as object) } }),
        }),
      )
      assert.deepEqual(updated, plain, JSON.stringify([body, mask]))
    }
  })

  test('R18: output-only fields cannot be set, also not with the mask *', async () => {
    const { owner, uid: root } = await cast().organization()
    const own = {
      uid: 'f'.repeat(40),
      email: 'me@example.com',
      emailUnverified: 'me@example.com',
      createTime: '2001-01-01T00:00:00Z',
      updateTime: '2001-01-01T00:00:00Z',
      lastSeenTime: '2001-01-01T00:00:00Z',
    }
    const made = await owner.api.create(`iam/identities/${root}`, { name: 'robot', claimMatch, ...own })
    assert.deepEqual([made.email, made.emailUnverified], ['', ''])
    for (const member of ['uid', 'createTime', 'updateTime', 'lastSeenTime'] as const)
      assert.notEqual(made[member], own[member])
    for (const mask of ['*', Object.keys(own).join(',')]) {
      const { body } = await owner.api.patch(
        `iam/identities/${made.uid}`,
        { name: 'robot', claimMatch, ...own },
        mask,
      )
      assert.deepEqual(body, made)
    }
  })

  test('an identity with bindings cannot be deleted', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.create(`iam/identities/${root}`, { name: 'robot', claimMatch })
    const binding = await owner.api.create(`iam/roleBindings/${root}`, {
      identityUid: uid,
      roleUid: managedRole('viewer'),
    })
    await cast().writesNothing(async () =>
      assertError(
        await owner.api.delete(`iam/identities/${uid}`),
        failedPreconditionError('RESOURCE_IN_USE'),
      ),
    )
    await owner.api.delete(`iam/roleBindings/${binding.uid}`)
    assert.equal((await owner.api.delete(`iam/identities/${uid}`)).status, 200)
  })

  test('R12: a deleted identity has no permissions', async () => {
    const organization = await cast().organization()
    const member = await organization.member('viewer')
    assert.equal((await member.api.get(`iam/groups/${organization.uid}`)).status, 200)
    await organization.owner.api.delete(`iam/roleBindings/${member.binding}`)
    assertError(await member.api.get(`iam/groups/${organization.uid}`), permissionDeniedError)
    await organization.owner.api.delete(`iam/identities/${member.uid}`)
    assertError(await member.api.get(`iam/groups/${organization.uid}`), { status: 401, code: 16 })
  })

  test('R19: setting who may assume an identity requires everything that it holds', async () => {
    const { owner, uid: root, member } = await cast().organization()
    const role = await owner.api.create(`iam/roles/${root}`, {
      name: newName('identity editor'),
      capabilities: ['CAP_IAM_IDENTITY_LIST', 'CAP_IAM_IDENTITY_UPDATE', 'CAP_IAM_GROUPS_LIST'],
    })
    const editor = await member('viewer')
    await owner.api.patch(`iam/roleBindings/${editor.binding}`, { roleUid: role.uid })
    const powerful = await member('owner')
    const weak = await owner.api.create(`iam/identities/${root}`, { name: 'robot', claimMatch })
    const takeOver = { claimMatch: { subject: 'mallory' } }
    assertError(await editor.api.patch(`iam/identities/${powerful.uid}`, takeOver), permissionDeniedError)
    assert.equal((await editor.api.patch(`iam/identities/${powerful.uid}`, { description: 'd' })).status, 200)
    assert.equal((await editor.api.patch(`iam/identities/${weak.uid}`, takeOver)).status, 200)
    assert.equal((await owner.api.patch(`iam/identities/${powerful.uid}`, takeOver)).status, 200)
  })

  test("the identity of the platform's administrator cannot be deleted", async () => {
    const { admin, berth } = cast()
    const bindings = await admin.get('iam/roleBindings', { identity: berth.owner })
    for (const { uid } of bindings.body.roleBindings) await admin.delete(`iam/roleBindings/${uid}`)
    const refused = await admin.delete(`iam/identities/${berth.owner}`)
    assert.deepEqual([refused.status, refused.body.details[1].violations[0].type], [400, 'RESOURCE_IN_USE'])
  })

  test('an identity whose keys have expired can still be described', async () => {
    const { berth } = cast()
    const { owner, uid: root } = await cast().organization()
    const expirationTime = new Date(Date.now() + 60_000).toISOString()
    const { uid } = await owner.api.create(`iam/identities/${root}`, {
      name: newName('keys'),
      staticKeys: { ...staticKeys, expirationTime },
    })
    berth.advance(120_000)
    assert.equal((await owner.api.patch(`iam/identities/${uid}`, { description: 'old' })).status, 200)
  })

  test('static keys can be renewed until the identity reaches its maximum age', async () => {
    const { owner, uid: root } = await cast().organization()
    const made = await owner.api.create(`iam/identities/${root}`, {
      name: newName('keys'),
      staticKeys: { ...staticKeys, expirationTime: inDays(1) },
    })
    const latest = new Date(Date.parse(made.createTime) + limits.staticKeyLifetimeMsMax)
    const renew = (time: Date) =>
      owner.api.patch(`iam/identities/${made.uid}`, { staticKeys: { expirationTime: time.toISOString() } })
    assert.equal((await renew(latest)).body.staticKeys.expirationTime, latest.toISOString())
    assertError(await renew(new Date(latest.getTime() + 1)), invalidFieldError('staticKeys.expirationTime'))
  })

  test('each change writes one audit record, a failed or empty one none', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.create(`iam/identities/${root}`, { name: 'robot', claimMatch })
    await owner.api.patch(`iam/identities/${uid}`, { description: 'd' })
    await cast().writesNothing(() => owner.api.patch(`iam/identities/${uid}`, { description: 'd' }))
    await owner.api.patch(`iam/identities/${uid}`, { name: '' })
    await owner.api.delete(`iam/identities/${uid}`)
    assert.deepEqual(
      (await cast().auditEventsOf(uid)).map(({ method }) => method.split('/')[1]),
      ['CreateIdentity', 'UpdateIdentity', 'DeleteIdentity'],
    )
  })
})
