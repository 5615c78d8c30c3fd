import { randomBytes } from 'node:crypto'
import type { Digest } from '../manifests/digests.ts'
import type { StoredUpload } from './blob-store.ts'

/**
 * Where the blob store has the bytes of a digest: another place each time that they are stored anew. The name tells when it was chosen,
 * whatever a store says of the age of what it has.
 */
export function newLocation({ algorithm, hex }: Digest, nowMs: number): string {
  return `${algorithm}/${hex.slice(0, 2)}/${hex}.${nowMs.toString(36)}-${randomBytes(8).toString('hex')}`
}

export interface BlobLocation {
  readonly digest: string
  readonly createdMs: number
}

/** Undefined for what has no such name: somebody else has put it there. */
export function parseLocation(location: string): BlobLocation | undefined {
  const [, algorithm, prefix, hex = '', time = ''] =
    /^(sha256|sha512)\/([0-9a-f]{2})\/([0-9a-f]{64,128})\.([0-9a-z]{1,9})-[0-9a-f]{16}$/.exec(location) ?? []
  if (algorithm === undefined || prefix !== hex.slice(0, 2)) return undefined
  return { digest: `${algorithm}:${hex}`, createdMs: Number.parseInt(time, 36) }
}

/** Whether the registry may have begun this: what it has not stays as it is. */
export function isOwnUpload({ id, location }: Pick<StoredUpload, 'id' | 'location'>): boolean {
  return /^[0-9a-f]{32}$/.test(id) && (location === undefined || parseLocation(location) !== undefined)
}
