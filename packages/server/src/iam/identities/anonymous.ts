import { RelationshipType } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/identities_pb.js'
import { recordEvent } from '../../storage/changes/audit-events.ts'
import { inTransaction } from '../../storage/db.ts'
import { insertResource, readResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'
import { ANONYMOUS_IDENTITY } from './anonymous-uid.ts'

/**
 * Creates the identity of callers without a token if it is missing, so that roles can be bound to it. If the operator has deleted it,
 * nothing can become public any more.
 */
export async function ensureAnonymousIdentity({ db, clock }: Pick<Store, 'db' | 'clock'>): Promise<void> {
  if ((await readResource(db, 'identities', ANONYMOUS_IDENTITY)) !== undefined) return
  const deleted = db.kysely.selectFrom('tombstones').select('uid').where('uid', '=', ANONYMOUS_IDENTITY)
  if ((await deleted.where('root', '=', ANONYMOUS_IDENTITY).execute()).length > 0) return
  const now = clock()
  await inTransaction(db, async (tx) => {
    await recordEvent(tx, {
      timeMs: now,
      actor: 'system',
      method: 'berth serve',
      uid: ANONYMOUS_IDENTITY,
      requestId: '',
      address: '',
    })
    await insertResource(db, tx, 'identities', {
      root: ANONYMOUS_IDENTITY,
      uid: ANONYMOUS_IDENTITY,
      parent: '',
      name: 'anonymous',
      description: 'All callers without a token: what is bound to it is public',
      email: '',
      email_unverified: '',
      company: '',
      relationship: RelationshipType.UNSPECIFIED,
      relationship_data: new Uint8Array(0),
      issuer: '',
      subject: '',
      registered_through: '',
      keys_expire_ms: 0,
      last_seen_ms: now,
      created_ms: now,
      updated_ms: now,
    })
  })
}
