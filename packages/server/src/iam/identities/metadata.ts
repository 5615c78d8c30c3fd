import {
  type IdentityMetadata,
  IdentityMetadataSchema,
  type UpdateIdentityMetadataRequest,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { create, equals, fromBinary, toBinary } from '@bufbuild/protobuf'
import { type FieldViolation, unauthenticated } from '../../api/errors.ts'
import { checkLine, requireValid } from '../../api/fields.ts'
import { applyUpdate } from '../../api/messages.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf, requireUserAuthority } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import type { Tx } from '../../storage/db.ts'
import { lockResource, nextUpdateMs, updateResource } from '../../storage/resource-rows.ts'
import type { IdentityRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'

/**
 * What callers state about themselves. Only the company is shown elsewhere, on the identity. The cookie of a customer relations system that
 * a request may include is dropped.
 */
export async function updateMetadata(
  store: Store,
  call: Call,
  { identityMetadata: patch = create(IdentityMetadataSchema), updateMask }: UpdateIdentityMetadataRequest,
): Promise<IdentityMetadata> {
  const { db } = store
  const { caller, grants } = authorizationOf(call)
  const uid = caller.identity
  requireUserAuthority(grants, 'change the profile')
  return mutate(store, call, async (tx) => {
    const row = await lockResource(db, tx, 'identities', uid, 'update')
    if (row === undefined) throw unauthenticated('the identity of this token has been deleted')
    const current = await readMetadata(tx, row)
    const next = {
      ...applyUpdate(IdentityMetadataSchema, current, patch, updateMask?.paths),
      hubspotUtk: '',
    }
    if (equals(IdentityMetadataSchema, current, next)) return { uid, response: current, unchanged: true }
    requireValid(...checkMetadata(next))
    const { company } = next
    if (company !== row.company)
      await updateResource(tx, 'identities', uid, { company, updated_ms: nextUpdateMs(store, row) })
    await writeMetadata(tx, uid, next)
    return { uid, response: next }
  })
}

/** Deletes the metadata of an identity that is being deleted. */
export async function deleteMetadata(tx: Tx, uid: string): Promise<void> {
  await tx.deleteFrom('identity_metadata').where('root', '=', rootOf(uid)).where('uid', '=', uid).execute()
}

async function readMetadata(tx: Tx, row: IdentityRow): Promise<IdentityMetadata> {
  const stored = await tx
    .selectFrom('identity_metadata')
    .select('metadata')
    .where('root', '=', row.root)
    .where('uid', '=', row.uid)
    .executeTakeFirst()
  const { uid, name, company } = row
  const nameParts = name.split(' ').filter((word) => word !== '')
  return {
    ...(stored === undefined
      ? create(IdentityMetadataSchema)
      : fromBinary(IdentityMetadataSchema, stored.metadata)),
    uid,
    name,
    givenName: nameParts[0] ?? '',
    familyName: nameParts.slice(1).join(' '),
    company,
  }
}

/** Returns the metadata without the fields that the identity has itself. */
async function writeMetadata(tx: Tx, uid: string, next: IdentityMetadata): Promise<void> {
  const own = { ...next, uid: '', name: '', givenName: '', familyName: '', company: '', hubspotUtk: '' }
  const metadata = toBinary(IdentityMetadataSchema, own)
  await tx
    .insertInto('identity_metadata')
    .values({ root: rootOf(uid), uid, metadata })
    .onConflict((conflict) => conflict.columns(['root', 'uid']).doUpdateSet({ metadata }))
    .execute()
}

const textFields = [
  'company',
  'product',
  'jobTitle',
  'utmCampaign',
  'utmContent',
  'utmMedium',
  'utmSource',
  'utmTerm',
] as const
const urlFields = ['latestFormSubmitUrl', 'latestInternalReferringUrl'] as const

/** Makes fields relative to the request, whose body is the whole message. */
function checkMetadata(metadata: IdentityMetadata): (FieldViolation | undefined)[] {
  return [
    ...textFields.map((name) => checkLine(metadata[name], `identityMetadata.${name}`)),
    ...urlFields.map((name) => checkUrl(metadata[name], `identityMetadata.${name}`)),
  ]
}

function checkUrl(address: string, field: string): FieldViolation | undefined {
  if (address.length > limits.pageUrlCharsMax)
    return { field, description: `must have at most ${limits.pageUrlCharsMax} characters` }
  if (address === '' || /^https?:\/\/\S+$/.test(address)) return undefined
  return { field, description: 'must be an http or https address' }
}
