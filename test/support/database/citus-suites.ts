/** What runs on a distributed database (`npm test -- --citus`), and what `.ci/run` runs of it. */

/** Whether a test file runs its suites on the databases that are selected. */
export function runsOnCitus(file: string, text: string): boolean {
  return (
    file.startsWith('test/') &&
    /\b(databases|engineDatabases|serverDatabases|onEvery[A-Z]\w*|selectedCluster)\b/.test(text)
  )
}

/**
 * Test files that `.ci/run` runs: what asks organizations, their members, their images and several servers, without the suites that send many
 * requests at a time, which a busy machine makes too slow for the limits of requests.
 */
export const citusSelection: readonly string[] = [
  'test/api/audit.test.ts',
  'test/api/copying-organizations.test.ts',
  'test/api/explain-exchange.test.ts',
  'test/api/findings.test.ts',
  'test/api/group-access.test.ts',
  'test/api/group-paths.test.ts',
  'test/api/idempotency.test.ts',
  'test/api/identity-organizations.test.ts',
  'test/api/images.test.ts',
  'test/api/invited-organizations.test.ts',
  'test/api/referrers.test.ts',
  'test/api/repo-tags.test.ts',
  'test/api/roles.test.ts',
  'test/api/suspended-organizations.test.ts',
  'test/api/user-lookup.test.ts',
  'test/api/waiting-changes.test.ts',
  'test/oci/immutable-tags.test.ts',
  'test/storage/lost-server-events.test.ts',
  'test/storage/lost-server.test.ts',
  'test/storage/lost-users.test.ts',
  'test/storage/organization-servers.test.ts',
  'test/storage/query-from-any-node.test.ts',
  'test/storage/shards.test.ts',
  'test/storage/table-placement.test.ts',
  'test/storage/worker-address.test.ts',
]

/** Tests that do not run on a distributed database, each with the reason. A rule of the project checks that each entry is used. */
export const citusDifferences = {
  copiedManifestsMax:
    'a request that copies 200 manifests commits each of them on two servers: on a busy machine it reaches handlerTimeoutMs',
} as const

/** Whether this is a run on a distributed database. */
export const isOnCitus = process.env['BERTH_TEST_DATABASES'] === 'citus'

/** Why a test is skipped in a run on a distributed database; false in others. */
export function differsOnCitus(difference: keyof typeof citusDifferences): string | false {
  return isOnCitus && citusDifferences[difference]
}
