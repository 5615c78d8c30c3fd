import {
  type Batch,
  batchDocuments,
  COMPRESSED_BYTES_MIN,
  sendBatch,
} from '@berth/advisory-formats/import/document-batches.ts'
import { type Counts, createImportSummary } from '@berth/advisory-formats/import/import-summary.ts'
import type { ImportedDocument } from '@berth/client'
import { api } from '../../../../api/client.ts'
import { documentsAmong, encodeContent } from './dropped-documents.ts'

/**
 * Imports files in batches, or reports what an import would change. A failed run continues behind the last batch that the server has
 * processed: nothing is lost, and importing a document again changes nothing.
 */

export interface ReportRow {
  readonly name: string
  /** Why it was rejected; '' if it was not. */
  readonly reason: string
  /** 0 if unknown. */
  readonly line: number
  readonly result: string
}

export interface RunProgress {
  readonly total: Counts
  readonly skipped: number
  readonly bytesRead: number
  readonly bytes: number
  /** The first documents that changed something or were rejected. */
  readonly rows: readonly ReportRow[]
  /** How many more there are. */
  readonly moreRows: number
}

const ROWS_MAX = 1000

export interface ImportRun {
  /** Starts, or continues after a failure. Rejects with the failure, or with the reason of `signal`. */
  start(signal: AbortSignal, onProgress: (progress: RunProgress) => void): Promise<void>
}

interface ImportRequest {
  readonly parent: string
  readonly files: readonly File[]
  /** '': detected. */
  readonly format: string
  readonly dryRun: boolean
}

export function createImportRun({ parent, files, format, dryRun }: ImportRequest): ImportRun {
  const summary = createImportSummary(0)
  const rows: ReportRow[] = []
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  let moreRows = 0
  /** Documents, rejected and skipped files that earlier attempts have counted. */
  const counted = { sent: 0, rejected: 0, skipped: 0 }

  const addRow = (row: ReportRow) => {
    if (rows.length < ROWS_MAX) rows.push(row)
    else moreRows++
  }
  const reject = (name: string, reason: string, line = 0, ofFormat = '') => {
    summary.reject({ name, format: ofFormat, line, reason })
    addRow({ name, reason, line, result: 'rejected' })
  }
  const add = (document: ImportedDocument) => {
    if (!document.accepted) return reject(document.name, document.reason, document.line, document.format)
    summary.accept(document)
    const result = resultOf(document)
    if (result !== '') addRow({ name: document.name, reason: '', line: 0, result })
  }

  async function send(batch: Batch, signal: AbortSignal): Promise<void> {
    const sendSome = async (documents: Batch) => {
      const request = { parent, documents, dryRun }
      const imported = await api.advisoryDocuments.importAdvisoryDocuments(request, { signal })
      for (const document of imported.documents) add(document)
      counted.sent += documents.length
    }
    await sendBatch(batch, sendSome, ({ name, format: ofFormat }, reason) => {
      counted.sent++
      reject(name, reason, 0, ofFormat)
    })
  }

  return {
    async start(signal, onProgress) {
      let bytesRead = 0
      const show = () =>
        onProgress({ total: summary.total(), skipped: summary.skipped(), bytesRead, bytes, rows, moreRows })
      const passed = { sent: 0, rejected: 0, skipped: 0 }
      const alreadySent = counted.sent
      /** Counts what an earlier attempt has not counted. */
      const once = (kind: 'rejected' | 'skipped', count: () => void) => {
        if (++passed[kind] <= counted[kind]) return
        counted[kind]++
        count()
      }
      const found = documentsAmong(files, {
        signal,
        onRead: (more) => {
          bytesRead += more
        },
      })
      const batches = batchDocuments(found, {
        format,
        encode: (content) => encodeContent(content, COMPRESSED_BYTES_MIN),
        onSkipped: () => once('skipped', () => summary.skip()),
        onRejected: (name, reason) => once('rejected', () => reject(name, reason)),
      })
      show()
      for await (const batch of batches) {
        signal.throwIfAborted()
        const unsent = batch.slice(Math.max(0, alreadySent - passed.sent))
        passed.sent += batch.length
        show()
        if (unsent.length > 0) await send(unsent, signal)
        show()
      }
      show()
    },
  }
}

const changes = [
  ['created', 'created'],
  ['updated', 'updated'],
  ['withdrawn', 'withdrawn'],
  ['covered', 'superseded'],
  ['scored', 'scores updated'],
] as const

/** What a document changes; '' for nothing. */
function resultOf(document: ImportedDocument): string {
  if (document.older > 0) return 'a newer version is stored'
  return changes
    .flatMap(([field, text]) => (document[field] > 0 ? `${document[field]} ${text}` : []))
    .join(', ')
}
