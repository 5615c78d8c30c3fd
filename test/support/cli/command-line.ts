import assert from 'node:assert/strict'
import { createSignedInBrowser, type WebBrowser } from '../browser/web-browser.ts'
import { PATIENCE_MS } from '../eventually.ts'
import {
  type Cleanup,
  type Finished,
  type Running,
  type RunOptions,
  runBerth,
  spawnBerth,
  temporaryDirectory,
} from '../server/process.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { submitConsent } from '../signin/oauth.ts'

/** A user at a terminal: the command line with its own home directory. */
export interface CommandLine {
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  /** Runs a command to its end. */
  run(args: readonly string[], options?: RunOptions & { env?: Record<string, string> }): Promise<Finished>
  /** Runs a command that succeeds; what it printed. */
  ok(args: readonly string[], options?: RunOptions & { env?: Record<string, string> }): Promise<string>
  start(args: readonly string[], env?: Record<string, string>): Running
}

export function commandLine(t: Cleanup, url: string, more: Record<string, string> = {}): CommandLine {
  const home = temporaryDirectory(t)
  const env = { HOME: home, BERTH_API: url, ...more }
  const run: CommandLine['run'] = (args, { env: own = {}, ...options } = {}) =>
    runBerth(t, args, { ...env, ...own }, options)
  return {
    home,
    env,
    run,
    async ok(args, options) {
      const { code, stdout, stderr } = await run(args, options)
      assert.equal(code, 0, `berth ${args.join(' ')}: ${stderr}`)
      return stdout
    },
    start: (args, own = {}) => spawnBerth(t, args, { ...env, ...own }),
  }
}

/** Waits for something that a running command prints for people. */
export async function waitForOutput(running: Running, pattern: RegExp): Promise<string> {
  let isFinished = false
  running.finished.then(() => {
    isFinished = true
  }, assert.ifError)
  const untilMs = Date.now() + PATIENCE_MS
  for (;;) {
    const { stderr } = running.output()
    const [found] = pattern.exec(stderr) ?? []
    if (found !== undefined) return found
    assert.ok(!isFinished && Date.now() < untilMs, `it said: ${stderr}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Signs in as the one who is signed in in the browser. */
export async function signIn(
  cli: CommandLine,
  browser: WebBrowser,
  args: readonly string[] = [],
): Promise<Finished> {
  const running = cli.start(['auth', 'login', ...args])
  const address = await waitForOutput(running, /http\S+\/oauth\/authorize\?\S+/)
  let { redirectedTo: left } = await browser.open(address)
  if (left !== undefined) {
    // The client changed its mind about what to ask for.
    const moved = await fetch(left, { redirect: 'manual' })
    left = (await submitConsent(browser, await browser.open(moved.headers.get('location') ?? '')))
      .redirectedTo
  } else left = (await submitConsent(browser, await browser.open(address))).redirectedTo
  assert.ok(left)
  const page = await fetch(left)
  assert.equal(page.status, 200)
  assert.match(await page.text(), /You are signed in/)
  const finished = await running.finished
  assert.equal(finished.code, 0, finished.stderr)
  return finished
}

/** A command line where the owner is signed in. */
export async function signedInCommandLine(
  t: Cleanup,
  berth: Pick<TestBerth, 'url' | 'berth' | 'owner'>,
): Promise<CommandLine> {
  const cli = commandLine(t, berth.url)
  await signIn(cli, await createSignedInBrowser(berth, berth.owner))
  return cli
}
