import { endOfLifeMs, NEVER_MS } from '@berth/image-contents/end-of-life.ts'
import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { Db } from '../../storage/db.ts'
import { preparedRead } from '../../storage/prepared.ts'
import type { Fact, FactProvider, Facts, ImageFacts } from './image-facts.ts'

/** Facts for policies about what an image contains. */

const contentsOf = preparedRead(
  (db, { root, repo, digest }: { root: string; repo: string; digest: string }) =>
    db
      .selectFrom('manifest_contents')
      .select(['id', 'state', 'reason', 'distribution_id', 'distribution_version', 'support_end_ms'])
      .where('root', '=', root)
      .where('repo', '=', repo)
      .where('digest', '=', digest),
)

const packagesOf = preparedRead((db, { root, contents }: { root: string; contents: number }) =>
  db
    .selectFrom('manifest_packages as m')
    .innerJoin('packages as p', (join) => join.onRef('p.root', '=', 'm.root').onRef('p.id', '=', 'm.package'))
    .select(['p.name', 'p.version', 'p.license'])
    .distinct()
    .where('m.root', '=', root)
    .where('m.contents', '=', contents)
    .limit(limits.policyPackagesMax + 1),
)

const names = ['contents_known', 'packages', 'licenses', 'distribution', 'end_of_life'] as const

/** Why the contents of an image are not known; undefined if they are. */
export function reasonUnread(state: string): string | undefined {
  if (state === 'read') return undefined
  if (state === 'failed') return 'the image could not be read'
  return state === 'none' ? 'the manifest is not an image' : 'the image is not read yet'
}

export function contentsFacts(db: Db): FactProvider {
  return {
    names,
    async read({ repo, digest }, wanted) {
      const root = rootOf(repo)
      const [contents] = await contentsOf(db, { root, repo, digest })
      const reason = reasonUnread(contents?.state ?? 'pending')
      if (contents === undefined || reason !== undefined) {
        const detail = contents?.state === 'failed' ? `, because ${contents.reason}` : ''
        const unread = { unknown: `${reason}${detail}` }
        return {
          ...Object.fromEntries(names.map((name) => [name, unread])),
          contents_known: { value: false },
        }
      }
      const { distribution_id: id, distribution_version: version } = contents
      const supportEndMs = Number(contents.support_end_ms) || undefined
      const facts: { -readonly [N in keyof Facts]: Facts[N] } = {
        contents_known: { value: true },
        distribution: { value: nameOf(id, version) },
        end_of_life: endOfLife({ id, versionId: version, supportEndMs }),
      }
      if (wanted.includes('packages') || wanted.includes('licenses'))
        Object.assign(facts, packageFacts(await packagesOf(db, { root, contents: Number(contents.id) })))
      return facts
    },
  }
}

const nameOf = (id: string, version: string): string => (version === '' ? id : `${id}:${version}`)

function endOfLife(distribution: Parameters<typeof endOfLifeMs>[0]): Fact<number> {
  const { id, versionId } = distribution
  // An image without a distribution has no end of life.
  const end = id === '' ? NEVER_MS : endOfLifeMs(distribution)
  return end === undefined ? { unknown: `that of ${nameOf(id, versionId)} is not known` } : { value: end }
}

function packageFacts(
  rows: readonly { readonly name: string; readonly version: string; readonly license: string }[],
): { packages: Fact<ImageFacts['packages']>; licenses: Fact<ImageFacts['licenses']> } {
  if (rows.length > limits.policyPackagesMax) {
    const tooMany = { unknown: `the image has more than ${limits.policyPackagesMax} packages` }
    return { packages: tooMany, licenses: tooMany }
  }
  const packages = new Map<string, string[]>()
  for (const { name, version } of rows) {
    const versions = packages.get(name)
    if (versions === undefined) packages.set(name, [version])
    else if (!versions.includes(version)) versions.push(version)
  }
  const licenses = [...new Set(rows.map(({ license }) => license))].filter((license) => license !== '')
  return { packages: { value: packages }, licenses: { value: licenses } }
}
