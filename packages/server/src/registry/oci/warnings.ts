import type { Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { formatWarning } from '../../pipeline/warnings.ts'
import type { HttpReply } from '../../port/http.ts'
import { isImmutable } from '../policies/immutable-tags.ts'
import { readPolicy, toPolicy } from '../policies/policy-rows.ts'
import { ruleMatches, subjectOfTag } from '../retention/evaluation.ts'
import type { OciServices } from './context.ts'

/** Warnings that clients print for successful requests (OCI distribution specification, "Warnings"): `299 - "text"`. */

export function withWarnings(texts: readonly string[]): Pick<HttpReply, 'warnings'> {
  if (texts.length === 0) return {}
  return { warnings: texts.slice(0, limits.warningsMax).map(formatWarning) }
}

/** Warns that retention will delete a tag, unless a rule keeps it by its name. */
export async function retentionWarnings(
  { store: { db } }: Pick<OciServices, 'store'>,
  repo: Uid,
  tags: readonly string[],
): Promise<string[]> {
  if (tags.length === 0) return []
  const row = await readPolicy(db.kysely, repo)
  if (row === undefined || Number(row.due_ms) === 0) return []
  const policy = toPolicy({ uid: repo, created_ms: 0 }, row)
  const rules = policy.retention?.rules ?? []
  if (rules.length === 0) return []
  return tags
    .filter((tag) => !isImmutable(policy, tag) && subjectOfTag(tag) === undefined)
    .flatMap((tag) => {
      const matching = rules.filter((rule) => ruleMatches(rule, tag))
      if (matching.some(({ newest, youngerThan }) => newest === 0 && youngerThan === undefined)) return []
      const conditions = matching.map(({ newest, youngerThan }) =>
        [
          newest === 0 ? '' : `one of the newest ${newest}`,
          youngerThan === undefined ? '' : `younger than ${formatAge(Number(youngerThan.seconds))}`,
        ]
          .filter((part) => part !== '')
          .join(' and '),
      )
      const condition = conditions.length === 0 ? '' : ` unless it is ${conditions.join(', or ')}`
      return [`retention deletes tag ${tag}${condition}`]
    })
}

const HOUR_S = 60 * 60
const DAY_S = 24 * HOUR_S

function formatAge(seconds: number): string {
  return seconds % DAY_S === 0 ? `${seconds / DAY_S} d` : `${Math.floor(seconds / HOUR_S)} h`
}
