import {
  type RetentionVerdict,
  RetentionVerdictSchema,
} from '@berth/contract/gen/berth/registry/v1/repo_policies_pb.js'
import { create } from '@bufbuild/protobuf'
import { durationMs, timestampOf } from '../../api/messages.ts'
import { rootOf } from '../../api/uid.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { runText, sqlText } from '../../storage/sql-text.ts'
import type { Store } from '../../storage/store.ts'
import { evaluateTags, prepareRules, type RetentionTarget } from './evaluation.ts'
import { manifestsToDelete, manifestUses } from './unreferenced-manifests.ts'

/** Shows what retention would delete now, by the same rules as a run, before a user enables it. */

export interface PreviewPage {
  readonly deletedOnly: boolean
  /** Leaves out tags that are kept, even if manifests that are kept are shown. */
  readonly deletedTagsOnly?: boolean
  /** End of the previous page: `tag` or `manifest`, and its name or digest. */
  readonly after: readonly [string, string] | undefined
  readonly size: number
}

export interface Preview {
  readonly verdicts: RetentionVerdict[]
  readonly deletedTags: number
  readonly keptTags: number
  /** Number of tags that each rule keeps and no earlier rule does. */
  readonly keptByRule: number[]
  readonly deletedManifests: ReadonlySet<string>
  /** End of the page, if there are more. */
  readonly last: [string, string] | undefined
}

export async function previewRetention(
  { db, clock }: Pick<Store, 'db' | 'clock'>,
  target: RetentionTarget,
  { deletedOnly, deletedTagsOnly = deletedOnly, after, size }: PreviewPage,
): Promise<Preview> {
  const now = clock()
  const [kind = 'tag', name = ''] = after ?? []
  const verdicts: RetentionVerdict[] = []
  let [deletedTags, keptTags] = [0, 0]
  const keptByRule = target.retention.rules.map(() => 0)
  const { untaggedAfter } = target.retention
  const untilMs = untaggedAfter === undefined ? undefined : now - (durationMs(untaggedAfter) ?? 0)
  const deletedManifests = new Set(
    untilMs === undefined ? [] : await manifestsToDelete(db, target.repo, untilMs),
  )
  const rules = await prepareRules(db.kysely, target, now)
  for await (const tagVerdicts of evaluateTags(db.kysely, target, rules, deletedManifests))
    for (const { tag, deleted, reason, rule = 0 } of tagVerdicts) {
      if (deleted) deletedTags++
      else keptTags++
      if (rule > 0) keptByRule[rule - 1] = (keptByRule[rule - 1] ?? 0) + 1
      const isShown = kind === 'tag' && tag.name > name && (deleted || !deletedTagsOnly)
      if (!isShown || verdicts.length > size) continue
      const updateTime = timestampOf(tag.updated_ms)
      verdicts.push(
        create(RetentionVerdictSchema, {
          tag: tag.name,
          digest: tag.digest,
          deleted,
          reason,
          updateTime,
          rule,
        }),
      )
    }
  if (untilMs !== undefined && verdicts.length <= size) {
    const from = kind === 'manifest' ? name : ''
    for await (const verdict of evaluateManifests(db, target.repo, {
      deletedManifests,
      untilMs,
      from,
      deletedOnly,
    })) {
      verdicts.push(verdict)
      if (verdicts.length > size) break
    }
  }
  const shown = verdicts.slice(0, size)
  const end = shown.at(-1)
  return {
    verdicts: shown,
    deletedTags,
    keptTags,
    keptByRule,
    deletedManifests,
    last:
      end === undefined || verdicts.length <= size
        ? undefined
        : end.tag === ''
          ? ['manifest', end.digest]
          : ['tag', end.tag],
  }
}

const PAGE = 500

interface ManifestScan {
  readonly deletedManifests: ReadonlySet<string>
  readonly untilMs: number
  /** The digest before the first. */
  readonly from: string
  readonly deletedOnly: boolean
}

async function* evaluateManifests(
  db: Store['db'],
  repo: string,
  { deletedManifests, untilMs, from, deletedOnly }: ManifestScan,
): AsyncGenerator<RetentionVerdict> {
  let after = from
  for (;;) {
    const sql = sqlText(db.engine)
    const root = () => sql.bind(rootOf(repo))
    const text = `select digest, touched_ms, case when ${manifestUses.tag(root())} then 1 else 0 end as tagged,
        case when ${manifestUses.index(root())} then 1 else 0 end as needed
      from manifests m where root = ${root()} and repo = ${sql.bind(repo)} and digest > ${sql.bind(after)}
      order by digest limit ${PAGE}`
    type Row = Readonly<Record<'touched_ms' | 'tagged' | 'needed', number> & { digest: string }>
    const rows = await runText<Row>(db, text, sql)
    if (rows.length === 0) return
    for (const { digest, touched_ms, tagged, needed } of rows) {
      const deleted = deletedManifests.has(digest)
      await yieldToEventLoop()
      if (deletedOnly && !deleted) continue
      const reason = deleted
        ? 'it is unreferenced'
        : tagged === 1
          ? 'a tag points to it'
          : needed === 1
            ? 'an index references it'
            : Number(touched_ms) > untilMs
              ? 'it was pushed or tagged recently'
              : 'its subject exists'
      const updateTime = timestampOf(Number(touched_ms))
      yield create(RetentionVerdictSchema, { digest, deleted, reason, updateTime })
    }
    after = rows.at(-1)?.digest ?? ''
  }
}
