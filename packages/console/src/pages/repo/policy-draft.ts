import type { RepoPolicy, RetentionRule } from '@berth/client'
import type { PolicyRules } from '../../api/queries/registry/policies.ts'
import { DURATION_HINT, formatDuration, parseDuration } from './duration.ts'

/** A policy while it is edited: all values are texts, which may be wrong. */

export interface RuleDraft {
  /** Identifies the rule while it is edited. */
  readonly key: number
  readonly patterns: string
  readonly newest: string
  readonly youngerThan: string
}

export interface PolicyDraft {
  readonly immutable: string
  readonly exceptions: string
  readonly enabled: boolean
  readonly rules: readonly RuleDraft[]
  readonly untaggedAfter: string
}

let keys = 0
export const newRule = (): RuleDraft => ({ key: ++keys, patterns: '', newest: '', youngerThan: '' })

const optionalDuration = (duration: string | undefined): string =>
  duration === undefined ? '' : formatDuration(duration)

export function draftOf({ immutableTags, retention }: RepoPolicy): PolicyDraft {
  return {
    immutable: immutableTags?.patterns.join(' ') ?? '',
    exceptions: immutableTags?.exceptions.join(' ') ?? '',
    enabled: retention?.enabled === true,
    rules: (retention?.rules ?? []).map(({ patterns, newest, youngerThan }) => ({
      ...newRule(),
      patterns: patterns.join(' '),
      newest: newest === 0 ? '' : String(newest),
      youngerThan: optionalDuration(youngerThan),
    })),
    untaggedAfter: optionalDuration(retention?.untaggedAfter),
  }
}

const patternsOf = (text: string): string[] => text.split(/[\s,]+/).filter((pattern) => pattern !== '')

/** Problems by the field that has them: `untaggedAfter`, `rules.0.newest`. */
export type DraftProblems = Readonly<Record<string, string>>

export interface ReadDraft {
  readonly rules: PolicyRules
  readonly problems: DraftProblems
}

const DURATION_PROBLEM = `${DURATION_HINT}, or empty`
const NUMBER_PROBLEM = 'A whole number, or empty'
const EMPTY_PROBLEM = 'Set at least one condition'

/** Returns what a draft means; wrong values are left out, and named in `problems`. */
export function readDraft(draft: PolicyDraft): ReadDraft {
  const problems: Record<string, string> = {}
  const duration = (field: string, text: string): string | undefined => {
    const value = text.trim() === '' ? undefined : parseDuration(text)
    if (text.trim() !== '' && value === undefined) problems[field] = DURATION_PROBLEM
    return value
  }
  const untaggedAfter = duration('untaggedAfter', draft.untaggedAfter)
  const rules = draft.rules.map((rule, at) => {
    const patterns = patternsOf(rule.patterns)
    const youngerThan = duration(`rules.${at}.youngerThan`, rule.youngerThan)
    const isNumber = /^\s*\d{0,4}\s*$/.test(rule.newest)
    if (!isNumber) problems[`rules.${at}.newest`] = NUMBER_PROBLEM
    const newest = isNumber ? Number(rule.newest) : 0
    const isEmpty = patterns.length === 0 && newest === 0 && rule.youngerThan.trim() === '' && isNumber
    if (isEmpty) problems[`rules.${at}.patterns`] = EMPTY_PROBLEM
    return { patterns, newest, ...(youngerThan !== undefined && { youngerThan }) }
  })
  return {
    problems,
    rules: {
      immutableTags: { patterns: patternsOf(draft.immutable), exceptions: patternsOf(draft.exceptions) },
      retention: { enabled: draft.enabled, rules, ...(untaggedAfter !== undefined && { untaggedAfter }) },
    },
  }
}

/** Whether two drafts mean the same. */
export function isSameDraft(a: PolicyDraft, b: PolicyDraft): boolean {
  const textOf = (draft: PolicyDraft) =>
    JSON.stringify(draft, (name, value) => (name === 'key' ? undefined : value))
  return textOf(a) === textOf(b)
}

/** A rule as a sentence. */
export function ruleText({ patterns, newest, youngerThan }: RetentionRule): string {
  const tags = patterns.length === 0 ? 'tags' : `tags ${patterns.join(', ')}`
  const age = youngerThan === undefined ? '' : ` updated within ${formatDuration(youngerThan)}`
  return newest === 0 ? `Keeps ${tags}${age}` : `Keeps the newest ${newest} ${tags}${age}`
}
