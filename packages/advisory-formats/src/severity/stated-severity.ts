import type { JsonObject, JsonValue } from '@bufbuild/protobuf'
import type { OsvExtension } from '../osv/osv-extension.ts'
import { type SeverityLabel, severityLabels } from './severity-ratings.ts'

/** Severities in words, which records of OSV state where they have no vector. */

const labels: ReadonlyMap<string, SeverityLabel> = new Map([
  ['critical', 'critical'],
  ['high', 'high'],
  ['important', 'high'],
  ['moderate', 'medium'],
  ['medium', 'medium'],
  ['low', 'low'],
  ['negligible', 'low'],
  ['unimportant', 'low'],
])

/**
 * Returns the highest severity that a record states for a package, of the places where sources state it:
 * `database_specific.severity` (GitHub, Bitnami), `ecosystem_specific.severity`, `ecosystem_specific.urgency` (Debian), and a `severity`
 * of a type without vectors (Ubuntu). Undefined if it states none.
 */
export function statedSeverity({ record, affected }: OsvExtension): SeverityLabel | undefined {
  const stated = [record, ...affected].flatMap((part) => [
    memberOf(part['database_specific'], 'severity'),
    memberOf(part['ecosystem_specific'], 'severity'),
    memberOf(part['ecosystem_specific'], 'urgency'),
    ...(Array.isArray(part['severity']) ? part['severity'].map((one) => memberOf(one, 'score')) : []),
  ])
  const found = stated.flatMap((text) =>
    typeof text === 'string' ? (labels.get(text.toLowerCase()) ?? []) : [],
  )
  return severityLabels.find((label) => found.includes(label))
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(value) ? value[name] : undefined
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
