import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type JsonWebKey,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { seal, unseal } from '../../runtime/encryption.ts'
import type { Tx } from '../../storage/db.ts'
import type { SigningKeyRow } from '../../storage/schema/tables.ts'
import { readSetting, writeSetting } from '../../storage/settings.ts'
import type { Store } from '../../storage/store.ts'

/** The stored signing keys, and how nodes detect changes of them. */

/** The algorithms of our keys; the first one is the default. ES256 signs faster, RS256 is known to every verifier. */
export const signingAlgorithms = ['ES256', 'RS256'] as const
export type SigningAlgorithm = (typeof signingAlgorithms)[number]

/** Returns the only algorithm that one of our keys is used with. */
export function algorithmOfKey({ asymmetricKeyType }: KeyObject): SigningAlgorithm {
  return asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256'
}

const RSA_BITS = 2048

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
  algorithm: SigningAlgorithm,
  times: Pick<SigningKeyRow, 'signs_from_ms' | 'expires_ms'>,
): Promise<SigningKeyRow> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, {
    extractable: true,
    modulusLength: RSA_BITS,
  })
  const jwk = await exportJWK(publicKey)
  const material = algorithm === 'RS256' ? jwk.n : `${jwk.x}.${jwk.y}`
  const kid = createHash('sha256').update(String(material)).digest('base64url').slice(0, 22)
  const publicJwk: JWK = { ...jwk, kid, alg: algorithm, use: 'sig' }
  const privateJwk = JSON.stringify({ ...(await exportJWK(privateKey)), kid })
  return {
    kid,
    public_jwk: JSON.stringify(publicJwk),
    private_jwk: seal(secretsKey, privateJwk, context(kid)),
    created_ms: clock(),
    ...times,
  }
}

/** A stored key, ready for use. */
export interface LoadedKey {
  readonly row: SigningKeyRow
  readonly publicJwk: JWK
  readonly algorithm: SigningAlgorithm
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

/** Decrypts and imports a stored key. Throws if it was encrypted with another master key. */
export function loadKeyRow({ secretsKey }: Pick<Store, 'secretsKey'>, row: SigningKeyRow): LoadedKey {
  const privateJwk = unseal(secretsKey, row.private_jwk, context(row.kid))
  if (privateJwk === undefined)
    throw new Error('the signing keys in the database were encrypted with another master key')
  const publicJwk = JSON.parse(row.public_jwk) as JWK
  const publicKey = createPublicKey({ key: publicJwk as JsonWebKey, format: 'jwk' })
  return {
    row,
    publicJwk,
    algorithm: algorithmOfKey(publicKey),
    publicKey,
    privateKey: createPrivateKey({ key: JSON.parse(privateJwk) as JsonWebKey, format: 'jwk' }),
  }
}
