import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import {
  findDocuments,
  type SearchOptions,
  totalBytes,
} from '@berth/advisory-formats/archives/find-documents.ts'
import { limits } from '@berth/server/config/limits.ts'
import { buildTar, buildTarGz, buildZip } from './support/advisories/archives.ts'
import { temporaryDirectory } from './support/server/process.ts'

/** What is found in files, folders and archives, and what is rejected from untrusted sources. */

async function found(path: string, searching?: SearchOptions): Promise<string[]> {
  const lines = []
  for await (const one of findDocuments(path, 'IN', searching)) {
    if (one.kind === 'document') lines.push(`${one.name} = ${Buffer.from(one.content)}`)
    else lines.push(`${one.name} ${one.kind}${one.kind === 'rejected' ? `: ${one.reason}` : ''}`)
  }
  return lines
}

function file(t: TestContext, content: Uint8Array | string): string {
  const path = join(temporaryDirectory(t), 'file')
  writeFileSync(path, content)
  return path
}

test('a folder yields its documents in the order of names, and reports what it skips', async (t) => {
  const folder = temporaryDirectory(t)
  mkdirSync(join(folder, 'b', '.git'), { recursive: true })
  writeFileSync(join(folder, 'b', '.git', 'config.json'), '{}')
  writeFileSync(join(folder, '.hidden.yaml'), 'a: 1')
  writeFileSync(join(folder, 'b', 'two.yml'), 'b: 2')
  writeFileSync(join(folder, 'one.JSON'), '{}')
  writeFileSync(join(folder, 'three.json.gz'), gzipSync('{"c":3}'))
  writeFileSync(join(folder, 'README.md'), '#')
  symlinkSync('/etc/passwd', join(folder, 'link.json'))
  assert.deepEqual(await found(folder), [
    'IN/README.md skipped',
    'IN/b/two.yml = b: 2',
    'IN/link.json rejected: is a link; links are not followed',
    'IN/one.JSON = {}',
    'IN/three.json.gz = {"c":3}',
  ])
  assert.equal(await totalBytes(folder), 4 + 2 + gzipSync('{"c":3}').length)
})

test('security databases come after all other documents, from folders and archives', async (t) => {
  const folder = temporaryDirectory(t)
  const secdb = '{"reponame": "a", "packages": [{"pkg": {"name": "b", "secfixes": {}}}]}'
  mkdirSync(join(folder, 'a'))
  writeFileSync(join(folder, 'a', 'security.json'), secdb)
  writeFileSync(
    join(folder, 'b.zip'),
    buildZip([
      { name: 'a.json', content: secdb },
      { name: 'b.json', content: '{}' },
    ]),
  )
  writeFileSync(join(folder, 'c.yaml'), 'c: 3')
  assert.deepEqual(await found(folder), [
    'IN/b.zip:b.json = {}',
    'IN/c.yaml = c: 3',
    `IN/a/security.json = ${secdb}`,
    `IN/b.zip:a.json = ${secdb}`,
  ])
})

test('a file is opened by its content, whatever its name', async (t) => {
  const member = { name: 'a.json', content: '{"a":1}' }
  assert.deepEqual(await found(file(t, '{"a":1}')), ['IN = {"a":1}'])
  assert.deepEqual(await found(file(t, gzipSync('{"a":1}'))), ['IN = {"a":1}'])
  const inside = ['IN:a.json = {"a":1}']
  assert.deepEqual(await found(file(t, buildZip([member]))), inside)
  assert.deepEqual(await found(file(t, await buildTar([member]))), inside)
  assert.deepEqual(await found(file(t, await buildTarGz([member]))), inside)
  assert.deepEqual(await found(file(t, gzipSync(buildZip([member])))), inside)
  assert.deepEqual(await found(file(t, buildZip([]))), [])
  for (const start of ['28b52ffd', 'fd377a585a00', '425a6839', '377abcaf271c', '526172211a07'])
    assert.deepEqual(await found(file(t, Buffer.from(`${start}0000`, 'hex'))), [
      'IN rejected: has an unsupported compression: use zip or gzip',
    ])
})

const paths = [
  ['../up.json', 'has a path outside the archive'],
  ['a/../../up.json', 'has a path outside the archive'],
  ['a\\..\\up.json', 'has a path outside the archive'],
  ['/abs.json', 'has an absolute path'],
  ['\\abs.json', 'has an absolute path'],
  ['C:/abs.json', 'has an absolute path'],
  ['new\nline.json', 'has an invalid file name'],
] as const

test('invalid entries of an archive are reported and skipped, and the rest is read', async (t) => {
  const here = readdirSync('.')
  const bad = (as: (name: string) => string) =>
    paths.map(([name, problem]) => `IN:${as(name)} rejected: ${problem}`)
  const zip = buildZip([
    { name: 'dir/', content: '' },
    ...paths.map(([name]) => ({ name, content: '{}' })),
    { name: 'one.json', content: '1' },
    { name: 'one.json', content: '2' },
    { name: 'link.json', content: '/etc/passwd', mode: 0o120777 },
    { name: 'pipe.json', mode: 0o010644 },
    { name: 'secret.json', content: '{}', encrypted: true },
    { name: 'lying.json', content: '{"long":true}', declaredBytes: 3 },
    { name: 'notes.md', content: '#' },
    { name: '.github/workflow.yaml', content: 'on: push' },
    { name: 'dir/last.yaml', content: 'z: 26', mode: 0o100644 },
  ])
  assert.deepEqual(await found(file(t, zip)), [
    // Programs for Windows write backslashes into zip archives.
    ...bad((name) => name.replaceAll('\\', '/')),
    'IN:one.json = 1',
    'IN:one.json rejected: occurs twice',
    'IN:link.json rejected: is a link; links are not followed',
    'IN:pipe.json rejected: is neither a file nor a folder',
    'IN:secret.json rejected: cannot be unpacked: is encrypted',
    'IN:lying.json rejected: cannot be unpacked: too many bytes in the stream. expected 3. got at least 13',
    'IN:notes.md skipped',
    'IN:.github/workflow.yaml skipped',
    'IN:dir/last.yaml = z: 26',
  ])

  const tar = await buildTar([
    { name: 'dir/', type: 'directory' },
    ...paths.map(([name]) => ({ name, content: '{}' })),
    { name: 'one.json', content: '1' },
    { name: 'one.json', content: '2' },
    { name: 'soft.json', type: 'symlink', linkname: '/etc/passwd' },
    { name: 'hard.json', type: 'link', linkname: 'one.json' },
    { name: 'tty.json', type: 'character-device' },
    { name: 'pipe.json', type: 'fifo' },
    { name: `${'long/'.repeat(60)}name.json`, content: '3' },
  ])
  assert.deepEqual(await found(file(t, tar)), [
    ...bad((name) => name),
    'IN:one.json = 1',
    'IN:one.json rejected: occurs twice',
    'IN:soft.json rejected: is a link; links are not followed',
    'IN:hard.json rejected: is a link; links are not followed',
    'IN:tty.json rejected: is neither a file nor a folder',
    'IN:pipe.json rejected: is neither a file nor a folder',
    `IN:${'long/'.repeat(60)}name.json = 3`,
  ])
  assert.deepEqual(readdirSync('.'), here)
})

test('archives in archives are opened down to archiveNestingMax, and no deeper', async (t) => {
  const within = (content: Buffer) => buildZip([{ name: 'in.zip', content }])
  const document = buildZip([{ name: 'a.json', content: '{}' }])
  assert.equal(limits.archiveNestingMax, 2)
  assert.deepEqual(await found(file(t, within(within(document)))), ['IN:in.zip:in.zip:a.json = {}'])
  assert.deepEqual(await found(file(t, within(within(within(document))))), [
    'IN:in.zip:in.zip:in.zip rejected: is nested in more than 2 archives',
  ])
  const many = buildZip([
    { name: 'a.tar.gz', content: await buildTarGz([{ name: 'b.json', content: '1' }]) },
    { name: 'c.json.gz', content: gzipSync('2') },
    { name: 'broken.zip', content: 'PK\x03\x04' },
    { name: 'd.json', content: '3' },
  ])
  assert.deepEqual(await found(file(t, many)), [
    'IN:a.tar.gz:b.json = 1',
    'IN:c.json.gz = 2',
    'IN:broken.zip rejected: cannot be unpacked: End of central directory record signature not found. Either not a zip file, or file is truncated.',
    'IN:d.json = 3',
  ])
})

test('an archive that unpacks to too many bytes or files ends at its limit', async (t) => {
  const bounds = {
    ...limits,
    advisoryDocumentBytesMax: 1024 ** 2,
    archiveBytesMax: 4 * 1024 ** 2,
    archiveEntriesMax: 5,
  }
  const zeros = Buffer.alloc(3 * 1024 ** 2, ' ')
  const noise = randomBytes(900_000)
  const one = { name: 'one.json', content: '1' }
  const bomb = buildZip([
    one,
    { name: 'bomb.json', content: zeros },
    { name: 'lying.json', content: zeros, declaredBytes: 1 },
  ])
  assert.deepEqual(await found(file(t, bomb), { bounds }), [
    'IN:one.json = 1',
    'IN:bomb.json rejected: must have at most 1 MiB',
    'IN:lying.json rejected: cannot be unpacked: too many bytes in the stream. expected 1. got at least 16384',
  ])
  assert.equal(limits.archiveRatioMax, 100)
  const tar = await buildTarGz([one, { name: 'bomb.json', content: zeros.toString() }, one])
  assert.deepEqual(await found(file(t, tar), { bounds }), [
    'IN:one.json = 1',
    'IN:bomb.json rejected: must have at most 1 MiB',
    'IN rejected: unpacks to more than 100 times its size',
  ])
  assert.deepEqual(await found(file(t, gzipSync(zeros)), { bounds }), [
    'IN rejected: unpacks to more than 100 times its size',
  ])
  const files = buildZip([1, 2, 3, 4, 5, 6].map((at) => ({ name: `${at}.md`, content: '' })))
  assert.equal((await found(file(t, files), { bounds })).at(-1), 'IN rejected: has more than 5 files')
  const large = buildZip([1, 2, 3, 4, 5].map((at) => ({ name: `${at}.json`, content: noise })))
  const lines = await found(file(t, large), { bounds })
  assert.equal(lines.length, 5)
  assert.match(lines.at(-1) ?? '', /^IN rejected: unpacks to more than 0.004 GiB$/)
})

test('truncated or damaged archives yield what they have, and report that it is incomplete', async (t) => {
  const content = () => JSON.stringify({ noise: randomBytes(20_000).toString('base64') })
  const members = [1, 2, 3, 4].map((at) => ({ name: `${at}.json`, content: content() }))
  const whole = await buildTarGz(members)
  for (const [bytes, reason] of [
    [whole.subarray(0, whole.length / 2), /^IN rejected: is truncated: not a complete gzip file$/],
    [
      Buffer.concat([whole.subarray(0, 50_000), randomBytes(100), whole.subarray(50_100)]),
      /^IN rejected: (is damaged|cannot be unpacked)/,
    ],
  ] as const) {
    const lines = await found(file(t, bytes))
    // What was changed by chance may be found only at the very end.
    assert.ok(lines.length > 1 && lines.length <= 5, String(lines.length))
    assert.match(lines.at(-1) ?? '', reason)
  }
  const tar = await buildTar(members)
  assert.match(
    (await found(file(t, tar.subarray(0, 60_000)))).at(-1) ?? '',
    /^IN rejected: cannot be unpacked: Unexpected end/,
  )
  const zip = buildZip(members)
  zip.fill(0xff, 1000, 1200)
  assert.deepEqual((await found(file(t, zip))).map((line) => line.slice(0, 19)).slice(1), [
    ...[2, 3, 4].map((at) => `IN:${at}.json = {"noise`),
  ])
})

test('an aborted search stops in the middle of an archive', async (t) => {
  const stop = new AbortController()
  const path = file(t, buildZip([1, 2, 3].map((at) => ({ name: `${at}.json`, content: '{}' }))))
  const names: string[] = []
  await assert.rejects(async () => {
    for await (const { name } of findDocuments(path, 'IN', { signal: stop.signal })) {
      names.push(name)
      stop.abort(new Error('enough'))
    }
  }, /^Error: enough$/)
  assert.deepEqual(names, ['IN:1.json'])
})
