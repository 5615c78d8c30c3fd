import { formatLimits } from '../limits.ts'
import type { Fields, Value } from '../syntax/source-value.ts'
import { field } from '../syntax/value-fields.ts'

/** Kinds of weaknesses (CWE) of a vulnerability. What is not an ID, such as `NVD-CWE-noinfo`, says nothing. */

const cweForm = /^CWE-[1-9]\d{0,5}$/

export function isCwe(text: string): boolean {
  return cweForm.test(text)
}

/** Returns the ID in a value; none if it is not one. */
export function cweIn(value: Value | undefined): string[] {
  if (value?.kind !== 'text' || !isCwe(value.text)) return []
  value.isRead = true
  return [value.text]
}

/** Returns the IDs of an OSV record, as GitHub (`cwe_ids`) and others (`cwes[].cweId`) state them in `database_specific`. */
export function osvCwes(root: Fields): string[] {
  const specific = field(root, 'database_specific')
  if (specific?.kind !== 'fields') return []
  const itemsOf = (name: string) => {
    const list = field(specific, name)
    return list?.kind === 'list' ? list.items : []
  }
  const ids = [
    ...itemsOf('cwe_ids'),
    ...itemsOf('cwes').map((item) => (item.kind === 'fields' ? field(item, 'cweId') : item)),
  ]
  return distinctCwes(ids.flatMap(cweIn))
}

/** Returns the first of them, each once. */
export function distinctCwes(cwes: Iterable<string>): string[] {
  return [...new Set(cwes)].slice(0, formatLimits.advisoryCwesMax)
}
