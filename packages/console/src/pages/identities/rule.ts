import type { Identity } from '@berth/client'
import type { FieldValues, Rule } from '@berth/workloads/platforms.ts'
import { DAY_MS } from '../../durations.ts'

/** Rules of identities that are written by hand, as values of a form. */

export type CustomKind = 'oidc' | 'static' | 'aws'

export const PATTERN = 'pattern'

export type CustomRule = { readonly rule: Rule } | { readonly problems: Readonly<Record<string, string>> }

/** Parses lines of `name: value`. Returns the line that is none as text. */
function parseLines(text: string): Readonly<Record<string, string>> | string {
  const pairs: Record<string, string> = {}
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const mark = line.indexOf(':')
    if (mark < 1) return line
    pairs[line.slice(0, mark).trim()] = line.slice(mark + 1).trim()
  }
  return pairs
}

const formatLines = (pairs: Readonly<Record<string, string>> = {}) =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')

/** Returns the rule that values of a form describe, or why fields are invalid. The server checks the rest. */
export function customRule(kind: CustomKind, values: FieldValues): CustomRule {
  const problems: Record<string, string> = {}
  const value = (name: string) => (values[name] ?? '').trim()
  for (const name of required[kind]) if (value(name) === '') problems[name] = 'is required'
  /** The member for the exact value, or the one for a pattern. */
  const choice = (name: string) =>
    value(name) === '' ? {} : { [values[`${name}Is`] === PATTERN ? `${name}Pattern` : name]: value(name) }
  const lines = (name: string) => {
    const pairs = parseLines(values[name] ?? '')
    if (typeof pairs !== 'string') return Object.keys(pairs).length === 0 ? {} : { [name]: pairs }
    problems[name] = `has a line without NAME: VALUE: ${pairs}`
    return {}
  }
  const expires = new Date(value('expires'))
  const rules: Record<CustomKind, () => Rule> = {
    oidc: () => ({
      claimMatch: {
        ...choice('issuer'),
        ...choice('subject'),
        ...choice('audience'),
        ...lines('claims'),
        ...lines('claimPatterns'),
      },
    }),
    static: () => ({
      staticKeys: {
        issuer: value('issuer'),
        subject: value('subject'),
        issuerKeys: value('issuerKeys'),
        ...(Number.isNaN(expires.getTime()) ? {} : { expirationTime: expires.toISOString() }),
        ...(value('audience') === '' ? {} : { audiences: value('audience').split(/\s+/) }),
      },
    }),
    aws: () => ({ awsIdentity: { awsAccount: value('awsAccount'), ...choice('arn'), ...choice('userId') } }),
  }
  const rule = rules[kind]()
  return Object.keys(problems).length > 0 ? { problems } : { rule }
}

const required: Readonly<Record<CustomKind, readonly string[]>> = {
  oidc: ['issuer', 'subject'],
  static: ['issuer', 'subject', 'issuerKeys'],
  aws: ['awsAccount', 'arn', 'userId'],
}

/** A time for an input of the type `datetime-local`, in the zone of the browser. Saved unchanged, it is the same time. */
function localTime(ms: number): string {
  const date = new Date(ms)
  const text = new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, -1)
  return text.replace(/:00\.000$/, '')
}

/** When new keys expire, unless the user says otherwise. */
export const defaultExpiry = (): string => localTime(new Date().setSeconds(0, 0) + 90 * DAY_MS)

/** Returns the kind of the rule of an identity, and its values for a form; undefined if it cannot be changed. */
export function valuesOfRule({
  claimMatch,
  staticKeys,
  awsIdentity,
}: Identity): { readonly kind: CustomKind; readonly values: FieldValues } | undefined {
  const choice = (name: string, exact: string | undefined, pattern: string | undefined) => ({
    [name]: exact ?? pattern ?? '',
    [`${name}Is`]: pattern === undefined ? '' : PATTERN,
  })
  if (claimMatch !== undefined)
    return {
      kind: 'oidc',
      values: {
        ...choice('issuer', claimMatch.issuer, claimMatch.issuerPattern),
        ...choice('subject', claimMatch.subject, claimMatch.subjectPattern),
        ...choice('audience', claimMatch.audience, claimMatch.audiencePattern),
        claims: formatLines(claimMatch.claims),
        claimPatterns: formatLines(claimMatch.claimPatterns),
      },
    }
  if (staticKeys !== undefined)
    return {
      kind: 'static',
      values: {
        issuer: staticKeys.issuer,
        subject: staticKeys.subject,
        issuerKeys: staticKeys.issuerKeys,
        expires:
          staticKeys.expirationTime === undefined ? '' : localTime(Date.parse(staticKeys.expirationTime)),
        audience: staticKeys.audiences?.join(' ') ?? '',
      },
    }
  if (awsIdentity !== undefined)
    return {
      kind: 'aws',
      values: {
        awsAccount: awsIdentity.awsAccount,
        ...choice('arn', awsIdentity.arn, awsIdentity.arnPattern),
        ...choice('userId', awsIdentity.userId, awsIdentity.userIdPattern),
      },
    }
  return undefined
}

/** Public keys of a JSON Web Key Set, as far as they can be read. */
export interface PublicKey {
  readonly id: string
  readonly type: string
}

/** Returns undefined if the text is no key set. */
export function readKeys(text: string): readonly PublicKey[] | undefined {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown }
    if (!Array.isArray(keys)) return undefined
    return keys.map((key: Readonly<Record<string, unknown>>) => ({
      id: String(key['kid'] ?? ''),
      type: [key['kty'], key['crv'], key['alg']].filter((part) => typeof part === 'string').join(' '),
    }))
  } catch {
    return undefined
  }
}

/** Adds the keys of a set to another. Returns the added text if one of them is no key set: the server says what is wrong. */
export function addKeys(existing: string, added: string): string {
  try {
    const keysOf = (text: string) => (JSON.parse(text) as { keys: unknown[] }).keys
    return JSON.stringify({ keys: [...keysOf(existing), ...keysOf(added)] })
  } catch {
    return added
  }
}
