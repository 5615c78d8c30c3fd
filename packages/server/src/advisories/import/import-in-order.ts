import type { Rejection } from '@berth/advisory-formats/advisory-record.ts'
import { limits } from '../../config/limits.ts'
import {
  type ImportedDocument,
  type ImportOptions,
  type IncomingDocument,
  type InOrder,
  importDocument,
  isGzip,
} from './import-documents.ts'
import { mapAhead } from './map-ahead.ts'

/** Imports many documents: later ones are read while earlier ones are written, in their order. */

export interface ImportInOrderOptions extends ImportOptions {
  /**
   * On a database that combines changes, several documents share a transaction: this is faster, and changes of others wait for all of them.
   * Otherwise one document is written at a time, while the next one is read.
   */
  readonly sharesCommits: boolean
  /** Turns a failure into the rejection of the document. Without a rejection, no later document is written. */
  readonly rejectionOf?: (error: unknown) => Rejection | undefined
}

type ImportOne = (document: IncomingDocument) => Promise<ImportedDocument>

/** Documents in progress that one import writes one at a time: one that is written, and one that is read. */
const DOCUMENTS_AHEAD = 2

/**
 * Calls `work` for each item, and yields the results in the order of the items. `work` calls `importOne` for a document before it waits for
 * anything else, because the order of these calls is that of the writes. `contentOf` returns undefined for an item that is no document.
 */
export function importInOrder<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  options: ImportInOrderOptions,
  contentOf: (item: T) => Uint8Array | undefined,
  work: (item: T, importOne: ImportOne) => Promise<R>,
): AsyncGenerator<R> {
  const together = options.sharesCommits ? options.store.db.rules.concurrentChanges : 1
  const { advisoryDocumentBytesMax: sizeMax } = limits
  const sizeOf = (item: T) => {
    const content = contentOf(item)
    if (content === undefined) return 0
    // Its size is unknown until it is unpacked.
    return isGzip(content) ? sizeMax : content.length
  }
  const bounds = { countMax: Math.max(DOCUMENTS_AHEAD, together), sizeMax, sizeOf }
  const importOne = createImportOne(options, together > 1)
  return mapAhead(items, bounds, (item) => work(item, importOne))
}

/** Returns a function that writes a document after those of earlier calls; it is read before. */
function createImportOne(options: ImportInOrderOptions, together: boolean): ImportOne {
  const nextPlace = createWriteOrder(together)
  let failure: { readonly error: unknown } | undefined
  return async (document) => {
    const { inOrder, end } = nextPlace()
    try {
      return await importDocument(document, options, (write) =>
        inOrder(() => {
          if (failure !== undefined) throw failure.error
          return write()
        }),
      )
    } catch (error) {
      const rejection = failure === undefined ? options.rejectionOf?.(error) : undefined
      if (rejection !== undefined) return { rejection }
      failure ??= { error }
      throw error
    } finally {
      end()
    }
  }
}

/**
 * Documents are read at the same time, and written in order: of two versions of a document without a time, the last applies. Each call
 * returns the next place, in which a write starts after `end` of the one before was called, or with `together` after the one before has started.
 */
function createWriteOrder(together: boolean) {
  let before = Promise.resolve()
  return (): { readonly inOrder: InOrder; readonly end: () => void } => {
    const [mine, { promise, resolve }] = [before, Promise.withResolvers<void>()]
    // A document that is rejected before its place does not let the next one start early.
    before = Promise.all([mine, promise]).then(() => undefined)
    return {
      async inOrder(write) {
        await mine
        const written = write()
        if (together) resolve()
        return written
      },
      end: resolve,
    }
  }
}
