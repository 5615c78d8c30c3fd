import { TextFilter } from './filter-bar.tsx'

/** A kind of weakness (CWE) as a filter. */
export function CweFilter() {
  return <TextFilter label="Weakness" name="cwe" placeholder="CWE-79" />
}

/** The values of the API for the text of the filter: any other text would be refused while it is typed. */
export const cweOf = (text: string): string[] => (/^CWE-[1-9]\d*$/i.test(text) ? [text.toUpperCase()] : [])
