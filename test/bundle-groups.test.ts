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

const bounds = fc.record({ eachMax: fc.nat(300), totalMax: fc.nat(600) })

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

test('merged files have no import cycle', () => {
  fc.assert(
    fc.property(graphs, bounds, ({ groups, starts }, within) => {
      const files = filesOf(groups, mergeGroups(groups, starts, within))
      for (const [name, { imports }] of files) assert.ok(!loadedBy(files, [...imports]).has(name))
    }),
  )
})

test('no start loads more unneeded bytes than the total', () => {
  fc.assert(
    fc.property(graphs, bounds, ({ groups, starts }, within) => {
      const names = mergeGroups(groups, starts, within)
      const files = filesOf(groups, names)
      const bytesOf = (of: ReadonlyMap<string, ModuleGroup>, loaded: Iterable<string>) =>
        [...loaded].reduce((sum, name) => sum + (of.get(name)?.bytes ?? 0), 0)
      for (const start of starts) {
        const loaded = loadedBy(
          files,
          [...start].map((name) => names.get(name) as string),
        )
        const unneeded = bytesOf(files, loaded) - bytesOf(groups, start)
        assert.ok(unneeded >= 0 && unneeded <= within.totalMax, `${unneeded} bytes`)
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
    { eachMax: 20, totalMax: 100 },
  )
  assert.deepEqual(Object.fromEntries(names), { main: 'main', base: 'base', small: 'base', large: 'large' })
})

test('no start loads a module outside of the bundle for a merge', () => {
  const groups = new Map([
    ['main', { bytes: 10, imports: new Set(['base', 'small']) }],
    ['base', { bytes: 10, imports: new Set<string>() }],
    ['small', { bytes: 10, imports: new Set(['library']) }],
    ['library', { bytes: Number.POSITIVE_INFINITY, imports: new Set<string>() }],
  ])
  const starts = [new Set(groups.keys()), new Set(['base'])]
  const names = mergeGroups(groups, starts, { eachMax: 1000, totalMax: 1000 })
  assert.equal(names.get('base'), 'base')
  assert.equal(names.get('small'), 'main')
})
