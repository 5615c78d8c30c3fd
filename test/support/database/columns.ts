import { readFileSync } from 'node:fs'

/** The columns of tables, as storage/schema/tables.ts declares them; a test compares them with the migrated schema. */

const source = readFileSync('packages/server/src/storage/schema/tables.ts', 'utf8')

function membersOf(name: string): [member: string, type: string][] {
  const [, base, body = ''] =
    new RegExp(`interface ${name}(?: extends (\\w+))? {(.*?)^}`, 'ms').exec(source) ?? []
  const own = [...body.matchAll(/^ {2}(\w+): (\w+)$/gm)].map(
    ([, member = '', type = '']): [string, string] => [member, type],
  )
  return base === undefined ? own : [...membersOf(base), ...own]
}

const rowTypes = new Map(membersOf('Tables'))
const zeros: Readonly<Record<string, () => string | number | Uint8Array>> = {
  string: () => '',
  number: () => 0,
  Uint8Array: () => new Uint8Array(0),
}

/** Returns a row of a table in which every column has its zero value. */
export function zeroRow(table: string): Record<string, string | number | Uint8Array> {
  const columns = membersOf(rowTypes.get(table) ?? '')
  return Object.fromEntries(columns.map(([column, type]) => [column, zeros[type]!()]))
}
