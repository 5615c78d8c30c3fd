import type { FileContents } from '../found-package.ts'
import type { LayerLimits } from '../limits.ts'
import { splitPath, targetPath } from './entry-path.ts'

/**
 * The part of an image's file system that matters: symbolic links, and files with contents. Other files are not remembered. Layers are
 * applied from the base up; a later entry replaces an earlier one.
 */

export interface RememberedFile {
  readonly path: string
  /** Index of the layer. */
  readonly layer: number
  readonly contents: FileContents
}

/** `link`: target of a symbolic link. `hardLink`: path of a file that was not read under its own name. */
type Value = { readonly link: string } | { readonly hardLink: string } | { readonly contents: FileContents }

interface Node {
  children: Map<string, Node> | undefined
  value: Value | undefined
  /** Index of the layer of the value. */
  layer: number
  /** No value of this node and below is of an earlier layer. */
  oldest: number
}

export type TreeLimits = Pick<
  LayerLimits,
  'rememberedPathsMax' | 'rememberedPathBytesMax' | 'linkHopsMax' | 'pathDepthMax' | 'pathBytesMax'
>

export class FileTree {
  readonly #root: Node = newNode(0)
  readonly #limits: TreeLimits
  #paths = 0
  #bytes = 0
  #changes = 0

  constructor(limits: TreeLimits) {
    this.#limits = limits
  }

  /** Increases when links change, so that resolved paths may be remembered until then. */
  get changes(): number {
    return this.#changes
  }

  /**
   * Follows the symbolic links among the folders of a path, and with `isFinal` the last part too. Returns undefined if they form a cycle or a
   * chain that is too long.
   */
  resolve(path: string, isFinal = false): string | undefined {
    let rest = path === '' ? [] : path.split('/')
    const done: string[] = []
    const nodes: (Node | undefined)[] = [this.#root]
    for (let hops = 0; rest.length > 0; ) {
      const name = rest.shift() as string
      const node = nodes.at(-1)?.children?.get(name)
      const { value } = node ?? {}
      if (value !== undefined && 'link' in value && (rest.length > 0 || isFinal)) {
        if (++hops > this.#limits.linkHopsMax) return undefined
        const target = targetPath(done.join('/'), value.link)
        rest = [...(target === '' ? [] : target.split('/')), ...rest]
        if (rest.length > this.#limits.pathDepthMax) return undefined
        done.length = 0
        nodes.length = 1
        continue
      }
      done.push(name)
      nodes.push(node)
      // Nothing below is remembered: no links to follow.
      if (node === undefined) return [...done, ...rest].join('/')
    }
    return done.join('/')
  }

  contentsAt(path: string): FileContents | undefined {
    const value = this.#nodeAt(path)?.value
    return value !== undefined && 'contents' in value ? value.contents : undefined
  }

  /** Returns false if too many paths are remembered already. `path`: with its links resolved. */
  add(path: string, layer: number, value: Value): boolean {
    this.remove(path)
    const extra = path.length + ('link' in value ? value.link.length : 0)
    if ('link' in value) this.#changes++
    const { rememberedPathsMax, rememberedPathBytesMax } = this.#limits
    if (this.#paths >= rememberedPathsMax || this.#bytes + extra > rememberedPathBytesMax) return false
    this.#paths++
    this.#bytes += extra
    let node = this.#root
    for (const name of path.split('/')) {
      node.children ??= new Map()
      let child = node.children.get(name)
      if (child === undefined) {
        child = newNode(layer)
        node.children.set(name, child)
      }
      node = child
    }
    node.value = value
    node.layer = layer
    return true
  }

  /** A folder takes the place of a file or link, and keeps what is in it. */
  addFolder(path: string): void {
    const node = this.#nodeAt(path)
    if (node?.value === undefined) return
    node.value = undefined
    this.#changes++
  }

  /** Removes a file, link or folder. With `before`, only what is of earlier layers. */
  remove(path: string, before = Number.POSITIVE_INFINITY): void {
    if (path === '') return
    const [folder, name] = splitPath(path)
    const parent = this.#nodeAt(folder)
    const node = parent?.children?.get(name)
    if (node === undefined) return
    this.#changes++
    if (before === Number.POSITIVE_INFINITY) parent?.children?.delete(name)
    else prune(node, before)
  }

  /** Removes what a folder contains of earlier layers. */
  removeChildren(path: string, before: number): void {
    this.#changes++
    for (const child of this.#nodeAt(path)?.children?.values() ?? []) prune(child, before)
  }

  *files(): Generator<RememberedFile> {
    for (const { path, layer, value } of valuesBelow(this.#root, ''))
      if ('contents' in value) yield { path, layer, contents: value.contents }
  }

  *hardLinks(): Generator<{ readonly path: string; readonly layer: number; readonly target: string }> {
    for (const { path, layer, value } of valuesBelow(this.#root, ''))
      if ('hardLink' in value) yield { path, layer, target: value.hardLink }
  }

  #nodeAt(path: string): Node | undefined {
    let node: Node | undefined = this.#root
    if (path !== '') for (const name of path.split('/')) node = node?.children?.get(name)
    return node
  }
}

function newNode(layer: number): Node {
  return { children: undefined, value: undefined, layer, oldest: layer }
}

/** Visits a node again only if it may have older values: layers may repeat the same deletion a million times. */
function prune(node: Node, before: number): void {
  if (node.oldest >= before) return
  node.oldest = before
  if (node.layer < before) node.value = undefined
  for (const [name, child] of node.children ?? []) {
    prune(child, before)
    if (child.value === undefined && (child.children?.size ?? 0) === 0) node.children?.delete(name)
  }
}

function* valuesBelow(
  node: Node,
  path: string,
): Generator<{ readonly path: string; readonly layer: number; readonly value: Value }> {
  if (node.value !== undefined) yield { path, layer: node.layer, value: node.value }
  for (const [name, child] of node.children ?? [])
    yield* valuesBelow(child, path === '' ? name : `${path}/${name}`)
}
