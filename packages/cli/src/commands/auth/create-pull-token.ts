import { createPullToken, PULL_TOKEN_SECONDS_MAX, type PullToken } from '@berth/workloads/pull-tokens.ts'
import { parseDurationOption } from '../../invocation/durations.ts'
import { UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { resolveGroupUid, resolveRoleUid } from '../../invocation/resource-lookup.ts'

/** The role for each kind of repository. */
const pullRoles: Readonly<Record<string, string>> = { oci: 'registry.pull', apk: 'apk.pull' }

/** Creates the pull token that the options describe. */
export async function runPullTokenCreation(invocation: AuthInvocation): Promise<PullToken> {
  const lifetimeSeconds = parseDurationOption('--ttl', invocation.option('ttl'))
  if (lifetimeSeconds <= 0 || lifetimeSeconds > PULL_TOKEN_SECONDS_MAX)
    throw new UsageError('--ttl must be greater than 0 and at most 8760h')
  const role = pullRoles[invocation.option('repository') || 'oci'] ?? ''
  const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
  const roleUid = await resolveRoleUid(invocation, role, { group })
  return createPullToken(await invocation.client(), {
    name: invocation.option('name'),
    description: invocation.option('description'),
    ...{ group, roleUid, lifetimeSeconds },
    audience: invocation.settings.issuer,
  })
}
