import type { Compilable, CompiledQuery } from 'kysely'
import type { Reader } from './db.ts'

/**
 * Hot queries are built and compiled once. The builder runs a single time with stand-ins for the parameters; afterwards only
 * the values change, which leaves little more than the statement itself.
 */

class StandIn {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

type Parameters = Readonly<Record<string, string | number>>

/** `build` must use each parameter as a bound value only, never to decide the shape of the query. */
export function prepared<P extends Parameters, R>(
  build: (db: Reader, parameters: P) => Compilable<R>,
): (db: Reader, parameters: P) => Promise<R[]> {
  // One text per engine: the executor knows how to compile, so it identifies the engine here.
  const compiled = new WeakMap<object, { query: CompiledQuery<R>; slots: readonly unknown[] }>()
  const standIns = new Proxy({}, { get: (_, name) => new StandIn(String(name)) }) as P

  return async (db, parameters) => {
    const adapter = db.getExecutor().adapter
    let known = compiled.get(adapter)
    if (known === undefined) {
      const query = build(db, standIns).compile()
      known = { query, slots: query.parameters }
      compiled.set(adapter, known)
    }
    const values = known.slots.map((slot) => (slot instanceof StandIn ? parameters[slot.name] : slot))
    const result = await db.executeQuery<R>({ ...known.query, parameters: values })
    return result.rows
  }
}
