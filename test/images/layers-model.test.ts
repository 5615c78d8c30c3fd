import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { readImage, type TestEntry } from '../support/images/layers.ts'

/**
 * Any layers, applied to a folder on disk in the simplest way: first the deletions of a layer, then its files. `readLayers` must find the files
 * that are then there.
 */

const names = ['a', 'b', 'c']
const name = fc.constantFrom(...names)
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'))

type Change =
  | { readonly kind: 'package' | 'folder' | 'plain' | 'whiteout' | 'opaque'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: path.map((at) => ({ kind: 'package' as const, path: at })) },
  fc.record({ kind: fc.constantFrom('folder', 'plain', 'whiteout', 'opaque'), path }),
  fc.record({ kind: fc.constant('link' as const), path, target: path.map((at) => `/${at}`) }),
)

/** Within a layer each path occurs once, and nothing is below a path that is no folder: such layers have no one meaning. */
const layer = fc
  .array(change, { maxLength: 8 })
  .map((changes) =>
    changes.filter(
      (one, at) =>
        !changes
          .slice(0, at)
          .some((other) => isWithin(one.path, other.path) || isWithin(other.path, one.path)),
    ),
  )

function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}/`)
}

function entryOf(one: Change, version: number): TestEntry {
  switch (one.kind) {
    case 'package':
      return {
        name: `${one.path}/package.json`,
        content: JSON.stringify({ name: one.path.replaceAll('/', '-'), version: `${version}.0.0` }),
      }
    case 'folder':
      return { name: one.path, type: 'directory' }
    case 'plain':
      return { name: one.path, content: 'text' }
    case 'whiteout':
      return { name: join(dirname(one.path), `.wh.${basename(one.path)}`) }
    case 'opaque':
      return { name: `${one.path}/.wh..wh..opq` }
    case 'link':
      return { name: one.path, type: 'symlink', linkname: one.target }
  }
}

const order: Readonly<Record<Change['kind'], number>> = {
  whiteout: 0,
  opaque: 0,
  folder: 1,
  plain: 1,
  link: 1,
  package: 1,
}

function isFolder(file: string): boolean {
  return existsSync(file) && statSync(file).isDirectory()
}

/** Returns the packages, or undefined if a step is not possible on disk: links that lead nowhere or to a file. */
function applied(layers: readonly (readonly Change[])[]): string[] | undefined {
  const root = mkdtempSync(join(tmpdir(), 'berth-layers-'))
  try {
    for (const [index, changes] of layers.entries())
      for (const one of changes.toSorted((a, b) => order[a.kind] - order[b.kind])) {
        const file = join(root, one.path)
        // Links are not followed here: they are relative to the root of the image.
        if (hasLink(root, String(entryOf(one, 1).name))) return undefined
        if (one.kind === 'whiteout') rmSync(file, { recursive: true, force: true })
        else if (one.kind === 'opaque') {
          if (isFolder(file))
            for (const child of readdirSync(file)) rmSync(join(file, child), { recursive: true })
        } else {
          const parts = dirname(one.path).split('/')
          const parents = parts.map((_, at) => join(root, ...parts.slice(0, at + 1)))
          // A file above does not stay.
          const above = parents.find((parent) => existsSync(parent) && !isFolder(parent))
          if (above !== undefined) rmSync(above)
          if (!(isFolder(file) && (one.kind === 'folder' || one.kind === 'package')))
            rmSync(file, { recursive: true, force: true })
          if (one.kind === 'plain' || one.kind === 'link') {
            mkdirSync(dirname(file), { recursive: true })
            if (one.kind === 'link') symlinkSync(one.target, file)
            else writeFileSync(file, 'text')
          } else mkdirSync(file, { recursive: true })
          if (one.kind === 'package')
            writeFileSync(join(file, 'package.json'), String(entryOf(one, index + 1).content))
        }
      }
    return readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((found) => basename(found) === 'package.json' && !hasLink(root, found))
      .map((found) => `${found} ${JSON.parse(readFileSync(join(root, found), 'utf8')).version}`)
      .sort()
  } finally {
    rmSync(root, { recursive: true })
  }
}

function hasLink(root: string, at: string): boolean {
  const parts = at.split('/')
  return parts.some((_, index) => {
    const parent = join(root, ...parts.slice(0, index))
    return (
      index < parts.length - 1 &&
      isFolder(parent) &&
      readdirSync(parent, { withFileTypes: true }).some(
        (entry) => entry.name === parts[index] && entry.isSymbolicLink(),
      )
    )
  })
}

test('readLayers finds what is there when layers are applied to a disk', async () => {
  let compared = 0
  await fc.assert(
    fc.asyncProperty(fc.array(layer, { minLength: 1, maxLength: 4 }), async (layers) => {
      const expected = applied(layers)
      if (expected === undefined) return
      compared++
      const { packages, problems } = await readImage(
        layers.map((changes, index) => changes.map((one) => entryOf(one, index + 1))),
      )
      assert.deepEqual(problems, [])
      assert.deepEqual(packages.map(({ path: found, version }) => `${found} ${version}`).sort(), expected)
    }),
    { numRuns: 200 },
  )
  assert.ok(compared > 50)
})
