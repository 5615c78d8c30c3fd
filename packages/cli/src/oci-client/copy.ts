import { isDistributable, isIndex, isManifest } from '@berth/contract/image-media-types.ts'
import { BlobReader } from './blob-reader.ts'
import type { Descriptor, Manifest, Platform } from './descriptors.ts'
import type { ImageStore } from './image-store.ts'
import { formatPlatform, selectPlatform } from './platforms.ts'
import { DEPTH_MAX, ReadBudget } from './read-budget.ts'
import { listTaggedReferrers } from './referrers.ts'
import { TransferError } from './transfer-error.ts'

/**
 * Copies images: first the blobs, several at a time, then manifests from the leaves up, the tag last. Readers see either the
 * old or the new image. Existing content is skipped, so an interrupted copy can be resumed.
 */

export interface CopyOptions {
  readonly from: ImageStore
  readonly to: ImageStore
  readonly signal: AbortSignal
  /** Concurrent blobs. */
  readonly jobs: number
  /** Copy only this image of an index. */
  readonly platform?: Platform
  /** Also copy referrers, such as signatures and SBOMs, recursively. */
  readonly referrers: boolean
  /** Fail if a tag of the destination points to another image. */
  readonly keepTags: boolean
  readonly progress: CopyProgress
}

export interface CopyProgress {
  /** Adds to the number of bytes to copy. */
  addExpected(bytes: number): void
  addCopied(bytes: number): void
  /** Counts an image that is already complete. */
  addSkipped(bytes: number): void
}

export interface CopyCounts {
  manifests: number
  manifestsThere: number
  blobs: number
  blobsThere: number
  blobsMounted: number
  referrers: number
  /** Bytes of copied blobs and manifests. */
  bytes: number
}

interface Plan {
  /** Digests of all manifests. */
  readonly all: string[]
  /** The missing ones, leaves first. */
  readonly missing: Manifest[]
  readonly blobs: Descriptor[]
  readonly budget: ReadBudget
}

/** Returns an image; for a platform, that of an index. Throws a TransferError if the index does not have it. */
export async function readImage(
  from: ImageStore,
  reference: string,
  platform: Platform | undefined,
): Promise<Manifest> {
  const manifest = await from.getManifest(reference)
  if (platform === undefined || !isIndex(manifest)) return manifest
  const found = selectPlatform(manifest.manifests, platform)
  if (found !== undefined) return from.getManifest(found.digest)
  const has = manifest.manifests.flatMap((entry) => (entry.platform ? [formatPlatform(entry.platform)] : []))
  throw new TransferError(
    'missing',
    from.name,
    `the image has no platform ${formatPlatform(platform)}; available: ${has.join(', ') || 'none'}`,
  )
}

export class ImageCopy {
  readonly counts: CopyCounts = {
    manifests: 0,
    manifestsThere: 0,
    blobs: 0,
    blobsThere: 0,
    blobsMounted: 0,
    referrers: 0,
    bytes: 0,
  }
  readonly #options: CopyOptions
  /** Manifests that this copy has processed. */
  readonly #done = new Set<string>()
  readonly #blobs = new Set<string>()

  constructor(options: CopyOptions) {
    this.#options = options
  }

  /** Copies one image and returns its digest. `tag`: its tag at the destination; undefined for none. */
  async copy(reference: string, tag: string | undefined): Promise<string> {
    const { from, to, platform, referrers } = this.#options
    const root = await readImage(from, reference, platform)
    const isThere = tag !== undefined && (await this.#hasTag(tag, root.digest))
    if (isThere && !referrers) {
      this.counts.manifestsThere += 1
      return root.digest
    }
    const copied = await this.#copyTree(root)
    this.#options.signal.throwIfAborted()
    if (tag === undefined) await to.addToIndex(root)
    else if (!isThere) await this.#putTag(root, tag)
    if (referrers) for (const digest of copied) await this.#copyReferrers(digest, 0)
    return root.digest
  }

  /** Copies the content of a manifest, then the manifest under its digest. Returns the digests of all its manifests. */
  async #copyTree(root: Manifest): Promise<string[]> {
    const { from, to, signal } = this.#options
    const plan: Plan = { all: [], missing: [], blobs: [], budget: new ReadBudget(from.name) }
    await this.#plan(root, plan, 0)
    await this.#copyBlobs(plan.blobs)
    for (const manifest of plan.missing) {
      signal.throwIfAborted()
      await to.putManifest(manifest, manifest.digest)
      this.counts.manifests += 1
      this.counts.bytes += manifest.bytes.length
    }
    return plan.all
  }

  async #plan(manifest: Manifest, plan: Plan, depth: number): Promise<void> {
    const { from, signal } = this.#options
    const { digest } = manifest
    signal.throwIfAborted()
    plan.budget.checkDepth(depth)
    if (this.#done.has(digest)) return
    this.#done.add(digest)
    plan.all.push(digest)
    const isThere = (await this.#findDigest(digest)) === digest
    const { config, layers, manifests } = manifest
    plan.budget.consume(manifests.length, 0)
    for (const child of manifests)
      if (isManifest(child) && !this.#done.has(child.digest))
        await this.#plan(await from.getManifest(child.digest), plan, depth + 1)
    if (isThere) {
      this.counts.manifestsThere += 1
      return
    }
    plan.budget.consume(0, manifest.bytes.length)
    const others = manifests.filter((child) => !isManifest(child))
    plan.blobs.push(...(config === undefined ? [] : [config]), ...layers.filter(isDistributable), ...others)
    plan.missing.push(manifest)
  }

  /** A destination without pull permission may permit a push; the push reports the error. */
  async #findDigest(reference: string): Promise<string | undefined> {
    try {
      return await this.#options.to.resolveDigest(reference)
    } catch (error) {
      if (error instanceof TransferError && error.problem === 'denied') return undefined
      throw error
    }
  }

  /** Returns whether a tag points to a digest. Throws a TransferError for one that points elsewhere and is kept. */
  async #hasTag(tag: string, digest: string): Promise<boolean> {
    const { to, keepTags } = this.#options
    const current = await this.#findDigest(tag)
    if (!keepTags || current === undefined || current === digest) return current === digest
    throw new TransferError('refused', to.name, `tag ${tag} of ${to.name} points to ${current} and is kept`)
  }

  /** Points a tag to a manifest. Layers take long: a tag that is kept may have been created while they were copied. */
  async #putTag(manifest: Manifest, tag: string): Promise<void> {
    const { to, keepTags } = this.#options
    if (keepTags && (await this.#hasTag(tag, manifest.digest))) return
    await to.putManifest(manifest, tag)
  }

  async #copyReferrers(subject: string, depth: number): Promise<void> {
    const { from, to } = this.#options
    if (depth > DEPTH_MAX) return
    for (const { digest } of await from.listReferrers(subject)) {
      if (this.#done.has(digest)) continue
      const copied = await this.#copyTree(await from.getManifest(digest))
      this.counts.referrers += 1
      for (const one of copied) await this.#copyReferrers(one, depth + 1)
    }
    for await (const { tag, manifest } of listTaggedReferrers(from, subject)) {
      await this.#copyTree(manifest)
      if (!(await this.#hasTag(tag, manifest.digest))) await to.putManifest(manifest, tag)
      this.counts.referrers += 1
    }
  }

  /** Copies each blob once, several at a time. The first failure ends the others. */
  async #copyBlobs(blobs: readonly Descriptor[]): Promise<void> {
    const { progress, jobs, signal } = this.#options
    const waiting = [...new Map(blobs.map((blob) => [blob.digest, blob])).values()].filter(
      ({ digest }) => !this.#blobs.has(digest),
    )
    for (const { digest } of waiting) this.#blobs.add(digest)
    progress.addExpected(waiting.reduce((sum, { size }) => sum + size, 0))
    const stop = new AbortController()
    const either = AbortSignal.any([signal, stop.signal])
    await Promise.all(
      Array.from({ length: Math.min(jobs, waiting.length) }, async () => {
        for (let blob = waiting.shift(); blob !== undefined; blob = waiting.shift()) {
          try {
            await this.#copyBlob(blob, either)
          } catch (error) {
            waiting.length = 0
            if (!stop.signal.aborted) stop.abort(error)
          }
        }
      }),
    )
    signal.throwIfAborted()
    if (stop.signal.aborted) throw stop.signal.reason
  }

  async #copyBlob(blob: Descriptor, signal: AbortSignal): Promise<void> {
    const { from, to, progress } = this.#options
    signal.throwIfAborted()
    if (await to.hasBlob(blob)) {
      this.counts.blobsThere += 1
      progress.addSkipped(blob.size)
    } else if (await to.mountBlob(blob, from)) {
      this.counts.blobsMounted += 1
      progress.addSkipped(blob.size)
    } else {
      const reader = new BlobReader(from, blob, { signal, onBytes: (count) => progress.addCopied(count) })
      await to.putBlob(reader)
      this.counts.blobs += 1
      this.counts.bytes += blob.size
    }
  }
}
