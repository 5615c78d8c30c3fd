import type { Identity, RelationshipType } from '@berth/client/berth.ts'
import { filterItems } from '../../invocation/async-iterables.ts'
import type { Invocation } from '../../invocation/invocation.ts'
import { readScope } from '../../invocation/resource-lookup.ts'
import { createdColumn, descriptionColumn, idColumn, nameColumn } from '../../output/columns.ts'
import type { Column, View } from '../../output/output.ts'
import { PULL_TOKEN_ISSUER } from '../auth/pull-token-issuer.ts'

/** Lists identities, including pull tokens, with their types and roles. */

function identityType(identity: Identity): string {
  if (identity.claimMatch !== undefined) return 'claim_match'
  if (identity.staticKeys !== undefined)
    return identity.staticKeys.issuer === PULL_TOKEN_ISSUER ? 'pull_token' : 'static'
  if (identity.awsIdentity !== undefined) return 'aws'
  return identity.servicePrincipal === undefined ? 'user' : 'service_principal'
}

const expiryOf = ({ staticKeys }: Identity) => staticKeys?.expirationTime ?? ''

function issuerOf({ claimMatch, staticKeys, awsIdentity }: Identity): string {
  if (awsIdentity !== undefined) return awsIdentity.arn ?? awsIdentity.arnPattern ?? ''
  return claimMatch?.issuer ?? claimMatch?.issuerPattern ?? staticKeys?.issuer ?? ''
}

/** Returns the subject of the tokens that may assume an identity. */
function subjectOf({ claimMatch, staticKeys, awsIdentity }: Identity): string {
  if (awsIdentity !== undefined) return awsIdentity.userId ?? awsIdentity.userIdPattern ?? ''
  return claimMatch?.subject ?? claimMatch?.subjectPattern ?? staticKeys?.subject ?? ''
}

function formatClaims({ claimMatch }: Identity): string {
  const { claims = {}, claimPatterns = {} } = claimMatch ?? {}
  return Object.entries({ ...claims, ...claimPatterns })
    .map(([name, value]) => `${name}:${value}`)
    .join(', ')
}

const columns: readonly Column<Identity>[] = [
  idColumn,
  nameColumn,
  { title: 'TYPE', kind: 'name', value: identityType },
  descriptionColumn,
  { title: 'ISSUER', value: issuerOf },
  { title: 'SUBJECT', value: subjectOf, wide: true },
  {
    title: 'AUDIENCE',
    value: ({ claimMatch, staticKeys }) =>
      claimMatch?.audience ?? claimMatch?.audiencePattern ?? (staticKeys?.audiences ?? []).join(', '),
    wide: true,
  },
  { title: 'CLAIMS', value: formatClaims, wide: true },
  { title: 'EXPIRES', kind: 'time', value: expiryOf },
  {
    title: 'LAST SEEN',
    kind: 'time',
    value: ({ lastSeenTime = '' }) => lastSeenTime,
    wide: true,
  },
  createdColumn,
]

export const identityView: View<Identity> = { columns, empty: 'no identities visible to you' }

/** Adds a column with the roles, as `group: role`, for tables and CSV. `titles`: only these columns. */
export async function viewWithRoles(
  invocation: Invocation,
  { titles, empty }: { readonly titles?: readonly string[]; readonly empty?: string } = {},
): Promise<View<Identity>> {
  const { format } = invocation.output
  const shows = format === 'table' || format === 'wide' || format === 'tree' || format === 'csv'
  const roles = shows ? await rolesOfIdentities(invocation) : new Map<string, string[]>()
  const shown = columns.filter(({ title }) => titles === undefined || titles.includes(title))
  const at = shown.findIndex(({ title }) => title === 'DESCRIPTION') + 1
  return {
    columns: shown.toSpliced(at, 0, {
      title: 'ROLES',
      value: ({ uid }) => (roles.get(uid) ?? []).join(', '),
    }),
    empty: empty ?? identityView.empty ?? '',
  }
}

async function rolesOfIdentities(invocation: Invocation): Promise<ReadonlyMap<string, readonly string[]>> {
  const client = await invocation.client()
  const roles = new Map<string, string[]>()
  for await (const { identityUid, role, group } of client.roleBindings.all(await readScope(invocation)))
    roles.set(identityUid, [...(roles.get(identityUid) ?? []), `${group?.name}: ${role?.name}`])
  return roles
}

/** The values of `--type`. */
export const relationshipTypes: Readonly<Record<string, RelationshipType>> = {
  claim_match: 'RELATIONSHIP_TYPE_CLAIM_MATCH',
  static: 'RELATIONSHIP_TYPE_STATIC',
  pull_token: 'RELATIONSHIP_TYPE_STATIC',
  aws: 'RELATIONSHIP_TYPE_AWS_IDENTITY',
  service_principal: 'RELATIONSHIP_TYPE_SERVICE_PRINCIPAL',
}

const isExpired = (identity: Identity) => {
  const until = expiryOf(identity)
  return until !== '' && Date.parse(until) <= Date.now()
}

export async function* listIdentities(
  invocation: Invocation,
  only: { readonly type: string; readonly expired: boolean; readonly name: string },
): AsyncGenerator<Identity> {
  const client = await invocation.client()
  const relationshipType = relationshipTypes[only.type]
  const all = client.identities.all({
    orderBy: 'name',
    ...(await readScope(invocation)),
    ...(only.name === '' ? {} : { name: only.name }),
    ...(relationshipType === undefined ? {} : { relationshipType }),
  })
  yield* filterItems(
    all,
    (identity) =>
      (only.type === '' || identityType(identity) === only.type) && (!only.expired || isExpired(identity)),
  )
}
