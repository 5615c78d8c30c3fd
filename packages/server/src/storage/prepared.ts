import type { Compilable, CompiledQuery } from 'kysely'
import { executeIn } from './changes/transactions.ts'
import type { Db, Reader, Tx } from './db.ts'

/**
 * Frequent queries are built and compiled once, with placeholders for the parameters. Each call only replaces the values, which costs little
 * more than the statement itself.
 */

class ParameterPlaceholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

type Value = string | number | Uint8Array
type Build<P, R> = (db: Reader, parameters: P) => Compilable<R>

/**
 * Returns a function that reads outside of transactions. `build` must use parameters as bound values only, not to choose the shape of the query.
 */
export function preparedRead<P extends object, R>(
  build: Build<P, R>,
): (db: Db, parameters: P) => Promise<R[]> | R[] {
  const compile = compileOnce(build)
  return (db, parameters) => {
    const { query, values } = compile(db.kysely, parameters)
    return db.read<R>(query.sql, values)
  }
}

/** Like preparedRead, in a transaction, for reads and writes. All calls must have the same parameters. */
export function prepared<P extends object, R>(build: Build<P, R>): (tx: Tx, parameters: P) => Promise<R[]> {
  const compile = compileOnce(build)
  return async (tx, parameters) => {
    const { query, values } = compile(tx, parameters)
    const result = await executeIn<R>(tx, { ...query, parameters: values })
    return result.rows
  }
}

function compileOnce<P extends object, R>(build: Build<P, R>) {
  // One text per engine, which the adapter of the executor identifies.
  const compiled = new WeakMap<object, { query: CompiledQuery<R>; slots: readonly unknown[] }>()

  return (db: Reader, parameters: P): { readonly query: CompiledQuery<R>; readonly values: Value[] } => {
    const { adapter } = db.getExecutor()
    let known = compiled.get(adapter)
    if (known === undefined) {
      const placeholders = Object.fromEntries(
        Object.keys(parameters).map((name) => [name, new ParameterPlaceholder(name)]),
      )
      const query = build(db, placeholders as P).compile()
      known = { query, slots: query.parameters }
      compiled.set(adapter, known)
    }
    const values = known.slots.map((slot) =>
      slot instanceof ParameterPlaceholder ? parameters[slot.name as keyof P] : slot,
    )
    return { query: known.query, values: values as Value[] }
  }
}
