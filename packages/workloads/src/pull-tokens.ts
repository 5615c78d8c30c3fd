import type { BerthClient } from '@berth/client/berth.ts'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createIdentityWithRoles } from './creation.ts'
import { PULL_TOKEN_ISSUER } from './identity-kinds.ts'

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

export interface PullTokenInput {
  readonly name: string
  readonly description?: string
  /** uid of the folder that the token can pull from. */
  readonly group: string
  readonly roleUid: string
  readonly lifetimeSeconds: number
  /** Address of the token service, which the token is for. */
  readonly audience: string
}

/** Static keys expire a year after they are created. */
export const PULL_TOKEN_SECONDS_MAX = 8760 * 3600

const SUBJECT_PREFIX = 'pull-token-'
const SUBJECT_BYTES = 20
const KEY_ID_CHARS = 16
/** A key in less than a millisecond; RSA with 4096 bits takes a second and makes passwords five times as long. */
const ALGORITHM = 'ES256'

export async function createPullToken(client: BerthClient, input: PullTokenInput): Promise<PullToken> {
  const { name, description = '', group, roleUid, lifetimeSeconds, audience } = input
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM)
  const random = crypto.getRandomValues(new Uint8Array(SUBJECT_BYTES))
  const hex = [...random].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  const subject = SUBJECT_PREFIX + hex
  const kid = hex.slice(0, KEY_ID_CHARS)
  const issuedAt = Math.floor(Date.now() / 1000)
  const expires = new Date((issuedAt + lifetimeSeconds) * 1000).toISOString()
  const jwk = { ...(await exportJWK(publicKey)), kid, alg: ALGORITHM, use: 'sig' }
  const staticKeys = {
    issuer: PULL_TOKEN_ISSUER,
    subject,
    issuerKeys: JSON.stringify({ keys: [jwk] }),
    expirationTime: expires,
  }
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: ALGORITHM, kid, typ: 'JWT' })
    .setIssuer(PULL_TOKEN_ISSUER)
    .setSubject(subject)
    .setAudience(audience)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + lifetimeSeconds)
    .sign(privateKey)
  const identity = { name, ...(description === '' ? {} : { description }), staticKeys }
  const { uid } = await createIdentityWithRoles(client, group, identity, [roleUid])
  return { identity: uid, token, name, expires }
}
