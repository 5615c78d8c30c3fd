import type { KnownExploitation } from '@berth/advisory-formats/exploitation/cve-facts.ts'
import {
  type Finding,
  FindingSchema,
  Finding_State as State,
} from '@berth/contract/gen/berth/vulnerabilities/v1/findings_pb.js'
import { create } from '@bufbuild/protobuf'
import { enumNames, severityOf } from '../../advisories/vulnerability-filters.ts'
import type { PackageFindingRow, PackageRow, VulnerabilityFactsRow } from '../../storage/schema/tables.ts'
import type { SqlText } from '../../storage/sql-text.ts'
import { EPSS_PARTS } from '../storage/catalog-facts.ts'

/** Maps rows of findings to messages, and values of filters to those of rows. */

export type FindingRow = PackageFindingRow & Pick<PackageRow, 'purl' | 'version'> & CatalogColumns

/** What catalogs state about the vulnerability; null if none lists it. */
type CatalogColumns = {
  readonly [C in 'epss' | 'percentile' | 'exploitation']: VulnerabilityFactsRow[C] | null
}

/** The columns of a finding, its package, and what catalogs state about it, as `f`, `p` and `x`. */
const columns: readonly string[] = [
  ...['package', 'vulnerability', 'state', 'severity', 'score', 'fixed_version', 'justification', 'advisory'],
  ...['aliases', 'cwes', 'found_ms'],
].map((column) => `f.${column}`)

const ofOthers = ['p.purl', 'p.version', 'x.epss', 'x.percentile', 'x.exploitation']

export const findingColumns = [...columns, ...ofOthers].join(', ')

/** Joins what catalogs state about the vulnerability of `f`, of which there are few. */
export function catalogLookUp(sql: SqlText, root: string): string {
  const condition = `x.root = ${sql.bind(root)} and x.vulnerability = f.vulnerability`
  return sql.rules.lookUp('vulnerability_facts', 'x', condition, { left: true })
}

/** Joins what catalogs state about the vulnerability of `f`. */
export const catalogJoin =
  'left join vulnerability_facts as x on x.root = f.root and x.vulnerability = f.vulnerability'

/** The state of a finding where `o` has what is stated in its image. */
export const stateWithStatements = 'coalesce(o.state, f.state)'

const stated: Readonly<Record<string, string>> = {
  'f.state': `${stateWithStatements} as state`,
  'f.justification': 'coalesce(o.justification, f.justification) as justification',
}

/** The same columns, where `o` has what is stated in the image. */
export const columnsWithStatements = [...columns.map((column) => stated[column] ?? column), ...ofOthers].join(
  ', ',
)

const states: Readonly<Record<string, State>> = {
  affected: State.AFFECTED,
  'not-affected': State.NOT_AFFECTED,
  'pending-upstream': State.PENDING_UPSTREAM,
  'under-investigation': State.UNDER_INVESTIGATION,
  unknown: State.UNKNOWN,
}

const stateOf = (name: string): State => states[name] ?? State.UNSPECIFIED

/** Returns the values of rows for the values of a filter. Throws INVALID_ARGUMENT for unspecified ones. */
export function stateNames(values: readonly State[]): string[] {
  return enumNames(values, states, 'states')
}

export function toFindingCount({
  state,
  severity,
  n,
}: {
  readonly state: string
  readonly severity: string
  readonly n: number
}) {
  return { state: stateOf(state), severity: severityOf(severity), count: BigInt(n) }
}

export function toFinding(row: FindingRow): Finding {
  return create(FindingSchema, {
    vulnerability: row.vulnerability,
    aliases: row.aliases === '' ? [] : row.aliases.split(' '),
    purl: row.purl,
    version: row.version,
    state: stateOf(row.state),
    severity: severityOf(row.severity),
    ...(Number(row.score) >= 0 && { score: Number(row.score) / 10 }),
    fixedVersion: row.fixed_version,
    justification: row.justification,
    advisoryUid: row.advisory,
    cwes: row.cwes === '' ? [] : row.cwes.split(' '),
    ...toExploitation(row),
  })
}

function toExploitation(row: CatalogColumns) {
  const kev = readExploitation(row.exploitation)
  const probability = epssOf(row)
  return {
    ...(kev && {
      knownExploitation: {
        addedDate: kev.added,
        dueDate: kev.due,
        ransomware: kev.isRansomware,
        name: kev.name,
        requiredAction: kev.action,
      },
    }),
    ...(probability !== undefined && {
      epssProbability: probability,
      epssPercentile: Number(row.percentile) / EPSS_PARTS,
    }),
  }
}

/** Returns the probability of exploitation, from 0 to 1; undefined if none is known. */
export function epssOf({ epss }: Pick<CatalogColumns, 'epss'>): number | undefined {
  return epss === null || Number(epss) < 0 ? undefined : Number(epss) / EPSS_PARTS
}

/** Returns undefined if the vulnerability is not known to be exploited. */
export function readExploitation(text: string | null): KnownExploitation | undefined {
  return text === null || text === '' ? undefined : JSON.parse(text)
}
