import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { AdvisoryRecord, Format, ParsedDocument } from '@berth/advisory-formats/advisory-record.ts'
import { readDocument } from '@berth/advisory-formats/read-document.ts'

/** The real advisory documents of test/advisories, and of the whole collection they were chosen from where that is at hand. */

export interface DocumentCorpus {
  readonly root: string
  readonly isComplete: boolean
}

const FULL_CORPUS = '../shared/data/advisories'

export const corpora: readonly DocumentCorpus[] = [
  { root: 'test/advisories', isComplete: false },
  ...(existsSync(FULL_CORPUS) ? [{ root: FULL_CORPUS, isComplete: true }] : []),
]

export interface DocumentFile {
  readonly path: string
  readonly content: Buffer
}

/** The documents of a collection below a folder, by path. */
export function documentsIn({ root }: DocumentCorpus, folder = '.'): DocumentFile[] {
  return globSync('**/*.{json,yaml}', { cwd: join(root, folder) })
    .sort()
    .map((path) => ({ path: join(folder, path), content: readFileSync(join(root, folder, path)) }))
}

/** Reads a document that must be fine, in the format of its content. */
export function readOrThrow(
  name: string,
  content: Uint8Array | string,
  format: Format | '' = '',
): ParsedDocument {
  const result = readDocument(name, format, typeof content === 'string' ? Buffer.from(content) : content)
  if ('rejection' in result) throw new Error(`${name}:${result.rejection.line}: ${result.rejection.reason}`)
  return result.document
}

/** Why a document is not taken, as people see it: `3: the document is not in UTF-8: convert it`. */
export function rejectionOf(content: Uint8Array | string, format: Format | '' = ''): string {
  const result = readDocument(
    'document',
    format,
    typeof content === 'string' ? Buffer.from(content) : content,
  )
  return 'rejection' in result ? `${result.rejection.line}: ${result.rejection.reason}` : 'taken'
}

/** What an event is, in the words of the schema: `detection/scanv1`, `fixed`. */
export function eventKinds(advisories: readonly AdvisoryRecord[]): Record<string, number> {
  const kinds: Record<string, number> = {}
  for (const { type } of advisories.flatMap(({ events }) => events)) {
    const kind = type.case === 'detection' ? `detection/${type.value.type.case}` : String(type.case)
    kinds[kind] = (kinds[kind] ?? 0) + 1
  }
  return kinds
}
