import type { AdvisoryRecord, ParsedDocument } from '../advisory-record.ts'
import type { Fields } from '../syntax/source-value.ts'
import type { DocumentBudget } from './document-budget.ts'
import type { UnmappedTally } from './unmapped-fields.ts'
import type { TextsOf } from './vulnerability-records.ts'

/** The interface of the readers of all formats. */

/** Reads the tree of a document. Throws a DocumentProblem. */
export type FormatReader = (
  root: Fields,
  tally: UnmappedTally,
  growth: DocumentBudget,
) => Omit<ParsedDocument, 'format' | 'unmapped' | 'records'> & {
  readonly textsOf?: TextsOf
  /** IDs of the vulnerability of a document that is about one. */
  readonly ids?: readonly string[]
}

/** A record with empty fields. */
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
