import { randomBytes } from 'node:crypto'
import type { Digest } from '../manifests/digests.ts'
import type { StoredUpload } from './blob-store.ts'

/**
 * Returns the location for the bytes of a digest in the blob store: a new one each time they are stored. The name contains the time
 * when it was created, since stores may not report a reliable age.
 */
export function newLocation({ algorithm, hex }: Digest, nowMs: number): string {
  return `${algorithm}/${hex.slice(0, 2)}/${hex}.${nowMs.toString(36)}-${randomBytes(8).toString('hex')}`
}

export interface BlobLocation {
  readonly digest: string
  readonly createdMs: number
}

/** Returns undefined for a name that the registry did not create. */
export function parseLocation(location: string): BlobLocation | undefined {
  const [, algorithm, prefix, hex = '', time = ''] =
    /^(sha256|sha512)\/([0-9a-f]{2})\/([0-9a-f]{64,128})\.([0-9a-z]{1,9})-[0-9a-f]{16}$/.exec(location) ?? []
  if (algorithm === undefined || prefix !== hex.slice(0, 2)) return undefined
  return { digest: `${algorithm}:${hex}`, createdMs: Number.parseInt(time, 36) }
}

/** Whether the registry may have created this upload: others are kept. */
export function isOwnUpload({ id, location }: Pick<StoredUpload, 'id' | 'location'>): boolean {
  return /^[0-9a-f]{32}$/.test(id) && (location === undefined || parseLocation(location) !== undefined)
}
