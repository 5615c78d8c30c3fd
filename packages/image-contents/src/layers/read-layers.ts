import type { Distribution, ImageContents, ImagePackage } from '../contents.ts'
import { imagePackage } from '../found-package.ts'
import { type LayerLimits, layerLimits } from '../limits.ts'
import { copyrightPath, osReleasePaths } from './file-readers.ts'
import { FileTree } from './file-tree.ts'
import type { ImageLayer } from './image-layer.ts'
import { LayerReader } from './layer-reader.ts'
import { createProblemList, type ProblemList } from './problem-list.ts'
import { createReadBudget, LimitReached } from './read-budget.ts'

/** An SBOM that is a file of the image, as apko writes them. */
export interface EmbeddedSbom {
  readonly path: string
  /** Digest of the layer. */
  readonly layer: string
  readonly bytes: Uint8Array
}

export interface LayersContents extends ImageContents {
  readonly embeddedSboms: readonly EmbeddedSbom[]
}

export interface ReadLayersOptions {
  /** Limits that differ from `layerLimits`. */
  readonly limits?: Partial<LayerLimits>
  readonly signal?: AbortSignal
}

/**
 * Reads which packages the layers of an image contain. `layers`: from the base up. Each is read once, as a stream; a file that a later layer
 * deletes or replaces does not count. Rejects only if the signal is aborted: what cannot be read is a problem of the result.
 */
export async function readLayers(
  layers: readonly ImageLayer[],
  options: ReadLayersOptions = {},
): Promise<LayersContents> {
  const { signal } = options
  const limits = { ...layerLimits, ...options.limits }
  const problems = createProblemList(limits)
  const tree = new FileTree(limits)
  const reader = new LayerReader({
    tree,
    problems,
    limits,
    budget: createReadBudget(limits, signal),
    signal,
  })
  try {
    for (const [index, layer] of layers.entries()) {
      if (index >= limits.layersMax) throw new LimitReached(`it has more than ${limits.layersMax} layers`)
      await reader.readLayer(layer, index)
    }
    await reader.readLinkedFiles(layers)
  } catch (error) {
    signal?.throwIfAborted()
    problems.add('', error instanceof LimitReached ? error.message : `reading failed: ${String(error)}`)
  }
  return contentsOf(tree, layers, problems)
}

function contentsOf(tree: FileTree, layers: readonly ImageLayer[], problems: ProblemList): LayersContents {
  const distribution = distributionOf(tree)
  const packages: ImagePackage[] = []
  const embeddedSboms: EmbeddedSbom[] = []
  const seen = new Set<unknown>()
  for (const { path, layer: index, contents } of tree.files()) {
    // Hard links are further names of the same file.
    if (seen.has(contents)) continue
    seen.add(contents)
    const layer = layers[index]?.digest ?? ''
    for (const reason of contents.problems) problems.add(path, reason)
    if (contents.embeddedSbom !== undefined) embeddedSboms.push({ path, layer, bytes: contents.embeddedSbom })
    for (const found of contents.packages) {
      const license = found.license || (found.type === 'deb' ? licenseOf(tree, found.name) : '')
      try {
        packages.push(imagePackage({ ...found, license }, distribution, { path, layer }))
      } catch {
        problems.add(path, `the package ${found.name} has no valid package URL`)
      }
    }
  }
  return { distribution, packages, problems: problems.all, embeddedSboms }
}

/** What `os-release` states. */
function distributionOf(tree: FileTree): Distribution | undefined {
  for (const path of osReleasePaths) {
    const distribution = contentsBehind(tree, path)?.distribution
    if (distribution !== undefined) return distribution
  }
  return undefined
}

function licenseOf(tree: FileTree, packageName: string): string {
  return contentsBehind(tree, copyrightPath(packageName))?.license ?? ''
}

function contentsBehind(tree: FileTree, path: string) {
  const file = tree.resolve(path, true)
  return tree.contentsAt(path) ?? (file === undefined ? undefined : tree.contentsAt(file))
}
