import {
  capabilitiesIn,
  capabilitySetOf,
  includesAll,
  noCapabilities,
  union,
} from '@berth/contract/capabilities.ts'
import { pathOf } from '../../api/uid.ts'
import { readGroupGrants } from '../../iam/group-grants.ts'
import { ANONYMOUS_IDENTITY } from '../../iam/identities/anonymous-uid.ts'
import type { Db } from '../../storage/db.ts'
import { operationCapabilities } from '../oci/access.ts'

/** What pulling an image by its digest requires. */
const pull = capabilitySetOf([
  ...capabilitiesIn(operationCapabilities.pullBlob),
  ...capabilitiesIn(operationCapabilities.pullManifest),
])

/** The scope of platform bindings, which is above all organizations. */
const PLATFORM = ''

/**
 * Returns a function from one of `groups` to the highest scope whose bindings, with those above it, let anyone pull from its repos: the uid
 * of a group, or '' for the platform; undefined if the group is not public.
 */
export async function readPublicScopes(
  db: Db,
  groups: readonly string[],
): Promise<(group: string) => string | undefined> {
  const grants = await readGroupGrants(db, ANONYMOUS_IDENTITY, [...new Set(groups.flatMap(pathOf))])
  return (group) => {
    let held = noCapabilities
    return [PLATFORM, ...pathOf(group)].find((scope) => {
      held = union(held, grants.get(scope) ?? noCapabilities)
      return includesAll(held, pull)
    })
  }
}
