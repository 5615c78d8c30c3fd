import { randomBytes } from 'node:crypto'
import type { IdentityInput } from '@berth/client/berth.ts'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { parseDurationOption } from '../../invocation/durations.ts'
import { UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { resolveGroupUid, resolveRoleUid } from '../../invocation/resource-lookup.ts'
import { PULL_TOKEN_ISSUER } from './pull-token-issuer.ts'

/**
 * A pull token: user name and password of a machine that pulls without a sign-in. It is an identity with a key that is generated here
 * and signs one token. The server never sees the key; deleting the identity revokes the token.
 */
export interface PullToken {
  /** uid of the identity: the user name. */
  readonly identity: string
  /** The password. */
  readonly token: string
  readonly name: string
  readonly expires: string
}

const SUBJECT_PREFIX = 'pull-token-'
const MAX_SECONDS = 8760 * 3600

/** The role for each kind of repository. */
const pullRoles: Readonly<Record<string, string>> = { oci: 'registry.pull', apk: 'apk.pull' }

export async function createPullToken(invocation: AuthInvocation): Promise<PullToken> {
  const lifetime = parseDurationOption('--ttl', invocation.option('ttl'))
  if (lifetime <= 0 || lifetime > MAX_SECONDS)
    throw new UsageError('--ttl must be greater than 0 and at most 8760h')
  const role = pullRoles[invocation.option('repository') || 'oci'] ?? ''
  const group = await resolveGroupUid(invocation, invocation.option('parent'), '--parent')
  const roleUid = await resolveRoleUid(invocation, role, { group })
  const { publicKey, privateKey } = await generateKeyPair('RS256', { modulusLength: 4096 })
  const subject = SUBJECT_PREFIX + randomBytes(20).toString('hex')
  const issuedAt = Math.floor(Date.now() / 1000)
  const expires = new Date((issuedAt + lifetime) * 1000).toISOString()
  const name = invocation.option('name')
  const description = invocation.option('description')
  const kid = subject.slice(SUBJECT_PREFIX.length, SUBJECT_PREFIX.length + 16)
  const client = await invocation.client()
  const body: Partial<IdentityInput> = {
    name,
    ...(description === '' ? {} : { description }),
    staticKeys: {
      issuer: PULL_TOKEN_ISSUER,
      subject,
      issuerKeys: JSON.stringify({
        keys: [{ ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' }],
      }),
      expirationTime: expires,
    },
  }
  const { uid } = await client.identities.create(group, body as IdentityInput)
  try {
    await client.roleBindings.create(group, { identityUid: uid, roleUid })
  } catch (error) {
    await client.identities.delete(uid)
    throw error
  }
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'RS256', kid, typ: 'JWT' })
    .setIssuer(PULL_TOKEN_ISSUER)
    .setSubject(subject)
    .setAudience(invocation.settings.issuer)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifetime)
    .sign(privateKey)
  return { identity: uid, token, name, expires }
}
