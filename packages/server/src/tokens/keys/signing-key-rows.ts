import { createHash, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { seal, unseal } from '../../runtime/encryption.ts'
import type { Tx } from '../../storage/db.ts'
import type { SigningKeyRow } from '../../storage/schema/tables.ts'
import { readSetting, writeSetting } from '../../storage/settings.ts'
import type { Store } from '../../storage/store.ts'

/** The stored signing keys, and how nodes detect changes of them. */

export const ALGORITHM = 'ES256'

const CHANGED_SETTING = 'signing_keys_changed'

const context = (kid: string) => `signing key ${kid}`

/** A version that changes with every change of the keys. */
export function keysVersion({ db }: Pick<Store, 'db'>): Promise<string | undefined> {
  return readSetting(db.kysely, CHANGED_SETTING)
}

/** Locks the keys until the transaction ends, so that nodes change them one after the other. */
export async function lockKeys(tx: Tx): Promise<void> {
  await writeSetting(tx, CHANGED_SETTING, randomUUID())
}

/** Generates a key, without storing it. */
export async function generateKeyRow(
  { clock, secretsKey }: Pick<Store, 'clock' | 'secretsKey'>,
  times: Pick<SigningKeyRow, 'signs_from_ms' | 'expires_ms'>,
): Promise<SigningKeyRow> {
  const { privateKey, publicKey } = await generateKeyPair(ALGORITHM, { extractable: true })
  const jwk = await exportJWK(publicKey)
  const kid = createHash('sha256').update(`${jwk.x}.${jwk.y}`).digest('base64url').slice(0, 22)
  const publicJwk: JWK = { ...jwk, kid, alg: ALGORITHM, use: 'sig' }
  const privateJwk = JSON.stringify({ ...(await exportJWK(privateKey)), kid })
  return {
    kid,
    public_jwk: JSON.stringify(publicJwk),
    private_jwk: seal(secretsKey, privateJwk, context(kid)),
    created_ms: clock(),
    ...times,
  }
}

/** Decrypts a stored key. Throws if it was encrypted with another master key. */
export function decryptKeyRow(
  { secretsKey }: Pick<Store, 'secretsKey'>,
  row: SigningKeyRow,
): { readonly publicJwk: JWK; readonly privateJwk: JWK } {
  const privateJwk = unseal(secretsKey, row.private_jwk, context(row.kid))
  if (privateJwk === undefined)
    throw new Error('the signing keys in the database were encrypted with another master key')
  return { publicJwk: JSON.parse(row.public_jwk) as JWK, privateJwk: JSON.parse(privateJwk) as JWK }
}
