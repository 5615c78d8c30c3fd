import type { ImageStatement } from '@berth/image-contents/vex/image-statements.ts'
import type { ImageStatementRow, PackageRow } from '../../storage/schema/tables.ts'

/** What documents attached to an image state about vulnerabilities in it, as rows. */

/** Instead of the id of a package: the statement is about the whole image. */
export const EVERY_PACKAGE = 0

/** The statements of an image: those of later documents replace earlier ones. */
export function statementRows(
  { root, id }: { readonly root: string; readonly id: number },
  statements: readonly ImageStatement[],
  packages: ReadonlyMap<string, PackageRow>,
  idOfKey: ReadonlyMap<string, number>,
): ImageStatementRow[] {
  const byPurl = Map.groupBy(packages.values(), ({ purl }) => purl)
  const idsOf = (purls: ImageStatement['purls']) =>
    purls === undefined
      ? [EVERY_PACKAGE]
      : purls.flatMap((purl) => (byPurl.get(purl) ?? []).flatMap(({ key }) => idOfKey.get(key) ?? []))
  const rows = new Map<string, ImageStatementRow>()
  for (const { purls, vulnerabilities, state, justification } of statements)
    for (const found of idsOf(purls))
      for (const vulnerability of vulnerabilities)
        rows.set(`${found} ${vulnerability}`, {
          ...{ root, contents: id, package: found, vulnerability },
          ...{ state, justification },
        })
  return [...rows.values()]
}
