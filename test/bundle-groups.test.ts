import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { type ModuleGroup, mergeGroups } from '../scripts/packages/merge-groups.ts'

/** Groups that import only later ones, and starts that load some groups with all that these import. */
const graphs = fc
  .array(fc.record({ bytes: fc.nat(100), imports: fc.uniqueArray(fc.nat(11)) }), {
    minLength: 1,
    maxLength: 12,
  })
  .chain((nodes) =>
    fc.record({
      groups: fc.constant(
        new Map<string, ModuleGroup>(
          nodes.map(({ bytes, imports }, at) => [
            `${at}`,
            { bytes, imports: new Set(imports.filter((one) => one > at && one < nodes.length).map(String)) },
          ]),
        ),
      ),
      starts: fc.array(fc.uniqueArray(fc.nat(nodes.length - 1), { minLength: 1 }), {
        minLength: 1,
        maxLength: 5,
      }),
    }),
  )
  .map(({ groups, starts }) => ({
    groups,
    starts: starts.map((start) => loadedBy(groups, start.map(String))),
  }))

function loadedBy(groups: ReadonlyMap<string, ModuleGroup>, names: readonly string[]): Set<string> {
  const loaded = new Set(names)
  for (const name of loaded) for (const imported of groups.get(name)?.imports ?? []) loaded.add(imported)
  return loaded
}

/** Returns the files, with what they import. */
function filesOf(groups: ReadonlyMap<string, ModuleGroup>, names: ReadonlyMap<string, string>) {
  const files = new Map<string, ModuleGroup & { readonly imports: Set<string> }>()
  for (const [name, { bytes, imports }] of groups) {
    const own = names.get(name) as string
    const file = files.get(own) ?? { bytes: 0, imports: new Set<string>() }
    for (const imported of imports) {
      const other = names.get(imported) as string
      if (other !== own) file.imports.add(other)
    }
    files.set(own, { bytes: file.bytes + bytes, imports: file.imports })
  }
  return files
}

test('merged files do not import each other in a circle', () => {
  fc.assert(
    fc.property(graphs, fc.nat(300), ({ groups, starts }, bytesMax) => {
      const files = filesOf(groups, mergeGroups(groups, starts, bytesMax))
      for (const [name, { imports }] of files) assert.ok(!loadedBy(files, [...imports]).has(name))
    }),
  )
})

test('without unneeded bytes, merged files are what each start loads', () => {
  fc.assert(
    fc.property(graphs, ({ groups, starts }) => {
      const names = mergeGroups(groups, starts, 0)
      const files = filesOf(groups, names)
      const bytesOf = (of: ReadonlyMap<string, ModuleGroup>, loaded: Iterable<string>) =>
        [...loaded].reduce((sum, name) => sum + (of.get(name)?.bytes ?? 0), 0)
      for (const start of starts) {
        const loaded = loadedBy(
          files,
          [...start].map((name) => names.get(name) as string),
        )
        assert.equal(bytesOf(files, loaded), bytesOf(groups, start))
      }
    }),
  )
})

test('a small group that only some starts need joins one that all load, a large one does not', () => {
  const group = (bytes: number, ...imports: string[]): ModuleGroup => ({ bytes, imports: new Set(imports) })
  const groups = new Map([
    ['main', group(1000, 'base', 'small', 'large')],
    ['base', group(100)],
    ['small', group(10)],
    ['large', group(500)],
  ])
  const starts = [[...groups.keys()], ['base'], ['base', 'small'], ['base', 'large']]
  const names = mergeGroups(
    groups,
    starts.map((start) => new Set(start)),
    20,
  )
  assert.deepEqual(Object.fromEntries(names), { main: 'main', base: 'base', small: 'base', large: 'large' })
})
