/** A group of modules that become one file. */
export interface ModuleGroup {
  /** Size of its modules. */
  readonly bytes: number
  /** Names of the groups whose modules it imports. */
  readonly imports: ReadonlySet<string>
}

/**
 * Merges groups, because each file of a start costs the time to find it and to link it. `starts` has the names of the groups that each start
 * loads; no start loads more than `bytesMax` that it does not need, for each merge. Returns the new name of each group.
 */
export function mergeGroups(
  groups: ReadonlyMap<string, ModuleGroup>,
  starts: readonly ReadonlySet<string>[],
  bytesMax: number,
): ReadonlyMap<string, string> {
  const names = new Map([...groups.keys()].map((name) => [name, name]))
  const current = new Map(groups)
  const loaded = starts.map((start) => new Set(start))
  for (;;) {
    const pair = cheapestPair(current, loaded, bytesMax)
    if (pair === undefined) return names
    const [kept, merged] = pair
    for (const [name, now] of names) if (now === merged) names.set(name, kept)
    merge(current, kept, merged)
    const added = closureOf(current, kept)
    for (const start of loaded) {
      if (start.delete(merged)) start.add(kept)
      if (start.has(kept)) for (const name of added) start.add(name)
    }
  }
}

function merge(groups: Map<string, ModuleGroup>, kept: string, merged: string): void {
  const [one, other] = [groups.get(kept), groups.get(merged)] as [ModuleGroup, ModuleGroup]
  groups.delete(merged)
  groups.set(kept, { bytes: one.bytes + other.bytes, imports: new Set([...one.imports, ...other.imports]) })
  for (const [name, { bytes, imports }] of groups) {
    const renamed = new Set([...imports].map((imported) => (imported === merged ? kept : imported)))
    renamed.delete(name)
    groups.set(name, { bytes, imports: renamed })
  }
}

/** Returns the group and all that it loads. */
function closureOf(groups: ReadonlyMap<string, ModuleGroup>, name: string): ReadonlySet<string> {
  const closure = new Set([name])
  for (const one of closure) for (const imported of groups.get(one)?.imports ?? []) closure.add(imported)
  return closure
}

function cheapestPair(
  groups: ReadonlyMap<string, ModuleGroup>,
  starts: readonly ReadonlySet<string>[],
  bytesMax: number,
): readonly [string, string] | undefined {
  const closures = new Map([...groups.keys()].map((name) => [name, closureOf(groups, name)]))
  const closure = (name: string) => closures.get(name) as ReadonlySet<string>
  /** Whether one imports the other only through a third group, which would then import the file that imports it. */
  const isBetween = (one: string, other: string) =>
    [...(groups.get(one)?.imports ?? [])].some((name) => name !== other && closure(name).has(other))
  const costOf = (one: string, other: string) => {
    const all = [...new Set([...closure(one), ...closure(other)])]
    const costs = starts
      .filter((start) => start.has(one) !== start.has(other))
      .map((start) =>
        all.reduce((sum, name) => sum + (start.has(name) ? 0 : (groups.get(name)?.bytes ?? 0)), 0),
      )
    return Math.max(0, ...costs)
  }
  let best: readonly [string, string] | undefined
  let bestCost = bytesMax
  const names = [...groups.keys()]
  for (const [index, one] of names.entries())
    for (const other of names.slice(index + 1)) {
      if (isBetween(one, other) || isBetween(other, one)) continue
      const cost = costOf(one, other)
      if (cost > bestCost || (cost === bestCost && best !== undefined)) continue
      best = [one, other]
      bestCost = cost
    }
  return best
}
