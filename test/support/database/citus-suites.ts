/** What runs on a distributed database (`npm test -- --citus`), and what `.ci/run` runs of it. */

/** Whether a test file runs its suites on the databases that are selected. */
export function runsOnCitus(file: string, text: string): boolean {
  return (
    file.startsWith('test/') && /\b(databases|engineDatabases|onEvery[A-Z]\w*|selectedCluster)\b/.test(text)
  )
}

/** Test files that `.ci/run` runs. */
export const citusSelection: readonly string[] = ['test/api/access.test.ts']
