import { isCwe } from '@berth/advisory-formats/reading/cwe-ids.ts'
import { TextFilter } from './filter-bar.tsx'

/** A kind of weakness (CWE) as a filter. */
export function CweFilter() {
  return <TextFilter label="Weakness" name="cwe" placeholder="CWE-79" />
}

/** The values of the API for the text of the filter. Any other text would be rejected while it is typed. */
export function cweOf(text: string): string[] {
  const cwe = text.toUpperCase()
  return isCwe(cwe) ? [cwe] : []
}
