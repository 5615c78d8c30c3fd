import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** What Node's runner runs in one process. */
export interface TestProcess {
  /** Absolute path of a test file, or of a file that imports several. */
  readonly file: string
  /** Paths of the test files. */
  readonly members: readonly string[]
  readonly expectedMs: number
}

/**
 * What keeps a file in a process of its own: state of the whole process that it measures or changes, processes that read documents, and a hook
 * that must run before its tests alone.
 */
const NEEDS_OWN_PROCESS =
  /process\.(memoryUsage|cpuUsage|on)\b|readLiveMemory|process\.env\[[^\]]+\] = |assign\(process\.env|setDefaultCA|node:(worker_threads|perf_hooks)|createDocumentReader|createFeedBuilder|^before\(/m
/** Long enough that starting a process is little of it, short enough that no process is left alone at the end of a run. */
const GROUP_MS_MAX = 120_000
/** What a process may take to end after its last test. */
const END_MS_MAX = 60_000
/**
 * Where a test waits for something that does not keep the process alive, Node would end it, with all tests that follow. After the last test, the
 * process fails if it does not end: a server that a failed test did not stop would keep it running until the timeout of the whole file.
 */
const LIFETIME = `import { after } from 'node:test'
const timer = setInterval(() => {}, 2 ** 30)
after(() => {
  clearInterval(timer)
  setTimeout(() => {
    console.error('the tests have ended, and these are still open:', process.getActiveResourcesInfo().join(', '))
    process.exit(1)
  }, ${END_MS_MAX}).unref()
})
`

/**
 * Joins files that can share a process: it loads and optimizes the modules of the server once, which takes two seconds of processor time.
 * Writes a file for each group into `directory`.
 */
export function groupFiles(
  files: readonly string[],
  expectedMs: (file: string) => number,
  directory: string,
): TestProcess[] {
  const isAlone = (file: string) => NEEDS_OWN_PROCESS.test(readFileSync(file, 'utf8'))
  const groups: { members: string[]; expectedMs: number }[] = []
  for (const file of files.filter((file) => !isAlone(file)).toSorted()) {
    const ms = expectedMs(file)
    const last = groups.at(-1)
    if (last === undefined || last.expectedMs + ms > GROUP_MS_MAX) {
      groups.push({ members: [file], expectedMs: ms })
    } else {
      last.members.push(file)
      last.expectedMs += ms
    }
  }
  const alone = files.filter(isAlone).map((file) => ({ members: [file], expectedMs: expectedMs(file) }))
  return [...groups, ...alone].map(({ members, expectedMs }, at) => {
    const file = join(directory, `group-${at + 1}.mjs`)
    writeFileSync(
      file,
      LIFETIME + members.map((member) => `import '${pathToFileURL(resolve(member))}'\n`).join(''),
    )
    return { file, members, expectedMs }
  })
}

/** A process for one file. */
export function separate(file: string, expectedMs: (file: string) => number): TestProcess {
  return { file: resolve(file), members: [file], expectedMs: expectedMs(file) }
}
