import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { digest, ociClient, pushBlob, pushImage, testImage } from './support/registry/registry.ts'
import { runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'

test('berth admin collect and scrub work beside the running server, and tell what they do', async (t) => {
  const env = { BERTH_DATA_DIR: temporaryDirectory(t) }
  const server = await serveBerth(t, env)
  const run = async (...args: string[]) => {
    const finished = await runBerth(t, ['admin', ...args], env)
    return { ...finished, json: finished.stdout.startsWith('{') ? JSON.parse(finished.stdout) : undefined }
  }
  const first = (await run('bootstrap', '--name', 'acme', '--json')).json
  const token = (await run('token', '--audience', new URL(server.url).host)).stdout
  const client = ociClient(server, `Bearer ${token}`)
  const name = 'acme/tools/cli'
  const image = await pushImage(client, name, testImage(), '1.0')
  const loose = randomBytes(3000)
  await pushBlob(client, name, loose)

  const dry = await run('collect', '--dry-run', '--grace', '0s', '--json')
  const one = { count: 1, bytes: 3000 }
  const none = { count: 0, bytes: 0 }
  const { uid } = first.organization
  assert.deepEqual(dry.json, {
    dryRun: true,
    graceSeconds: 0,
    orphans: none,
    links: one,
    blobs: one,
    uploads: none,
    strays: none,
    organizations: [{ name: 'acme', uid, links: one, uploads: none }],
  })
  assert.equal((await client.request('HEAD', `${name}/blobs/${digest(loose)}`)).status, 200)
  const preview = await run('collect', '--grace', '0s')
  assert.match(
    preview.stdout,
    /^DELETED +COUNT +SIZE +DESCRIPTION\norphans +0 +0 B .*\nlinks +1 +2\.9 KiB .*\nblobs +1 +2\.9 KiB /,
  )
  assert.match(preview.stdout, new RegExp(`\nacme +${uid} +1 +2\\.9 KiB +0\n$`))
  assert.equal((await client.request('HEAD', `${name}/blobs/${digest(loose)}`)).status, 404)
  assert.equal((await client.request('GET', `${name}/manifests/1.0`)).status, 200)
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  assert.match(metrics, /^berth_registry_collection_last_success_timestamp_seconds 1[\d.]+$/m)

  const clean = await run('scrub', '--rate', '100MiB/s')
  assert.equal(clean.code, 0, clean.stderr)
  assert.equal(
    clean.stdout.split('\n')[0]?.replace(/\(.*\)/, '()'),
    '2 blobs () and 1 manifests verified, 0 damaged',
  )
  const [, layer = Buffer.of()] = image.blobs
  const hex = digest(layer).slice('sha256:'.length)
  const directory = join(env.BERTH_DATA_DIR, 'blobs', 'sha256', hex.slice(0, 2))
  const [file = ''] = readdirSync(directory).filter((entry) => entry.startsWith(hex))
  writeFileSync(join(directory, file), randomBytes(layer.length))
  const bad = await run('scrub', '--json')
  assert.equal(bad.code, 5)
  assert.deepEqual(bad.json.counts, { missing: 0, damaged: 1, unreadable: 0, incomplete: 0, orphan: 0 })
  assert.equal(bad.json.findings[0].repos[0].name, name)
  rmSync(join(directory, file))
  const repaired = await run('scrub', '--repair')
  assert.equal(repaired.code, 5)
  assert.match(repaired.stdout, new RegExp(name))
  await pushBlob(client, name, layer)
  assert.ok((await client.request('GET', `${name}/blobs/${digest(layer)}`)).bytes.equals(layer))
  assert.equal((await run('scrub', '--limit', '1')).code, 0)
  const rest = await run('scrub', '--continue', '--json')
  assert.deepEqual([rest.json.blobs, rest.json.manifests, rest.json.position], [1, 1, ''])
  assert.equal((await run('scrub', '--rate', 'fast')).code, 2)
})

test('the limits of collection leave a push its time', () => {
  const { gcGraceMsMin, gcGraceMsDefault, linkRefreshMs, untrackedBlobAgeMsMin, blobCommitMsMax } = limits
  assert.ok(linkRefreshMs < gcGraceMsMin && gcGraceMsMin < gcGraceMsDefault)
  // With room for clocks that differ.
  assert.ok(untrackedBlobAgeMsMin >= 2 * blobCommitMsMax)
})
