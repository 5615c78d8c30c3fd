import type { FieldViolation } from '../core/errors.ts'

/** What tags and digests look like (OCI distribution specification 1.1, image specification 1.1). Pure. */

const tagPattern = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/
const digestPattern = /^(?:sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$/

export function checkTagName(name: string, field = 'name'): FieldViolation | undefined {
  if (tagPattern.test(name)) return undefined
  return { field, description: `must match "${tagPattern.source}"` }
}

export function checkDigest(digest: string): FieldViolation | undefined {
  if (digestPattern.test(digest)) return undefined
  return {
    field: 'digest',
    description: 'must be sha256: and 64 hexadecimal digits, or sha512: and 128, in lower case',
  }
}

/** The forms of names that lists leave out unless they are asked for, as bits. */
export const TAG_FORMS = { referrer: 1, date: 2, epoch: 4 } as const

const formPatterns: readonly [form: number, pattern: RegExp][] = [
  [TAG_FORMS.referrer, /^sha256-/],
  [TAG_FORMS.date, /-20[0-9]{6}$/],
  [TAG_FORMS.epoch, /-r[0-9]+$/],
]

/** All forms that a name has. */
export function formsOf(name: string): number {
  return formPatterns.reduce((forms, [form, pattern]) => (pattern.test(name) ? forms | form : forms), 0)
}

/** The combinations of forms that a list shows which shows these forms: a name of two forms needs both. */
export function formsWithin(shown: number): number[] {
  const every = TAG_FORMS.referrer | TAG_FORMS.date | TAG_FORMS.epoch
  return Array.from({ length: every + 1 }, (_, forms) => forms).filter((forms) => (forms & ~shown) === 0)
}
