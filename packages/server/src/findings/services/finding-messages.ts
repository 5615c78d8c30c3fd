import {
  type Finding,
  FindingSchema,
  Finding_Severity as Severity,
  Finding_State as State,
} from '@berth/contract/gen/berth/vulnerabilities/v1/findings_pb.js'
import { create } from '@bufbuild/protobuf'
import { invalidArgument } from '../../api/errors.ts'
import type { PackageFindingRow, PackageRow } from '../../storage/schema/tables.ts'

/** Maps rows of findings to messages, and values of filters to those of rows. */

export type FindingRow = PackageFindingRow & Pick<PackageRow, 'purl' | 'version'>

/** The columns of a finding and its package, as `f` and `p`. */
export const findingColumns = [
  ...['package', 'vulnerability', 'state', 'severity', 'score', 'fixed_version', 'justification', 'advisory'],
  'aliases',
  'found_ms',
]
  .map((column) => `f.${column}`)
  .concat(['p.purl', 'p.version'])
  .join(', ')

const states: Readonly<Record<string, State>> = {
  affected: State.AFFECTED,
  'not-affected': State.NOT_AFFECTED,
  'pending-upstream': State.PENDING_UPSTREAM,
  'under-investigation': State.UNDER_INVESTIGATION,
  unknown: State.UNKNOWN,
}

const severities: Readonly<Record<string, Severity>> = {
  critical: Severity.CRITICAL,
  high: Severity.HIGH,
  medium: Severity.MEDIUM,
  low: Severity.LOW,
  none: Severity.NONE,
  unknown: Severity.UNKNOWN,
}

export const stateOf = (name: string): State => states[name] ?? State.UNSPECIFIED
export const severityOf = (name: string): Severity => severities[name] ?? Severity.UNSPECIFIED

/** Returns the values of rows for the values of a filter. Throws INVALID_ARGUMENT for unspecified ones. */
export function stateNames(values: readonly State[]): string[] {
  return namesOf(values, states, 'states')
}

export function severityNames(values: readonly Severity[]): string[] {
  return namesOf(values, severities, 'severities')
}

function namesOf<T>(values: readonly T[], byName: Readonly<Record<string, T>>, field: string): string[] {
  return values.map((value, at) => {
    const found = Object.entries(byName).find(([, known]) => known === value)
    if (found === undefined) throw invalidArgument(`${field}[${at}]`, 'must be specified')
    return found[0]
  })
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
  })
}
