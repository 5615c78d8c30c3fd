import type {
  RepoPolicy,
  Retention,
  RetentionRule,
} from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { durationMs } from '../../api/messages.ts'
import { rootOf } from '../../api/uid.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Reader } from '../../storage/db.ts'
import type { TagRow } from '../../storage/schema/tables.ts'
import { isImmutable } from '../policies/immutable-tags.ts'
import { matchesAny } from '../policies/tag-patterns.ts'

/** Decides which tags the retention rules keep, with as much memory as the rules need, however many tags there are. */

export type TagCandidate = Pick<TagRow, 'uid' | 'name' | 'digest' | 'updated_ms'>

export interface TagVerdict {
  readonly tag: TagCandidate
  readonly deleted: boolean
  readonly reason: string
  /** Number of the first rule that keeps the tag, from 1. */
  readonly rule?: number
}

/** The tags that a rule keeps as the newest. As long as all of them exist, no older tag can be among the newest. */
export interface NewestTags {
  readonly names: ReadonlySet<string>
  /** When the oldest of them changed. */
  readonly sinceMs: number
  /** Also true for a tag that was created or moved since they were found: it is newer than they are. */
  includes(tag: TagCandidate): boolean
}

export interface RetentionRules {
  /** For each rule that keeps the newest tags and has more candidates. */
  readonly newest: readonly NewestTags[]
  evaluate(tag: TagCandidate): Omit<TagVerdict, 'tag'>
}

export interface RetentionTarget {
  readonly repo: string
  readonly retention: Retention
  readonly immutable: Pick<RepoPolicy, 'immutableTags'>
}

const immutableVerdict = { deleted: false, reason: 'immutable' } as const

/** Reads all tags of a repo to find the newest ones. */
export async function prepareRules(
  reader: Reader,
  target: RetentionTarget,
  nowMs: number,
): Promise<RetentionRules> {
  const { retention, immutable } = target
  const rankings = retention.rules.map((rule) => (rule.newest === 0 ? undefined : rankNewest(rule)))
  if (rankings.some((ranking) => ranking !== undefined))
    for await (const tags of tagPages(reader, target.repo))
      for (const tag of tags) {
        for (const ranking of rankings) ranking?.add(tag)
        await yieldToEventLoop()
      }
  const newest = rankings.map((ranking) => ranking?.newest())
  const keeps = (rule: RetentionRule, at: number, tag: TagCandidate): boolean =>
    ruleMatches(rule, tag.name) &&
    (newest[at] === undefined || newest[at].includes(tag)) &&
    (rule.youngerThan === undefined || nowMs - tag.updated_ms <= (durationMs(rule.youngerThan) ?? 0))
  return {
    newest: newest.filter((some) => some !== undefined),
    evaluate(tag) {
      if (isImmutable(immutable, tag.name)) return immutableVerdict
      if (retention.rules.length === 0) return { deleted: false, reason: 'the policy has no tag rules' }
      const at = retention.rules.findIndex((rule, at) => keeps(rule, at, tag))
      return at < 0
        ? { deleted: true, reason: 'no rule keeps it' }
        : { deleted: false, reason: `rule ${at + 1} keeps it`, rule: at + 1 }
    },
  }
}

export function ruleMatches({ patterns }: RetentionRule, name: string): boolean {
  return patterns.length === 0 || matchesAny(patterns, name)
}

/** Returns the newest tags that a rule applies to. */
function rankNewest(rule: RetentionRule) {
  // Sorted, so that most tags are compared with the last one only.
  const first: TagCandidate[] = []
  return {
    add(tag: TagCandidate) {
      const last = first[rule.newest - 1]
      if (last !== undefined && !isNewer(tag, last)) return
      if (!ruleMatches(rule, tag.name)) return
      let [low, high] = [0, first.length]
      while (low < high) {
        const middle = (low + high) >> 1
        if (isNewer(tag, first[middle] as TagCandidate)) high = middle
        else low = middle + 1
      }
      first.splice(low, 0, tag)
      first.length = Math.min(first.length, rule.newest)
    },
    newest(): NewestTags {
      const names = new Set(first.map(({ name }) => name))
      const last = first[rule.newest - 1]
      return {
        names,
        sinceMs: first.at(-1)?.updated_ms ?? 0,
        includes: (tag) => names.has(tag.name) || last === undefined || isNewer(tag, last),
      }
    },
  }
}

/** Of two tags with the same time, the first by name counts as newer. */
function isNewer(a: TagCandidate, b: TagCandidate): boolean {
  return a.updated_ms === b.updated_ms ? a.name < b.name : a.updated_ms > b.updated_ms
}

const PAGE = 1000

/** Returns all tags of a repo by name, a page at a time. */
async function* tagPages(reader: Reader, repo: string): AsyncGenerator<TagCandidate[]> {
  let after = ''
  for (;;) {
    const rows = await reader
      .selectFrom('tags')
      .select(['uid', 'name', 'digest', 'updated_ms'])
      .where('root', '=', rootOf(repo))
      .where('parent', '=', repo)
      .where('name', '>', after)
      .orderBy('name')
      .limit(PAGE)
      .execute()
    if (rows.length === 0) return
    yield rows.map((row) => ({ ...row, updated_ms: Number(row.updated_ms) }))
    after = rows.at(-1)?.name ?? ''
  }
}

const tagOfManifest = /^(sha256-[0-9a-f]{64}|sha512-[0-9a-f]{128})(?![0-9a-f])/

/** Returns the digest of the manifest that the tag of a signature or attachment refers to. */
export function subjectOfTag(name: string): string | undefined {
  return tagOfManifest.exec(name)?.[1]?.replace('-', ':')
}

/** Returns the mutable tags that are attached to a manifest. `limit`: of the tags to read. */
export async function listAttachedTags(
  reader: Reader,
  { repo, immutable }: Pick<RetentionTarget, 'repo' | 'immutable'>,
  digest: string,
  limit?: number,
): Promise<TagRow[]> {
  const prefix = digest.replace(':', '-')
  const query = reader
    .selectFrom('tags')
    .selectAll()
    .where('root', '=', rootOf(repo))
    .where('parent', '=', repo)
    .where('name', '>=', prefix)
    .where('name', '<', `${prefix}~`)
  const tags = await (limit === undefined ? query : query.limit(limit)).execute()
  return tags.filter(({ name }) => subjectOfTag(name) === digest && !isImmutable(immutable, name))
}

/** Returns which of some digests are manifests of a repo. */
export async function existingManifests(
  reader: Reader,
  repo: string,
  digests: readonly string[],
): Promise<ReadonlySet<string>> {
  if (digests.length === 0) return new Set()
  const rows = await reader
    .selectFrom('manifests')
    .select('digest')
    .where('root', '=', rootOf(repo))
    .where('repo', '=', repo)
    .where('digest', 'in', digests)
    .execute()
  return new Set(rows.map(({ digest }) => digest))
}

/** Evaluates all tags of a repo, a page at a time. `going`: existing manifests that are deleted, together with their attached tags. */
export async function* evaluateTags(
  reader: Reader,
  target: RetentionTarget,
  rules: RetentionRules,
  deletedManifests: ReadonlySet<string> = new Set(),
): AsyncGenerator<TagVerdict[]> {
  for await (const tags of tagPages(reader, target.repo)) {
    const subjects = tags.map(({ name }) => subjectOfTag(name)).filter((digest) => digest !== undefined)
    const existing = await existingManifests(reader, target.repo, subjects)
    const verdicts: TagVerdict[] = []
    for (const tag of tags) {
      const subject = subjectOfTag(tag.name) ?? ''
      const verdict = !existing.has(subject)
        ? rules.evaluate(tag)
        : !deletedManifests.has(subject)
          ? { deleted: false, reason: 'it is attached to an existing manifest' }
          : isImmutable(target.immutable, tag.name)
            ? immutableVerdict
            : { deleted: true, reason: 'it is attached to a manifest that is deleted' }
      verdicts.push({ tag, ...verdict })
      await yieldToEventLoop()
    }
    yield verdicts
  }
}
