import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test } from 'node:test'

/** Scripts that write into a directory. */

for (const script of ['pack', 'shots'])
  test(`npm run ${script} explains its argument, and takes no option for a directory`, () => {
    const run = (...args: readonly string[]) =>
      spawnSync(process.execPath, [`scripts/${script}.ts`, ...args], { encoding: 'utf8' })
    const usage = `Usage: npm run ${script} -- [directory]\n`
    for (const option of ['--help', '-h']) {
      const { status, stdout } = run(option)
      assert.equal(status, 0, option)
      assert.ok(stdout.startsWith(usage), stdout)
    }
    for (const wrong of [['--directory'], ['a', 'b']]) {
      const { status, stderr } = run(...wrong)
      assert.equal(status, 2, wrong.join(' '))
      assert.ok(stderr.includes(usage), stderr)
      assert.equal(existsSync(wrong[0] as string), false)
    }
  })
