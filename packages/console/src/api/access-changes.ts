import { queryClient } from './query-client.ts'

/** First parts of the keys of all queries that show roles or who has them, and what roles make visible to everyone. */
const accessKeys: ReadonlySet<unknown> = new Set([
  'members',
  'who-can',
  'explanation',
  'candidates',
  'role-uses',
  'roles',
  'custom-roles',
  'role',
  'role-bindings',
  'role-binding',
  'bindings',
  'group-mappings',
  'identities',
  'pull-tokens',
  'visibility',
  'repos',
  'who-am-i',
])

/** Reads again what shows roles and who has them. */
export const refreshAccess = (): Promise<void> =>
  queryClient.invalidateQueries({ predicate: ({ queryKey }) => accessKeys.has(queryKey[0]) })
