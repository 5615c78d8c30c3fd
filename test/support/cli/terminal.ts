import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { stripVTControlCharacters } from 'node:util'
import { PATIENCE_MS } from '../eventually.ts'
import { program, programNode } from '../server/process.ts'
import type { CommandLine } from './command-line.ts'

/** A user who types at a terminal, which `script` of util-linux creates. */

export const withoutTerminal =
  spawnSync('script', ['--version']).status === 0 ? false : 'needs the script command of util-linux'

export const keys = { enter: '\r', down: '\u001b[B', stop: '\u0003' } as const

export interface TerminalResult {
  readonly code: number | null
  /** All that was shown, without what moves the cursor and colours it. */
  readonly text: string
  /** The same with that. */
  readonly raw: string
}

/** Runs a command at a terminal of 100 columns; each time that it shows what is waited for, the keys that go with it are typed. */
export async function runInTerminal(
  { env }: Pick<CommandLine, 'env'>,
  args: readonly string[],
  steps: readonly (readonly [see: RegExp, keys: string])[] = [],
): Promise<TerminalResult> {
  const words = [programNode, program, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
  const child = spawn('script', ['-qec', `stty cols 100 rows 40; exec ${words.join(' ')}`, '/dev/null'], {
    env: { PATH: process.env['PATH'], SHELL: '/bin/sh', TERM: 'xterm-256color', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let raw = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    raw += text
  })
  const closed = once(child, 'close')
  let from = 0
  try {
    for (const [waitFor, strokes] of steps) {
      const untilMs = Date.now() + PATIENCE_MS
      while (!waitFor.test(stripVTControlCharacters(raw.slice(from)))) {
        assert.ok(child.exitCode === null && Date.now() < untilMs, `waits for ${waitFor}: ${raw.slice(from)}`)
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
      from = raw.length
      child.stdin.write(strokes)
    }
    const [code] = await closed
    return { code, raw, text: stripVTControlCharacters(raw).replaceAll('\r', '') }
  } finally {
    child.kill('SIGKILL')
    await closed
  }
}
