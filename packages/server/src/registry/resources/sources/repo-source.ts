import { capabilitySetOf, includesAll } from '@berth/contract/capabilities.ts'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { checkName } from '../../../api/fields.ts'
import { parseUid, rootOf, subtreeRange } from '../../../api/uid.ts'
import { authorizationOf, type Grants } from '../../../pipeline/authorization.ts'
import type { Call } from '../../../pipeline/call.ts'
import type { Db, Reader, Tx } from '../../../storage/db.ts'
import { readDistribution, splitBranches, whereOf } from '../../../storage/list/list-sql.ts'
import { findOrganizationByName } from '../../../storage/organizations.ts'
import { lockResource } from '../../../storage/resource-rows.ts'
import type { RepoRow } from '../../../storage/schema/tables.ts'
import { runLongText, sqlText } from '../../../storage/sql-text.ts'
import type { Store } from '../../../storage/store.ts'
import { readRootsOfCopies } from './copying-organizations.ts'

/** Which repo another one copies. */

/** The forms in which a source can be given. */
type SourceReference =
  | { readonly uid: string }
  /** A repo directly in an organization. */
  | { readonly organization: string; readonly repo: string }

const suffixPattern = /(?::\w[\w.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/

/**
 * Parses a uid, `<organization>/<repo>`, or an image reference at this installation's registry, such as `cr.example.com/acme/nginx:1.27`;
 * tag and digest are ignored. Undefined for anything else.
 */
function parseSource(text: string, registryHost: string): SourceReference | undefined {
  const uid = parseUid(text)
  if (uid !== undefined) return { uid }
  const parts = text.split('/')
  if (parts.length === 3) {
    if (parts.shift()?.toLowerCase() !== registryHost.toLowerCase()) return undefined
    parts.push(parts.pop()?.replace(suffixPattern, '') ?? '')
  }
  const [organization = '', repo = '', ...more] = parts
  if (more.length > 0 || checkName(organization) || checkName(repo)) return undefined
  return { organization, repo }
}

const listCapability = capabilitySetOf([Capability.CAP_REPO_LIST])

/** Finds the repo of a source, for a caller who may read it. Undefined if it is missing, and equally for all other callers (R17). */
export async function findSource(
  tx: Tx,
  call: Call,
  text: string,
  registryHost: string,
): Promise<RepoRow | undefined> {
  const name = parseSource(text, registryHost)
  if (name === undefined) return undefined
  const row = 'uid' in name ? await repoByUid(tx, name.uid) : await repoByName(tx, name)
  return row !== undefined && includesAll(authorizationOf(call).grants.at(row.uid), listCapability)
    ? row
    : undefined
}

/** Locks the repos that copy this one, in any organization; one by one, since they can be on several servers. */
export async function lockCopies(db: Db, tx: Tx, source: string): Promise<RepoRow[]> {
  const roots = await readRootsOfCopies(db, tx, source)
  let query = tx.selectFrom('repos').select('uid').where('source', '=', source)
  if (roots !== undefined) query = query.where('root', 'in', roots)
  const found = await query.orderBy('uid').execute()
  const locked: RepoRow[] = []
  for (const { uid } of found) {
    const row = await lockResource(db, tx, 'repos', uid, 'update')
    if (row?.source === source) locked.push(row)
  }
  return locked
}

/** Counts the repos that copy this one, among those that the caller may read. The others, in any organization, are not read. */
export async function countCopies(
  { db }: Pick<Store, 'db'>,
  grants: Grants,
  source: string,
): Promise<number> {
  const branches = grants.scopesHolding(listCapability).map((scope) => ({ range: subtreeRange(scope) }))
  if (branches.length === 0) return 0
  const sql = sqlText(db.engine)
  const filter = {
    table: 'repos' as const,
    conditions: [{ column: 'source', values: [source] }],
    branches,
    order: [],
    distribution: await readDistribution(db, branches),
  }
  const counts = splitBranches(db, 'repos', branches).map(
    (part) => `(select count(*) from repos where ${whereOf(sql, filter, part)})`,
  )
  const [row] = await runLongText<{ n: number | string }>(db, `select ${counts.join(' + ')} as n`, sql)
  return Number(row?.n)
}

/** Returns the row of a uid, also inside a transaction. */
function repoByUid(reader: Reader, uid: string): Promise<RepoRow | undefined> {
  return reader
    .selectFrom('repos')
    .selectAll()
    .where('root', '=', rootOf(uid))
    .where('uid', '=', uid)
    .executeTakeFirst()
}

async function repoByName(
  reader: Reader,
  { organization, repo }: { readonly organization: string; readonly repo: string },
): Promise<RepoRow | undefined> {
  const found = await findOrganizationByName(reader, organization)
  if (found === undefined) return undefined
  return reader
    .selectFrom('repos')
    .selectAll()
    .where('root', '=', found)
    .where('parent', '=', found)
    .where('name', '=', repo)
    .executeTakeFirst()
}
