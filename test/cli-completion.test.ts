import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runBerth, temporaryDirectory } from './support/server/process.ts'

/** What a shell offers after the words so far. */

const isThere = (shell: string) => spawnSync(shell, ['--version'], { stdio: 'ignore' }).status === 0

test('bash completes commands, their aliases, flags and what flags take', {
  skip: !isThere('bash') && 'needs bash',
}, async (t) => {
  const { code, stdout } = await runBerth(t, ['completion', 'bash'])
  assert.equal(code, 0)
  const offered = (...words: string[]) => {
    const quoted = words.map((word) => `'${word}'`).join(' ')
    const script = `${stdout}\nCOMP_WORDS=(berth ${quoted}); COMP_CWORD=${words.length}; _berth; echo "\${COMPREPLY[@]}"`
    const {
      status,
      stdout: printed,
      stderr,
    } = spawnSync('bash', ['--norc', '--noprofile', '-c', script], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    assert.deepEqual([status, stderr], [0, ''])
    return printed.trim().split(' ')
  }
  assert.deepEqual(offered('im'), ['images'])
  assert.deepEqual(offered('iam', 'org', ''), ['list', 'create', 'describe', 'update', 'delete', '--help'])
  assert.deepEqual(offered('--profile', 'work', 'iam', 'folders', 'li'), ['list'])
  assert.deepEqual(offered('iam', 'roles', 'list', '--na'), ['--name'])
  assert.deepEqual(offered('images', 'list', '--log'), ['--log-level'])
  assert.deepEqual(offered('images', 'list', '-o', 'j'), ['json'])
  assert.deepEqual(offered('iam', 'identities', 'list', '--type', 'a'), ['aws'])
  assert.deepEqual(
    offered('iam', 'folders', 'create', 'x', '--parent', ''),
    [''],
    'nothing known: the shell offers files',
  )
  assert.deepEqual(offered('serve', '--api'), [''])
})

/** Runs the script that completes commands in a shell, then some lines. */
async function withScript(t: TestContext, shell: string, args: readonly string[], lines: string) {
  const file = join(temporaryDirectory(t), '_berth')
  writeFileSync(file, (await runBerth(t, ['completion', shell])).stdout)
  const { stdout, stderr } = spawnSync(shell, [...args, '-c', lines.replaceAll('FILE', file)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  assert.equal(stderr, '')
  return stdout
}

test('fish completes the same', { skip: !isThere('fish') && 'needs fish' }, async (t) => {
  const lines = 'source FILE; complete -C "berth iam org d"; complete -C "berth images list -o j"'
  const offered = await withScript(t, 'fish', ['--no-config'], lines)
  assert.deepEqual(offered.trim().split('\n'), ['delete', 'describe', 'json'])
})

test('zsh completes the same, from a file of its fpath too', {
  skip: !isThere('zsh') && 'needs zsh',
}, async (t) => {
  const lines = `
    compadd() { shift; print -r -- "$@" }
    compdef() { print compdef "$@" }
    words=(berth iam org ''); CURRENT=4
    source FILE; _berth
    unfunction _berth; fpath=($(dirname FILE)); autoload -U _berth; _berth`
  const next = 'list create describe update delete --help'
  assert.equal(await withScript(t, 'zsh', ['-f'], lines), `compdef _berth berth\n${next}\n${next}\n`)
})

test('a shell that is not known is a mistake that names those that are', async (t) => {
  const { code, stderr } = await runBerth(t, ['completion', 'tcsh'])
  assert.equal(code, 2)
  assert.match(stderr, /Allowed choices are bash, zsh, fish/)
})
