import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  IdentitiesService,
  IdentityMetadataSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { fromBinary } from '@bufbuild/protobuf'
import {
  apiOf,
  assertError,
  claimMatch,
  invalidFieldError,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'

const empty = {
  company: '',
  updatesOptIn: false,
  product: '',
  jobTitle: '',
  utmCampaign: '',
  utmContent: '',
  utmMedium: '',
  utmSource: '',
  utmTerm: '',
  latestFormSubmitUrl: '',
  latestInternalReferringUrl: '',
  hubspotUtk: '',
  selfServe: false,
}

onEveryDatabase('identity metadata', (cast) => {
  /** A user without permissions. */
  const newIdentity = async (name = 'ada king lovelace') => {
    const { owner, uid: root } = await cast().organization()
    const { uid } = await owner.api.create(`iam/identities/${root}`, { name, company: 'Engines', claimMatch })
    const api = apiOf(cast().berth, await cast().berth.tokenOf(uid))
    const patch = (identityMetadata: unknown, updateMask?: string) =>
      api.patch('iam/identities:updateIdentityMetadata', {
        identityMetadata,
        ...(updateMask === undefined ? {} : { updateMask }),
      })
    const get = async () => (await owner.api.get(`iam/identities/${uid}`)).body
    return { uid, api, patch, get, owner }
  }
  const storedOf = async (uid: string) => {
    const { kysely } = cast().berth.berth.installation.store.db
    const row = await kysely
      .selectFrom('identity_metadata')
      .selectAll()
      .where('uid', '=', uid)
      .executeTakeFirst()
    return row === undefined ? undefined : fromBinary(IdentityMetadataSchema, row.metadata)
  }

  test('all metadata is returned, the names from the identity', async () => {
    const { uid, patch, get } = await newIdentity()
    const own = { uid, name: 'ada king lovelace', givenName: 'ada', familyName: 'king lovelace' }
    const { status, body } = await patch({ jobTitle: 'Analyst', updatesOptIn: true })
    assert.equal(status, 200)
    assert.deepEqual(body, { ...empty, ...own, company: 'Engines', jobTitle: 'Analyst', updatesOptIn: true })
    const before = await get()
    const more = await patch({ company: 'Analytical Engines', product: 'images', utmSource: 'letter' })
    assert.deepEqual(more.body, {
      ...body,
      company: 'Analytical Engines',
      product: 'images',
      utmSource: 'letter',
    })
    const after = await get()
    assert.equal(after.company, 'Analytical Engines')
    assert.ok(after.updateTime > before.updateTime)
    const { length } = (await cast().auditEventsOf(uid)).filter(
      ({ method, actor }) => method.endsWith('IdentitiesService/UpdateIdentityMetadata') && actor === uid,
    )
    assert.equal(length, 2)
    await cast().writesNothing(() => patch({ product: 'images' }))
  })

  test('the same over gRPC, and a mask names the fields to clear', async () => {
    const { api, patch } = await newIdentity()
    await patch({ jobTitle: 'Analyst', product: 'images' })
    const { updateIdentityMetadata } = IdentitiesService.method
    const request = {
      identityMetadata: { product: 'charts' },
      updateMask: { paths: ['job_title', 'product'] },
    }
    const { jobTitle, product } = await cast().grpc.call(updateIdentityMetadata, request, {
      token: api.token,
    })
    assert.deepEqual([jobTitle, product], ['', 'charts'])
    const starred = await patch({ utmTerm: 'engines' }, '*')
    assert.deepEqual([starred.body.product, starred.body.utmTerm, starred.body.company], ['', 'engines', ''])
    assertError(await patch({}, 'nope'), invalidFieldError('updateMask'))
  })

  test('R18: uid and names cannot be set, and the cookie of a CRM is never stored', async () => {
    const { uid, patch } = await newIdentity('ada')
    const own = { uid: 'f'.repeat(40), name: 'x', givenName: 'y', familyName: 'z', hubspotUtk: 'mark' }
    const { body } = await patch({ ...own, jobTitle: 'Analyst' }, '*')
    assert.deepEqual(body, {
      ...empty,
      uid,
      name: 'ada',
      givenName: 'ada',
      familyName: '',
      jobTitle: 'Analyst',
    })
    const stored = await storedOf(uid)
    assert.deepEqual(
      [stored?.jobTitle, stored?.hubspotUtk, stored?.uid, stored?.name, stored?.company],
      ['Analyst', '', '', '', ''],
    )
    await cast().writesNothing(() => patch({ hubspotUtk: 'mark' }))
  })

  test('values that are too long or no address are rejected, field by field', async () => {
    const { patch } = await newIdentity()
    const long = 'x'.repeat(limits.descriptionCharsMax + 1)
    const address = 'https://example.com/'
    const cases: readonly [metadata: object, ...fields: string[]][] = [
      ...[
        'company',
        'product',
        'jobTitle',
        'utmCampaign',
        'utmContent',
        'utmMedium',
        'utmSource',
        'utmTerm',
      ].map((name) => [{ [name]: long }, `identityMetadata.${name}`] as [object, string]),
      [{ company: 'a\nb', product: '\u0007' }, 'identityMetadata.company', 'identityMetadata.product'],
      ...['latestFormSubmitUrl', 'latestInternalReferringUrl'].flatMap((name) =>
        [address.padEnd(limits.pageUrlCharsMax + 1, 'x'), 'javascript:alert(1)', 'https://a b', '/path'].map(
          (bad) => [{ [name]: bad }, `identityMetadata.${name}`] as [object, string],
        ),
      ),
    ]
    await cast().writesNothing(async () => {
      for (const [metadata, ...fields] of cases)
        assertError(await patch(metadata), invalidFieldError(...fields))
    })
    const longest = address.padEnd(limits.pageUrlCharsMax, 'x')
    assert.equal((await patch({ latestFormSubmitUrl: longest })).body.latestFormSubmitUrl, longest)
  })

  test('it is deleted with the identity', async () => {
    const { uid, patch, owner } = await newIdentity()
    await patch({ jobTitle: 'Analyst' })
    assert.notEqual(await storedOf(uid), undefined)
    assert.equal((await owner.api.delete(`iam/identities/${uid}`)).status, 200)
    assert.equal(await storedOf(uid), undefined)
    assertError(await patch({ jobTitle: 'Ghost' }), { status: 401, code: 16 })
  })
})
