import { isWithin, rootOf } from '../../api/uid.ts'
import type { Db } from '../../storage/db.ts'

/** An override that lets a digest pass a policy. */
export interface Override {
  readonly uid: string
  readonly reason: string
}

/** Returns the overrides of some policies for a manifest, or for an index that contains it, by policy. */
export async function findOverrides(
  { kysely }: Db,
  { repo, digest }: { readonly repo: string; readonly digest: string },
  policies: readonly string[],
): Promise<ReadonlyMap<string, Override>> {
  const root = rootOf(repo)
  const rows = await kysely
    .selectFrom('policy_overrides')
    .select(['uid', 'parent', 'policy', 'reason'])
    .where('root', '=', root)
    .where('policy', 'in', [...policies])
    .where((row) =>
      row.or([
        row('digest', '=', digest),
        row(
          'digest',
          'in',
          row
            .selectFrom('manifest_references as r')
            .select('r.manifest')
            .where('r.root', '=', root)
            .where('r.repo', '=', repo)
            .where('r.digest', '=', digest)
            .where('r.kind', '=', 'manifest'),
        ),
      ]),
    )
    .orderBy('uid')
    .execute()
  return new Map(rows.filter(({ parent }) => isWithin(repo, parent)).map((row) => [row.policy, row]))
}
