import { rootOf } from '../../api/uid.ts'
import type { Reader } from '../../storage/db.ts'

/** The copy settings of an organization. The defaults apply until they are set. */
export interface CopySettings {
  /** Copied tags get a suffix that makes them unique. */
  readonly uniqueTags: boolean
  /** Copying continues for a grace period after a source reaches its end of life. */
  readonly gracePeriod: boolean
}

const defaultCopySettings: CopySettings = { uniqueTags: false, gracePeriod: false }

/** Reads the settings of the organizations of some uids. */
export async function readCopySettings(
  reader: Reader,
  uids: readonly string[],
): Promise<(uid: string) => CopySettings> {
  if (uids.length === 0) return () => defaultCopySettings
  const rows = await reader
    .selectFrom('registry_settings')
    .selectAll()
    .where('root', 'in', [...new Set(uids.map(rootOf))])
    .execute()
  const byRoot = new Map(
    rows.map(({ root, unique_tags, grace_period }) => [
      root,
      { uniqueTags: unique_tags === 1, gracePeriod: grace_period === 1 },
    ]),
  )
  return (uid) => byRoot.get(rootOf(uid)) ?? defaultCopySettings
}
