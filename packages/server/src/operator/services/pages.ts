import { invalidArgument } from '../../api/errors.ts'
import { type CursorValue, effectivePageSize } from '../../api/page-tokens.ts'
import type { Call } from '../../pipeline/call.ts'
import { callerBinding, readCursor } from '../../storage/list/list.ts'
import type { Store } from '../../storage/store.ts'

/** Pages of lists of the operator API, by keyset. */

interface PageRequest {
  readonly pageSize: number
  readonly pageToken: string
}

/** `read`: returns at most `max` rows after a key. `keyOf`: the key of a row, in the order of the list. `filters`: what the token is bound to. */
export async function readPage<Row>(
  { pageTokens }: Pick<Store, 'pageTokens'>,
  call: Call,
  { pageSize, pageToken }: PageRequest,
  filters: readonly unknown[],
  read: (options: {
    readonly max: number
    readonly after: readonly CursorValue[] | undefined
  }) => Promise<readonly Row[]>,
  keyOf: (row: Row) => readonly CursorValue[],
): Promise<{ readonly rows: readonly Row[]; readonly nextPageToken: string }> {
  if (pageSize < 0) throw invalidArgument('page_size', 'must not be negative')
  const size = effectivePageSize(pageSize)
  const binding = JSON.stringify([...callerBinding(call), ...filters])
  const rows = await read({ max: size + 1, after: readCursor(pageTokens, pageToken, binding)?.after })
  const last = rows.length > size ? rows[size - 1] : undefined
  return {
    rows: rows.slice(0, size),
    nextPageToken:
      last === undefined ? '' : pageTokens.issue({ after: keyOf(last), skip: 0, skipped: 0 }, binding),
  }
}
