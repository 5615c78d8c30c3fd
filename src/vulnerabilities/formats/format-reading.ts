import { limits } from '../../core/limits.ts'
import type { AdvisoryDocument, AdvisoryRecord } from '../advisory-record.ts'
import { type Fields, problemWith, type Value } from './source-value.ts'
import type { UnmappedTally } from './unmapped.ts'

/** What the readers of all formats have in common. */

/** Reads the tree of a document. Throws a DocumentProblem. */
export type FormatReader = (
  root: Fields,
  tally: UnmappedTally,
) => Omit<AdvisoryDocument, 'format' | 'unmapped'>

/** A record that says nothing yet. */
export const emptyRecord: Omit<AdvisoryRecord, 'key'> = {
  advisoryId: '',
  legacyAdvisoryId: '',
  author: '',
  artifactName: '',
  artifactType: '',
  artifactArchitecture: '',
  componentName: '',
  componentLocation: '',
  componentType: '',
  origin: '',
  product: '',
  aliases: [],
  events: [],
  severities: [],
  createdMs: undefined,
  updatedMs: undefined,
  withdrawnMs: undefined,
}

/** Each alias once, in the order of the document. */
export function distinctAliases(aliases: readonly string[], source: Value): string[] {
  const distinct = [...new Set(aliases)]
  if (distinct.length > limits.advisoryAliasesMax) {
    throw problemWith(source, `has more than ${limits.advisoryAliasesMax} aliases`)
  }
  return distinct
}

/** Called for each record of a document that is about to be made. */
export function checkCount(records: number, source: Value): void {
  if (records > limits.advisoriesPerDocumentMax) {
    throw problemWith(
      source,
      `is more than the ${limits.advisoriesPerDocumentMax} advisories that a document may have`,
    )
  }
}
