import { spanOver, type Tracer } from '../../runtime/tracer.ts'
import type { BlobStore } from './blob-store.ts'

/** Returns a store whose operations have spans, which name no blob, repo or key. */
export function tracedBlobs(store: BlobStore, system: 'file' | 's3', tracer: Tracer): BlobStore {
  const options = (operation: string, attributes: Readonly<Record<string, number>> = {}) =>
    ({
      kind: 'client',
      attributes: { 'berth.blobs.system': system, 'berth.blobs.operation': operation, ...attributes },
    }) as const
  const span = <T>(operation: string, work: () => Promise<T>) =>
    tracer.span(`blobs ${operation}`, options(operation), work)
  const { presignUrl: urlOf } = store
  return {
    ...store,
    append: (upload, bytes, how) => span('append', () => store.append(upload, bytes, how)),
    readUpload: (upload) => spanOver(tracer, 'blobs uploaded', options('uploaded'), store.readUpload(upload)),
    commit: (upload, location, how) => span('keep', () => store.commit(upload, location, how)),
    discard: (upload, how) => span('discard', () => store.discard(upload, how)),
    read: (location, range) =>
      spanOver(
        tracer,
        'blobs read',
        options('read', { 'berth.blobs.bytes': range.end - range.start }),
        store.read(location, range),
      ),
    remove: (location) => span('remove', () => store.remove(location)),
    presignUrl: urlOf && ((location) => span('sign', () => urlOf(location))),
    revertCommit: (upload, location, how) => span('restore', () => store.revertCommit(upload, location, how)),
    readProgress: (upload) => span('progress', () => store.readProgress(upload)),
  }
}
