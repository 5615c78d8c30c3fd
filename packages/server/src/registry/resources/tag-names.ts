import type { FieldViolation } from '../../api/errors.ts'

/** The syntax of tags and digests (the OCI distribution and image specifications), and the forms of tags that lists omit by default. */

const tagNamePattern = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/

const digestPattern = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/

export function checkTagName(name: string, field = 'name'): FieldViolation | undefined {
  if (tagNamePattern.test(name)) return undefined
  return { field, description: `must match "${tagNamePattern.source}"` }
}

export function checkDigest(digest: string, field = 'digest'): FieldViolation | undefined {
  if (digestPattern.test(digest)) return undefined
  return { field, description: 'must be sha256: and 64, or sha512: and 128 lower-case hex digits' }
}

/** The forms of names that lists omit unless requested, each a bit. */
const REFERRER = 1
const DATE = 2
const EPOCH = 4
const ALL_FORMS = REFERRER | DATE | EPOCH

/** Returns the forms of a name, as bits: none, one or several. */
export function tagFormsOf(name: string): number {
  return (
    (/^sha256-/.test(name) ? REFERRER : 0) |
    (/-20[0-9]{6}$/.test(name) ? DATE : 0) |
    (/-r[0-9]+$/.test(name) ? EPOCH : 0)
  )
}

/** The switches of a list; each includes names of one form. */
export interface TagFormFilter {
  readonly includeReferrers: boolean
  readonly includeDates: boolean
  readonly includeEpochs: boolean
}

/** The values of `formsOf` for listed names: a name of two forms needs both switches. Undefined: any. */
export function listedTagForms(filter: TagFormFilter): number[] | undefined {
  const on =
    (filter.includeReferrers ? REFERRER : 0) |
    (filter.includeDates ? DATE : 0) |
    (filter.includeEpochs ? EPOCH : 0)
  if (on === ALL_FORMS) return undefined
  return Array.from({ length: ALL_FORMS }, (_, forms) => forms).filter((forms) => (forms & ~on) === 0)
}
