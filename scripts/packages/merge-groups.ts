/** A group of modules that become one file, or a module outside of the bundle. */
export interface ModuleGroup {
  /** Size of its modules before they are bundled; infinite for a module outside of the bundle. */
  readonly bytes: number
  /** Names of the groups whose modules it imports. */
  readonly imports: ReadonlySet<string>
}

/** Bytes that a start may load and does not need. */
export interface UnneededBytes {
  /** For one merge. */
  readonly eachMax: number
  readonly totalMax: number
}

interface Start {
  /** Names of the groups that it loads. */
  readonly loaded: Set<string>
  unneededBytes: number
}

/**
 * Merges groups, because each file of a start costs the time to find it and to link it. `starts` has the names of the groups that each start
 * loads. Returns the new name of each group.
 */
export function mergeGroups(
  groups: ReadonlyMap<string, ModuleGroup>,
  starts: readonly ReadonlySet<string>[],
  bounds: UnneededBytes,
): ReadonlyMap<string, string> {
  const names = new Map([...groups.keys()].map((name) => [name, name]))
  const current = new Map(groups)
  const states = starts.map((start): Start => ({ loaded: new Set(start), unneededBytes: 0 }))
  for (;;) {
    const pair = cheapestPair(current, states, bounds)
    if (pair === undefined) return names
    const [kept, merged] = pair
    for (const [name, now] of names) if (now === merged) names.set(name, kept)
    for (const state of states) {
      if (!state.loaded.has(kept) && !state.loaded.has(merged)) continue
      state.unneededBytes += unneededBytes(current, state, pair)
      for (const name of [...closureOf(current, kept), ...closureOf(current, merged)]) state.loaded.add(name)
      state.loaded.delete(merged)
    }
    merge(current, kept, merged)
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

/** Returns what a start that loads one of two groups would load more if they were one file. */
function unneededBytes(
  groups: ReadonlyMap<string, ModuleGroup>,
  { loaded }: Start,
  pair: readonly [string, string],
): number {
  const all = new Set(pair.flatMap((name) => [...closureOf(groups, name)]))
  return [...all].reduce((sum, name) => sum + (loaded.has(name) ? 0 : (groups.get(name)?.bytes ?? 0)), 0)
}

/** Returns the pair whose merge costs the start that it costs most the least. */
function cheapestPair(
  groups: ReadonlyMap<string, ModuleGroup>,
  starts: readonly Start[],
  { eachMax, totalMax }: UnneededBytes,
): readonly [string, string] | undefined {
  /** One imports the other through a third group, so their file and that of the third group would import each other. */
  const isBetween = (one: string, other: string) =>
    [...(groups.get(one)?.imports ?? [])].some((name) => name !== other && closureOf(groups, name).has(other))
  const costOf = (pair: readonly [string, string]) => {
    const costs = starts
      .filter(({ loaded }) => loaded.has(pair[0]) !== loaded.has(pair[1]))
      .map((start) => {
        const bytes = unneededBytes(groups, start, pair)
        return start.unneededBytes + bytes > totalMax ? Number.POSITIVE_INFINITY : bytes
      })
    return Math.max(0, ...costs)
  }
  let best: readonly [string, string] | undefined
  let bestCost = Number.POSITIVE_INFINITY
  const names = [...groups].filter(([, { bytes }]) => Number.isFinite(bytes)).map(([name]) => name)
  for (const [index, one] of names.entries())
    for (const other of names.slice(index + 1)) {
      const cost = costOf([one, other])
      if (cost > eachMax || cost >= bestCost || isBetween(one, other) || isBetween(other, one)) continue
      best = [one, other]
      bestCost = cost
    }
  return best
}
