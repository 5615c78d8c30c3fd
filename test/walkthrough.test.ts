import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { freePort } from '../scripts/free-port.ts'
import { webBrowser } from './support/browser/web-browser.ts'
import { assertGolden } from './support/golden.ts'
import {
  built,
  processEnvironment,
  serveBerth,
  spawnBerth,
  temporaryDirectory,
} from './support/server/process.ts'
import { submitConsent } from './support/signin/oauth.ts'

/**
 * Replays the `sh` blocks of docs/walkthrough.md in one shell, against a server and an issuer in processes of their own, and the first
 * commands of the README.
 */

const root = fileURLToPath(new URL('..', import.meta.url))
const readme = blocksOf(readFileSync(`${root}README.md`, 'utf8'))
const blocks = blocksOf(readFileSync(`${root}docs/walkthrough.md`, 'utf8'))

/** The programs that the pages start with npx. */
const NPX_PROGRAMS = ['berth', 'node']
/** A function for the shell that starts each of them with npx first, which takes longer than most of them, and then without it. */
const NPX_FIRST = `npx() {
  if [ ! -e "$FOUND_BY_NPX/$1" ]; then touch "$FOUND_BY_NPX/$1"; command npx "$@"; return; fi
  local program=$1; shift; [ "$program" = node ] || set -- "$PROGRAM" "$@"; node "$@"
}`

const signIn = readme.find(({ text }) => text.includes('auth login'))?.text ?? ''

test('the README and the walkthrough start only what this test knows', () => {
  const commands = (page: typeof blocks) =>
    page.filter(({ language }) => language === 'bash').map(({ text }) => text)
  const install =
    'npm run pack -- dist/tarballs\nnpm install --global ./dist/tarballs/berth-[0-9]*.tgz\nberth serve'
  assert.deepEqual(commands(readme), ['npm ci && npm start', signIn, 'npm ci && npm test', install])
  assert.deepEqual(commands(blocks), ['npm run dev', 'npx node examples/issuer.ts'])
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  assert.equal(scripts.dev, 'node --watch-path=packages bin/dev.js serve --dev')
})

for (const start of ['an empty data directory', 'an owner account, whose organization has a name'])
  test(`the walkthrough works as written from ${start}, and its responses are correct`, {
    timeout: 120_000,
  }, async (t) => {
    const dataDir = temporaryDirectory(t)
    // If Node is killed, the server that it started stays.
    t.after(() => server.child.kill('SIGTERM') && server.finished)
    const server = await serveBerth(t, { BERTH_DATA_DIR: dataDir, BERTH_DRAIN_DELAY: '0s' }, ['--dev'], {
      as: `${root}bin/dev.js`,
      // Where no other test writes.
      nodeArgs: ['--watch-path=examples'],
      cwd: root,
    })
    if (start !== 'an empty data directory') await createOwner(server, 'acme')
    const issuer = await startIssuer(t, server.url)
    const addresses = { [server.url]: 'http://127.0.0.1:8080', [issuer]: 'http://127.0.0.1:8081' }

    const steps = blocks.flatMap(({ language, text }, at) => {
      const next = blocks[at + 1]
      const shown = next?.language === 'json' || next?.language === 'text' ? next : undefined
      return language === 'sh' ? [{ commands: text, shown }] : []
    })
    const outputs = await replay(
      t,
      steps.map(({ commands }) => commands),
      { BERTH: server.url, ISSUER: issuer, BERTH_DATA_DIR: dataDir },
      {
        found: start === 'an empty data directory' ? [] : NPX_PROGRAMS,
        log: () => Object.values(server.output()).join('\n'),
      },
    )

    for (const [at, { commands, shown }] of steps.entries()) {
      if (shown === undefined) continue
      const plain = (text: string) => withoutIds(text.trim(), addresses, () => '')
      const read = shown.language === 'json' ? JSON.parse : String
      assert.deepEqual(read(plain(shown.text)), read(plain(outputs[at] ?? '')), `the answer to:\n${commands}`)
    }
    const uids = new Map<string, number>()
    const number = (uid: string) => ` ${uids.get(uid) ?? uids.set(uid, uids.size + 1).size}`
    const transcript = steps.map(({ commands }, at) => {
      const answer = withoutIds(outputs[at] ?? '', addresses, number)
      return `${commands.replace(/^/gm, '$ ')}\n${answer}`
    })
    assertGolden('walkthrough.txt', transcript.join('\n'))
  })

/** Creates the owner account with the link that a starting server printed; the browser is signed in as its user. */
async function createOwner(server: Awaited<ReturnType<typeof serveBerth>>, organization: string) {
  const [link = ''] = /http\S+\/setup\?code=\S+/.exec(server.output().stdout) ?? []
  const browser = webBrowser(server.url)
  const person = {
    name: 'Ada Lovelace',
    email: 'ada@example.com',
    password: 'purple wagon sings loudly',
    organization,
  }
  const page = await browser.submit(await browser.open(link), person)
  assert.equal(page.path, '/?done=setup', page.text)
  return browser
}

test('the owner account and the command line work as the README describes', {
  timeout: 60_000,
}, async (t) => {
  const home = temporaryDirectory(t)
  const server = await serveBerth(t, { BERTH_DATA_DIR: `${home}/data` })
  const browser = await createOwner(server, 'default')

  const [login, ...others] = signIn.split('\n')
  assert.equal(login, 'npx berth auth login')
  const env = { HOME: home, BERTH_API: server.url }
  const signingIn = spawnBerth(t, ['auth', 'login'], env)
  let address: string | undefined
  while (address === undefined) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    address = /http\S+authorize\?\S+/.exec(signingIn.output().stderr)?.[0]
  }
  const { redirectedTo: left } = await submitConsent(browser, await browser.open(address))
  assert.ok(left)
  assert.equal((await fetch(left)).status, 200)
  const signedIn = await signingIn.finished
  assert.equal(signedIn.code, 0, signedIn.stderr)

  const commands = others.map((line) => line.replaceAll('http://127.0.0.1:8080', '"$BERTH_API"'))
  const [made = '', listed = '', answered = ''] = await replay(t, commands, env, { found: NPX_PROGRAMS })
  assert.match(made, /team/)
  assert.match(listed, /team/)
  const { groups } = JSON.parse(answered)
  assert.deepEqual(groups.map((group: { name: string }) => group.name).sort(), ['default', 'team'])
})

/** The fenced blocks of a Markdown text. */
function blocksOf(markdown: string) {
  const fenced = /^```(\w+)\n(.*?)\n```$/gms
  return [...markdown.matchAll(fenced)].map(([, language = '', text = '']) => ({ language, text }))
}

interface ReplayOptions {
  /** Returns what the server printed, for a failure. */
  readonly log?: () => string
  /** Programs that another round has started with npx. */
  readonly found: readonly string[]
}

/** Runs all commands in one shell; what each step printed. */
async function replay(
  t: TestContext,
  steps: readonly string[],
  env: Readonly<Record<string, string>>,
  { found, log = () => '' }: ReplayOptions,
): Promise<string[]> {
  const foundByNpx = temporaryDirectory(t)
  for (const program of found) writeFileSync(join(foundByNpx, program), '')
  const mark = '~~~ end of step ~~~\n'
  const script = [
    'set -euo pipefail',
    NPX_FIRST,
    ...steps.flatMap((step) => [step, `printf '${mark.trim()}\\n'`]),
  ]
  const shell = spawn('bash', ['-c', script.join('\n')], {
    cwd: root,
    // Nothing of it may need the network.
    env: processEnvironment({
      npm_config_offline: 'true',
      FOUND_BY_NPX: foundByNpx,
      PROGRAM: built,
      ...env,
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  shell.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  shell.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const [code] = await once(shell, 'close')
  assert.equal(code, 0, `the shell failed after:\n${stdout}\n${stderr}\n${log()}`)
  return stdout.split(mark).slice(0, -1)
}

function withoutIds(
  text: string,
  addresses: Readonly<Record<string, string>>,
  numbered: (uid: string) => string,
): string {
  let stable = text
  for (const [actual, documented] of Object.entries(addresses)) {
    stable = stable.replaceAll(actual, documented)
  }
  return stable
    .replace(/[0-9a-f]{40}(\/[0-9a-f]{16})*/g, (uid) => `<uid${numbered(uid)}>`)
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(/eyJ[\w.…-]+/g, '<token>')
}

/** examples/issuer.ts on a free port; its address. */
async function startIssuer(t: TestContext, audience: string): Promise<string> {
  const issuer = spawn(process.execPath, ['examples/issuer.ts', String(await freePort())], {
    cwd: root,
    env: processEnvironment({ BERTH: audience }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => issuer.kill())
  let printed = ''
  for await (const text of issuer.stdout.setEncoding('utf8')) {
    printed += text
    // The address, and a token for the reader who wants to look at one.
    const ready = /^ready (\S+)\n[\w-]+\.[\w-]+\.[\w-]+\n/m.exec(printed)?.[1]
    if (ready !== undefined) return ready
  }
  assert.fail(`the issuer did not start: ${printed}`)
}
