import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { createBench } from '../../bench/bench.ts'
import { readOptions } from '../../bench/options.ts'
import { compareVersions, isRegression } from '../../bench/works/compare.ts'
import { packedPackages } from '../support/packages/packed-packages.ts'
import { previousRelease, withoutPreviousRelease } from '../support/server/previous-release.ts'

/**
 * The guard against a slower release (`npm run bench -- --compare`): the working tree is within the tolerances, and the guard finds a delay
 * that is added to it.
 */

const measured = ['REST Get of a group', 'manifest by tag']
/** Hashes for each HTTP/1.1 request, which takes several times as long as a Get. */
const delay = `const { createHash } = require('node:crypto')
const { Server } = require('node:http')
const bytes = Buffer.alloc(1_000_000)
const { emit } = Server.prototype
Server.prototype.emit = function (event, ...values) {
  if (event === 'request') createHash('sha256').update(bytes).digest()
  return Reflect.apply(emit, this, [event, ...values])
}
`

describe('the comparison with a release', () => {
  const { directory } = packedPackages()

  test('finds a request that takes longer, and no other', async (t) => {
    const fast = join(directory, 'dist/berth')
    const slow = join(directory, 'dist/slow')
    cpSync(fast, slow, { recursive: true })
    symlinkSync(resolve('node_modules'), join(directory, 'dist/node_modules'))
    const program = join(slow, 'bin/berth.js')
    const [shebang, ...rest] = readFileSync(program, 'utf8').split('\n')
    writeFileSync(program, `${shebang}\n${delay}${rest.join('\n')}`)
    const options = readOptions(['--quick', '--rounds', '3'])
    assert.ok(options !== 'help')
    const bench = createBench(options)
    t.after(() => bench.close())
    const delayed = { name: 'delayed', program }
    const usual = { name: 'usual', program: join(fast, 'bin/berth.js') }
    const regressionsOf = async (...versions: [typeof usual, typeof usual]) => {
      const results = await compareVersions(bench, ...versions, (title) => measured.includes(title))
      await bench.stopChildren()
      return results.filter(isRegression).map(({ title }) => title)
    }
    const found = await regressionsOf(delayed, usual)
    for (const title of measured)
      assert.ok(found.includes(`${title}, to the release`), `${title} is not in ${found.join('; ')}`)
    const reverse = await regressionsOf(usual, delayed)
    assert.deepEqual(
      reverse.filter((title) => /REST Get|manifest/.test(title)),
      [],
    )
  })

  test(`finds no regression against ${previousRelease.version}`, {
    skip: withoutPreviousRelease,
  }, async (t) => {
    const compared = spawn(process.execPath, ['bench/main.ts', '--compare', previousRelease.commit], {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: t.signal,
    })
    let output = ''
    for (const stream of [compared.stdout, compared.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    const [status] = await once(compared, 'close')
    t.diagnostic(output)
    assert.equal(status, 0, output)
  })
})
