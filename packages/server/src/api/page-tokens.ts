import { createCipheriv, createDecipheriv, hash, type KeyObject } from 'node:crypto'
import { limits } from '../config/limits.ts'
import { takeRandomBytes } from '../runtime/random-bytes.ts'
import { invalidArgument } from './errors.ts'

/**
 * Page tokens: encrypted and authenticated with a key of this installation (AES-256-GCM), so that they can be neither read nor
 * forged (R26), with a time of issue, and bound to the query that they continue.
 */

/** The value of a sort key. */
export type CursorValue = string | number

export interface Cursor {
  /** Sort keys of the last row that was returned, in the sequence of the order. */
  readonly after: readonly CursorValue[]
  /** The `skip` of the request whose response contained the token. */
  readonly skip: number
  /** The number of results skipped by `skip` so far. */
  readonly skipped: number
  /** The total, if counting it again would cost a scan. */
  readonly totalCount?: number
}

export interface PageTokens {
  /** Returns the opaque token of the page after `cursor`. */
  issue(cursor: Cursor, question: string): string
  /** 'forged': not from this server or not for this query. 'expired': older than three days, so the query restarts (the spec, "Limits"). */
  read(token: string, question: string): Cursor | 'forged' | 'expired'
}

const FORMAT = 1
const IV_BYTES = 12
const TAG_BYTES = 16

/** `key`: 32 bytes. `clock`: milliseconds since 1970. */
export function createPageTokens(key: KeyObject, clock: () => number): PageTokens {
  return {
    issue(cursor, question) {
      const plain = JSON.stringify([
        FORMAT,
        clock(),
        digest(question),
        cursor.skip,
        cursor.skipped,
        cursor.totalCount ?? null,
        cursor.after,
      ])
      const iv = takeRandomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, iv)
      // GCM is a stream cipher: `final` returns no bytes, but it computes the tag.
      const text = cipher.update(plain, 'utf8')
      cipher.final()
      return Buffer.concat([iv, text, cipher.getAuthTag()]).toString('base64url')
    },

    read(token, question) {
      const plain = decrypt(token, key)
      if (plain === undefined) return 'forged'
      const [format, issuedAtMs, boundTo, skip, skipped, totalCount, after] = JSON.parse(plain) as [
        number,
        number,
        string,
        number,
        number,
        number | null,
        CursorValue[],
      ]
      if (format !== FORMAT) return 'expired'
      if (clock() - issuedAtMs > limits.pageTokenMaxAgeMs) return 'expired'
      if (boundTo !== digest(question)) return 'forged'
      return { after, skip, skipped, ...(totalCount === null ? {} : { totalCount }) }
    },
  }
}

function digest(query: string): string {
  return hash('sha256', query, 'base64url').slice(0, 22)
}

function decrypt(token: string, key: KeyObject): string | undefined {
  if (token.length > limits.pageTokenCharsMax || !/^[A-Za-z0-9_-]+$/.test(token)) return undefined
  const body = Buffer.from(token, 'base64url')
  if (body.length <= IV_BYTES + TAG_BYTES) return undefined
  // Otherwise two texts that differ in trailing bits would be the same token.
  if (body.toString('base64url') !== token) return undefined
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, IV_BYTES))
    decipher.setAuthTag(body.subarray(body.length - TAG_BYTES))
    return (
      decipher.update(body.subarray(IV_BYTES, body.length - TAG_BYTES), undefined, 'utf8') +
      decipher.final('utf8')
    )
  } catch {
    return undefined // the authentication tag does not match
  }
}

/** Returns the size of a page: the default for 0 or undefined, at most the maximum. The caller rejects negative sizes (decision 6). */
export function effectivePageSize(requested: number): number {
  return requested === 0 ? limits.pageSizeDefault : Math.min(requested, limits.pageSizeMax)
}

/** Throws INVALID_ARGUMENT for negative sizes. */
export function requirePageSize(pageSize: number): void {
  if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
}
