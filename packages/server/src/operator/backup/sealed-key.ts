import { createSecretKey, type KeyObject, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { type MasterKey, parseMasterKey, seal, unseal } from '../../runtime/encryption.ts'

/** The master key in a backup: encrypted with AES-256-GCM, with a key that scrypt (RFC 7914) derives from a passphrase. */
export interface SealedKey {
  readonly kdf: 'scrypt'
  /** Cost, block size and parallelization. */
  readonly n: number
  readonly r: number
  readonly p: number
  /** Base64. */
  readonly salt: string
  readonly sealed: string
}

/** 128 MiB and about half a second for each guess (OWASP: N = 2^17, r = 8, p = 1). */
const COST = { n: 2 ** 17, r: 8, p: 1 } as const
/** A manifest that was tampered with cannot ask for more memory, in bytes. */
const MEMORY_MAX = 1024 ** 3
const KEY_BYTES = 32

const derive = promisify<string, Uint8Array, number, object, Buffer>(scrypt)

export async function sealKey(key: MasterKey, passphrase: string, backup: string): Promise<SealedKey> {
  const salt = randomBytes(16)
  const cost = { kdf: 'scrypt', ...COST, salt: salt.toString('base64') } as const
  const sealed = seal(
    await deriveWrappingKey(cost, passphrase),
    Buffer.from(key).toString('base64'),
    contextOf(backup),
  )
  return { ...cost, sealed: Buffer.from(sealed).toString('base64') }
}

/** Undefined when the passphrase is another one. */
export async function unsealKey(
  key: SealedKey,
  passphrase: string,
  backup: string,
): Promise<MasterKey | undefined> {
  const sealed = Buffer.from(key.sealed, 'base64')
  const text = unseal(await deriveWrappingKey(key, passphrase), sealed, contextOf(backup))
  return text === undefined ? undefined : parseMasterKey(text)
}

async function deriveWrappingKey(
  { n, r, p, salt }: Omit<SealedKey, 'sealed'>,
  passphrase: string,
): Promise<KeyObject> {
  const bytes = Buffer.from(salt, 'base64')
  const options = { N: n, r, p, maxmem: MEMORY_MAX }
  return createSecretKey(await derive(passphrase.normalize('NFC'), bytes, KEY_BYTES, options))
}

function contextOf(backup: string): string {
  return `master key in backup ${backup}`
}
