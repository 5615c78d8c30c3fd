/** What runs on a distributed database (`npm test -- --citus`), and what `.ci/run` runs of it. */

/** Whether a test file runs its suites on the databases that are selected. */
export function runsOnCitus(file: string, text: string): boolean {
  return (
    file.startsWith('test/') && /\b(databases|engineDatabases|onEvery[A-Z]\w*|selectedCluster)\b/.test(text)
  )
}

/**
 * Test files that `.ci/run` runs: what asks organizations, their members, their images and several servers, without the suites whose time is
 * spent on background work.
 */
export const citusSelection: readonly string[] = [
  'test/api/access.test.ts',
  'test/api/account-associations.test.ts',
  'test/api/audit.test.ts',
  'test/api/auth.test.ts',
  'test/api/deep-groups.test.ts',
  'test/api/delete-manifest.test.ts',
  'test/api/exchange-people.test.ts',
  'test/api/exchange-platform-tokens.test.ts',
  'test/api/explain-exchange.test.ts',
  'test/api/external-group-role-mappings.test.ts',
  'test/api/group-access.test.ts',
  'test/api/group-invites.test.ts',
  'test/api/group-paths.test.ts',
  'test/api/groups.test.ts',
  'test/api/idempotency.test.ts',
  'test/api/identities.test.ts',
  'test/api/identity-metadata.test.ts',
  'test/api/identity-organizations.test.ts',
  'test/api/image-copies.test.ts',
  'test/api/images.test.ts',
  'test/api/manifests.test.ts',
  'test/api/operator.test.ts',
  'test/api/operator-access.test.ts',
  'test/api/policies.test.ts',
  'test/api/referrers.test.ts',
  'test/api/repo-summaries.test.ts',
  'test/api/repo-tags.test.ts',
  'test/api/repos.test.ts',
  'test/api/resource-limits.test.ts',
  'test/api/role-bindings.test.ts',
  'test/api/roles.test.ts',
  'test/api/search.test.ts',
  'test/api/signature-verifiers.test.ts',
  'test/api/suspended-organizations.test.ts',
  'test/api/tags.test.ts',
  'test/api/usage.test.ts',
  'test/api/user-lookup.test.ts',
  'test/api/versions.test.ts',
  'test/api/vulnerability-records.test.ts',
  'test/storage/shards.test.ts',
  'test/storage/table-placement.test.ts',
]
