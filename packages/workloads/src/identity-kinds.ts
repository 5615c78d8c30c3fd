import type { Identity, RelationshipType } from '@berth/client/berth.ts'

/** Issuer that marks an identity with static keys as a pull token. */
export const PULL_TOKEN_ISSUER = 'https://pulltoken.issuer.berth'

export type IdentityKind = 'claim_match' | 'static' | 'pull_token' | 'aws' | 'service_principal' | 'user'

export function identityKind(identity: Identity): IdentityKind {
  if (identity.claimMatch !== undefined) return 'claim_match'
  if (identity.staticKeys !== undefined)
    return identity.staticKeys.issuer === PULL_TOKEN_ISSUER ? 'pull_token' : 'static'
  if (identity.awsIdentity !== undefined) return 'aws'
  return identity.servicePrincipal === undefined ? 'user' : 'service_principal'
}

/** The filter of the API for each kind. */
export const relationshipTypes: Readonly<Record<string, RelationshipType>> = {
  claim_match: 'RELATIONSHIP_TYPE_CLAIM_MATCH',
  static: 'RELATIONSHIP_TYPE_STATIC',
  pull_token: 'RELATIONSHIP_TYPE_STATIC',
  aws: 'RELATIONSHIP_TYPE_AWS_IDENTITY',
  service_principal: 'RELATIONSHIP_TYPE_SERVICE_PRINCIPAL',
}

/** Returns when the identity was last used. The API sets the time when an identity is created; users are created when they sign in. */
export function lastUse(identity: Identity): string | undefined {
  const { lastSeenTime = '', createTime } = identity
  const isUnused = lastSeenTime === '' || (lastSeenTime === createTime && identityKind(identity) !== 'user')
  return isUnused ? undefined : lastSeenTime
}
