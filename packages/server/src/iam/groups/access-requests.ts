import { OrgStatus } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { invalidArgument, notFound, rateLimited } from '../../api/errors.ts'
import { parseUid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { authorizationOf } from '../../pipeline/authorization.ts'
import type { Call } from '../../pipeline/call.ts'
import { type VerifiedEmail, verifiedEmailOf } from '../../pipeline/vouching.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import type { Tx } from '../../storage/db.ts'
import { findOrganizationByName } from '../../storage/organizations.ts'
import { lockResource, readResource } from '../../storage/resource-rows.ts'
import type { GroupRow } from '../../storage/schema/tables.ts'
import type { Store } from '../../storage/store.ts'
import { employerDomain } from './email-domains.ts'
import { groupMessage } from './group-message.ts'
import { GROUP_TYPE } from './parent-group.ts'

/**
 * How users find the organization that they work for: it is verified, named after the domain of their email address, and active. Every
 * reason for finding none gives the same response, so that callers cannot discover which organizations exist.
 */
export function accessRequestHandlers(store: Store, blockedDomains: readonly string[]) {
  const { db } = store

  const readVerifiedEmail = async (call: Call): Promise<VerifiedEmail> => {
    const { caller, grants } = authorizationOf(call)
    const identity = await readResource(db, 'identities', caller.identity)
    return verifiedEmailOf(grants.voucher, identity?.email ?? '')
  }

  /** The caller's organization. Throws code 5. */
  const findEmployerOrganization = async (call: Call): Promise<GroupRow> => {
    const email = await readVerifiedEmail(call)
    const domain = employerDomain(email.address, blockedDomains)
    const named = domain === undefined ? undefined : await findOrganizationByName(db.kysely, domain)
    const row =
      named !== undefined && email.isTrustedIn(named) ? await readResource(db, 'groups', named) : undefined
    if (row?.verified !== 1 || row.status === OrgStatus.SUSPENDED) throw organizationNotFound()
    return row
  }

  return {
    async lookupGroup(_request: object, call: Call) {
      return {
        $typeName: 'chainguard.platform.iam.v2beta1.LookupGroupResponse' as const,
        group: await groupMessage(db, await findEmployerOrganization(call)),
      }
    },

    async checkEligibility(_request: object, call: Call) {
      return {
        $typeName: 'chainguard.platform.iam.v2beta1.CheckEligibilityResponse' as const,
        eligible: employerDomain((await readVerifiedEmail(call)).address, blockedDomains) !== undefined,
      }
    },

    async requestGroupAccess({ groupUid }: { groupUid: string }, call: Call) {
      if (groupUid === '') throw invalidArgument('groupUid', 'is required')
      if (parseUid(groupUid) === undefined) throw invalidArgument('groupUid', 'must be the uid of a group')
      const { uid } = await findEmployerOrganization(call)
      if (uid !== groupUid) throw organizationNotFound()
      return mutate(store, call, async (tx) => {
        // It may have been deleted meanwhile, together with the requests for access to it.
        if ((await lockResource(db, tx, 'groups', uid, 'share')) === undefined) throw organizationNotFound()
        await recordAccessRequest(store, tx, uid, authorizationOf(call).caller.identity)
        return {
          uid,
          response: { $typeName: 'chainguard.platform.iam.v2beta1.RequestGroupAccessResponse' as const },
        }
      })
    },
  }
}

function organizationNotFound() {
  return notFound(GROUP_TYPE, '', 'no organization matches the domain of your email address')
}

/** One statement decides, so only one of several concurrent requests counts. Throws code 8 when the last one is too recent. */
async function recordAccessRequest({ clock }: Store, tx: Tx, root: string, identity: string): Promise<void> {
  const now = clock()
  const { numInsertedOrUpdatedRows = 0n } = await tx
    .insertInto('access_requests')
    .values({ root, identity_uid: identity, requested_ms: now })
    .onConflict((conflict) =>
      conflict
        .columns(['root', 'identity_uid'])
        .doUpdateSet({ requested_ms: now })
        .where('access_requests.requested_ms', '<=', now - limits.accessRequestIntervalMs),
    )
    .executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows > 0n) return
  const { requested_ms } = await tx
    .selectFrom('access_requests')
    .select('requested_ms')
    .where('root', '=', root)
    .where('identity_uid', '=', identity)
    .executeTakeFirstOrThrow()
  throw rateLimited(
    'you have already requested access to this organization; its owners can grant it',
    requested_ms + limits.accessRequestIntervalMs - now,
  )
}
