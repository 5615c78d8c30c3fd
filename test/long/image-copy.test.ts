import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { descriptor, digest, types } from '../support/registry/registry.ts'
import { spawnBerth, temporaryDirectory } from '../support/server/process.ts'
import { startTestBerth } from '../support/server/test-berth.ts'

/** Layers pass through the command line: they are never held there. */

const MIB = 1024 * 1024
const LAYER_MIB = 1024
/** The program itself has about 100 MiB. */
const RESIDENT_MIB_MAX = 250

test('a layer of 1 GiB is pushed, copied and pulled in flat memory', { timeout: 600_000 }, async (t) => {
  const sqlite = { name: 'sqlite', open: undefined } as const
  const berth = await startTestBerth(sqlite)
  t.after(() => berth.stop())
  const directory = temporaryDirectory(t)
  const blobs = join(directory, 'layout', 'blobs', 'sha256')
  mkdirSync(blobs, { recursive: true })
  const file = openSync(join(blobs, 'draft'), 'w')
  const hash = createHash('sha256')
  for (let at = 0; at < LAYER_MIB; at += 1) {
    const piece = Buffer.alloc(MIB, `${at} `)
    hash.update(piece)
    writeSync(file, piece)
  }
  closeSync(file)
  const layer = hash.digest('hex')
  renameSync(join(blobs, 'draft'), join(blobs, layer))
  const config = Buffer.from('{}')
  const manifest = Buffer.from(
    JSON.stringify({
      ...{ schemaVersion: 2, mediaType: types.image, config: descriptor(types.config, config) },
      layers: [{ mediaType: types.layer, digest: `sha256:${layer}`, size: LAYER_MIB * MIB }],
    }),
  )
  for (const blob of [config, manifest])
    writeFileSync(join(blobs, digest(blob).slice('sha256:'.length)), blob)
  const index = { schemaVersion: 2, manifests: [descriptor(types.image, manifest)] }
  writeFileSync(join(directory, 'layout', 'index.json'), JSON.stringify(index))
  writeFileSync(join(directory, 'layout', 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')

  const other = await startTestBerth(sqlite)
  t.after(() => other.stop())
  const [here, there] = [berth, other].map(({ url }) => new URL(url).host)
  mkdirSync(join(directory, '.docker'))
  const auths = Object.fromEntries(
    [berth, other].map(({ url, token }) => [
      new URL(url).host,
      { auth: Buffer.from(`_token:${token}`).toString('base64') },
    ]),
  )
  writeFileSync(join(directory, '.docker', 'config.json'), JSON.stringify({ auths }))
  const env = { HOME: directory, BERTH_API: berth.url, BERTH_TOKEN: berth.token }
  const commands = [
    ['push', join(directory, 'layout'), `${here}/${berth.organization}/big:1`],
    ['copy', `${here}/${berth.organization}/big:1`, `${there}/${other.organization}/big:1`],
    ['pull', `${there}/${other.organization}/big:1`, join(directory, 'pulled')],
  ]
  for (const command of commands) {
    const running = spawnBerth(t, ['images', ...command], env)
    let residentMib = 0
    const timer = setInterval(() => {
      const [, kib = '0'] = /VmHWM:\s+(\d+) kB/.exec(readStatus(running.child.pid)) ?? []
      residentMib = Math.max(residentMib, Number(kib) / 1024)
    }, 100)
    const { code, stderr } = await running.finished.finally(() => clearInterval(timer))
    assert.equal(code, 0, stderr)
    t.diagnostic(`${command[0]}: ${Math.round(residentMib)} MiB resident at most`)
    assert.ok(residentMib > 0 && residentMib < RESIDENT_MIB_MAX, `${command[0]}: ${residentMib} MiB`)
  }
})

function readStatus(pid: number | undefined): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}
