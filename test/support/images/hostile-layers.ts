import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import type { LayerLimits } from '@berth/image-contents/limits.ts'
import Database from 'better-sqlite3'
import { elfOf, inlineBuildInfo, pointerBuildInfo } from './executables.ts'
import { paxHeader, type RawHeader, rawEntry, TAR_END } from './raw-tar.ts'
import { zip } from './zip.ts'

/** Layers that no build tool writes. */

export interface HostileLayer {
  readonly name: string
  /** Part of a layer, after an entry with a valid package. */
  readonly entries?: () => readonly (Buffer | RawHeader)[]
  /** The whole layer, from the bytes of the valid one. */
  readonly layer?: (valid: Buffer) => Buffer
  readonly limits?: Partial<LayerLimits>
  /** Of one of the problems; undefined if there is none. */
  readonly problem: RegExp | undefined
  /** The valid package is lost: nothing before the damage can be told apart from it. */
  readonly losesValid?: boolean
}

/** The bytes of the layer of a case. */
export function hostileLayer({ entries, layer }: HostileLayer): Buffer {
  const parts = (entries?.() ?? []).map((part) => (Buffer.isBuffer(part) ? part : rawEntry(part)))
  const tar = Buffer.concat([valid, ...parts, TAR_END])
  return layer?.(tar) ?? tar
}

/** The package that each layer starts with. */
export const VALID_PACKAGE = 'pkg:npm/valid@1.0.0'

const MIB = 1024 * 1024
const valid = rawEntry({
  name: 'app/node_modules/valid/package.json',
  content: '{"name":"valid","version":"1.0.0"}',
})
const zeros = Buffer.alloc(64 * MIB)
const json = (value: unknown) => JSON.stringify(value)
const packageJson = (content: Buffer | string): RawHeader[] => [{ name: 'app/package.json', content }]
const file =
  (name: string, content: () => Buffer | string): (() => RawHeader[]) =>
  () => [{ name, content: content() }]

const RPM = 'var/lib/rpm/rpmdb.sqlite'
const rpmSqlite = (sql: string, ...blobs: Buffer[]) => {
  const database = new Database(':memory:')
  database.exec(sql)
  for (const blob of blobs) database.prepare('INSERT INTO Packages (blob) VALUES (?)').run(blob)
  return database.serialize()
}
/** Each page refers to the next one 100 times, and the last has one row: 100 to the power of 15 rows. */
const pageBomb = () => {
  const PAGE = 4096
  const bytes = rpmSqlite(PACKAGES, ...Array.from({ length: 40 }, () => Buffer.alloc(3000)))
  for (let number = 2; number < 18; number++) {
    const page = bytes.subarray((number - 1) * PAGE, number * PAGE).fill(0)
    const isLast = number === 17
    page[0] = isLast ? 13 : 5
    page.writeUInt16BE(PAGE, 5)
    if (isLast) {
      // One row without a value.
      page.writeUInt16BE(1, 3)
      page.writeUInt16BE(PAGE - 8, 5)
      page.writeUInt16BE(PAGE - 8, 8)
      page.set([3, 1, 3, 0, 0], PAGE - 8)
      continue
    }
    page.writeUInt16BE(100, 3)
    page.writeUInt16BE(PAGE - 500, 5)
    page.writeUInt32BE(number + 1, 8)
    for (let cell = 0; cell < 100; cell++) {
      const at = PAGE - 500 + 5 * cell
      page.writeUInt16BE(at, 12 + 2 * cell)
      page.writeUInt32BE(number + 1, at)
      page[at + 4] = cell
    }
  }
  return bytes
}
const PACKAGES = 'CREATE TABLE Packages (hnum INTEGER PRIMARY KEY, blob BLOB NOT NULL)'
const words = (...values: number[]) => {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, 4 * at)
  return bytes
}
const berkeleyDb = (change: (bytes: Buffer) => void) => () => {
  const bytes = Buffer.alloc(3 * 4096)
  bytes.writeUInt32LE(0x061561, 12)
  bytes.writeUInt32LE(4096, 20)
  bytes[25] = 8
  // A page with one key and one value, which is on page 2.
  bytes[4096 + 25] = 13
  bytes.writeUInt16LE(2, 4096 + 20)
  bytes.writeUInt16LE(4000, 4096 + 26)
  bytes.writeUInt16LE(3900, 4096 + 28)
  bytes[4096 + 3900] = 3
  bytes.writeUInt32LE(2, 4096 + 3904)
  bytes.writeUInt32LE(100, 4096 + 3908)
  bytes[2 * 4096 + 25] = 7
  bytes.writeUInt32LE(2, 2 * 4096 + 16)
  change(bytes)
  return bytes
}
const ndb = (...slot: number[]) => {
  const bytes = Buffer.alloc(4096)
  bytes.write('RpmP')
  bytes.writeUInt32LE(1, 12)
  for (let at = 32; at < 4096; at += 16) bytes.write('Slot', at)
  for (const [at, value] of slot.entries()) bytes.writeUInt32LE(value, 36 + 4 * at)
  return bytes
}

const nested = async (depth: number): Promise<Buffer> =>
  depth === 0 ? zip({ 'META-INF/MANIFEST.MF': '' }) : zip({ 'inner-1.0.jar': await nested(depth - 1) })
const jars = {
  deep: await nested(8),
  bomb: await zip({ 'META-INF/MANIFEST.MF': zeros }),
  many: await zip(Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`a${at}.jar`, '']))),
  damagedInner: await zip({ 'inner-1.0.jar': 'no archive' }),
  valid: await zip({ 'META-INF/MANIFEST.MF': 'Implementation-Version: 1\n' }),
  overlapping: overlappingZip(await zip({ 'META-INF/maven/g/a/pom.properties': zeros.subarray(0, 2 * MIB) })),
  longLine: await zip({
    'META-INF/maven/g/a/pom.properties': `groupId=g\nartifactId=${'a'.repeat(3 * MIB)}\nversion=1\n`,
  }),
}

/** Lists the only file of an archive 600 times, under names of the same length. */
function overlappingZip(one: Buffer): Buffer {
  const end = one.length - 22
  const start = one.readUInt32LE(end + 16)
  const entry = one.subarray(start, end)
  const name = entry.indexOf('/g/a/')
  const entries = Array.from({ length: 600 }, (_, at) => {
    const copy = Buffer.from(entry)
    copy.write(String.fromCharCode(97 + (at % 26)), name + 1)
    return copy
  })
  const tail = Buffer.from(one.subarray(end))
  tail.writeUInt16LE(entries.length, 8)
  tail.writeUInt16LE(entries.length, 10)
  tail.writeUInt32LE(entries.length * entry.length, 12)
  return Buffer.concat([one.subarray(0, start), ...entries, tail])
}

const links = (count: number, target: (at: number) => string): RawHeader[] =>
  Array.from({ length: count }, (_, at) => ({ name: `l${at}`, type: '2', target: target(at) }))

export const hostileLayers: readonly HostileLayer[] = [
  // Compression.
  {
    name: 'random bytes',
    layer: () => Buffer.from('no archive '.repeat(1000)),
    problem: /invalid tar header/,
    losesValid: true,
  },
  { name: 'a truncated header', layer: (tar) => tar.subarray(0, 1200), problem: /is truncated/ },
  {
    name: 'a truncated gzip file',
    layer: (tar) => gzipSync(Buffer.concat([tar, zeros])).subarray(0, 20_000),
    problem: /is truncated/,
  },
  {
    name: 'a gzip file of 10 bytes',
    layer: (tar) => gzipSync(tar).subarray(0, 10),
    problem: /is truncated/,
    losesValid: true,
  },
  {
    name: 'damage within a gzip file',
    layer: (tar) => {
      const bytes = gzipSync(Buffer.concat([tar, zeros]))
      return bytes.fill('damage', 30_000, 30_100)
    },
    problem: /is damaged/,
  },
  {
    name: 'a wrong checksum of a gzip file',
    layer: (tar) => {
      const bytes = gzipSync(tar)
      return bytes.fill(0, bytes.length - 8, bytes.length - 4)
    },
    problem: /is damaged: it cannot be unpacked/,
    losesValid: true,
  },
  {
    name: 'a gzip bomb',
    layer: (tar) => gzipSync(Buffer.concat([tar, zeros])),
    limits: { unpackedBytesMax: 8 * MIB },
    problem: /unpack to more than 8388608 bytes/,
  },
  {
    name: 'a zstd bomb',
    layer: (tar) => zstdCompressSync(Buffer.concat([tar, zeros])),
    limits: { unpackedBytesMax: 8 * MIB },
    problem: /unpack to more than 8388608 bytes/,
  },
  {
    name: 'a truncated zstd file',
    layer: (tar) => zstdCompressSync(Buffer.concat([tar, zeros])).subarray(0, 700),
    problem: /truncated|damaged/,
  },
  {
    name: 'a zstd frame with a window of 2 GiB',
    layer: () => Buffer.from('28b52ffd04a8ffffffffffffffffffff', 'hex'),
    problem: /damaged|truncated/,
    losesValid: true,
  },
  {
    name: 'gzip within gzip',
    layer: (tar) => gzipSync(gzipSync(tar)),
    problem: /invalid tar header|is truncated/,
    losesValid: true,
  },

  // Headers.
  {
    name: 'a wrong checksum of a header',
    entries: () => [rawEntry({ name: 'a' }).fill('x', 0, 1)],
    problem: /invalid tar header/,
  },
  {
    name: 'a negative size',
    entries: () => [{ name: 'a', size: -512 }],
    problem: /Invalid header/,
  },
  { name: 'a file of 8 EiB', entries: () => [{ name: 'a', size: 2n ** 63n - 1n }], problem: /is truncated/ },
  {
    name: 'a package.json of 8 EiB',
    entries: () => [{ name: 'app/package.json', size: 2n ** 63n - 1n }],
    problem: /has more than 4194304 bytes|is truncated/,
  },
  {
    name: 'a size of 8 EiB in an extended header',
    entries: () => [paxHeader({ size: '9223372036854775807' }), { name: 'app/package.json' }],
    problem: /has more than 4194304 bytes|is truncated/,
  },
  {
    name: 'a negative size in an extended header',
    entries: () => [paxHeader({ size: '-512' }), { name: 'app/package.json' }],
    problem: /Invalid header/,
  },
  {
    name: 'a size that is no number',
    entries: () => [paxHeader({ size: 'many' }), { name: 'app/package.json' }],
    problem: /Invalid header/,
  },
  {
    name: 'a sparse file of 8 EiB',
    entries: () => [
      paxHeader({ 'GNU.sparse.major': '1', 'GNU.sparse.realsize': '9223372036854775807' }),
      ...packageJson('{}'),
    ],
    problem: /is stored as a sparse file/,
  },
  {
    name: 'a sparse file of GNU tar',
    entries: () => [{ name: 'app/package.json', type: 'S', size: 0 }],
    problem: undefined,
  },
  {
    name: 'an extended header of 5 MiB',
    entries: () => [rawEntry({ name: 'x', type: 'x', content: Buffer.alloc(5 * MIB, 'x') })],
    problem: /Header exceeds max size/,
  },
  {
    name: 'an extended header with wrong lengths',
    entries: () => [rawEntry({ name: 'x', type: 'x', content: '99999 path=a\n1 1 1 1' }), { name: 'b' }],
    problem: undefined,
  },
  {
    name: 'a name of 1 MiB',
    entries: () => [paxHeader({ path: `${'a/'.repeat(MIB / 2)}package.json` }), { name: 'x' }],
    problem: /its name has more than 4096 bytes/,
  },
  {
    name: 'a name of 3 MiB in a header of GNU tar',
    entries: () => [rawEntry({ name: 'x', type: 'L', content: Buffer.alloc(3 * MIB, 'a') }), { name: 'x' }],
    problem: /its name has more than 4096 bytes/,
  },
  {
    name: 'more files than the limit',
    entries: () => Array.from({ length: 2000 }, (_, at) => ({ name: `f${at}` })),
    limits: { layerEntriesMax: 1000 },
    problem: /have more than 1000 files/,
  },

  // Names.
  {
    name: 'a name out of the root',
    entries: () => [{ name: '../../app/package.json', content: '{"name":"x","version":"1"}' }],
    problem: /leads out of its folder/,
  },
  {
    name: 'a name that leaves a folder',
    entries: () => [{ name: 'app/../../package.json', content: '{"name":"x","version":"1"}' }],
    problem: /leads out of its folder/,
  },
  {
    name: 'a name with NUL',
    entries: () => [paxHeader({ path: 'app/pack\0age.json' }), { name: 'x', content: '{}' }],
    problem: /has a NUL character/,
  },
  {
    name: '300 folders',
    entries: () => [paxHeader({ path: `${'a/'.repeat(300)}package.json` }), { name: 'x' }],
    problem: /has more than 256 folders/,
  },
  {
    name: 'a name of dots and slashes',
    entries: () => [{ name: './/././' }, { name: '.' }, { name: '/' }],
    problem: undefined,
  },
  { name: 'a deletion without a name', entries: () => [{ name: 'app/.wh.' }], problem: /it deletes no file/ },
  {
    name: 'a deletion of the folder itself',
    entries: () => [{ name: 'app/.wh..' }],
    problem: /it deletes no file/,
  },
  {
    name: 'a deletion of the folder above',
    entries: () => [{ name: 'app/.wh...' }],
    problem: /it deletes no file/,
  },
  {
    name: 'control characters in a name',
    entries: () => [{ name: 'app/\x1b[2Jx/package.json', content: '[' }],
    problem: /is not JSON/,
  },

  // Links.
  {
    name: 'links in a cycle',
    entries: () => [
      { name: 'a', type: '2', target: 'b' },
      { name: 'b', type: '2', target: 'a' },
      { name: 'a/x/package.json', content: '{}' },
    ],
    problem: /links of its folder form a cycle/,
  },
  {
    name: 'a link to itself',
    entries: () => [
      { name: 'a', type: '2', target: 'a' },
      { name: 'a/package.json', content: '{}' },
    ],
    problem: /links of its folder form a cycle/,
  },
  {
    name: 'a chain of 60 links',
    entries: () => [...links(60, (at) => `l${at + 1}`), { name: 'l0/package.json', content: '{}' }],
    problem: /links of its folder form a cycle/,
  },
  {
    name: 'links that grow',
    entries: () => [
      ...links(60, (at) => `l${at + 1}/l${at + 1}`),
      { name: 'l0/package.json', content: '{}' },
    ],
    problem: /links of its folder form a cycle/,
  },
  {
    name: 'a link out of the root',
    entries: () => [
      { name: 'out', type: '2', target: '../../../../../..' },
      { name: 'out/etc/passwd', content: 'x' },
    ],
    problem: undefined,
  },
  {
    name: 'an os-release that links out of the root',
    entries: () => [{ name: 'etc/os-release', type: '2', target: '../../../../proc/self/environ' }],
    problem: undefined,
  },
  {
    name: 'an os-release that links to itself',
    entries: () => [{ name: 'etc/os-release', type: '2', target: 'os-release' }],
    problem: /its links form a cycle/,
  },
  {
    name: 'a link to a name with NUL',
    entries: () => [paxHeader({ linkpath: 'a\0b' }), { name: 'a', type: '2', target: 'x' }],
    problem: /link to an invalid name/,
  },
  {
    name: 'a link to a name of 10 KiB',
    entries: () => [paxHeader({ linkpath: 'a'.repeat(10_240) }), { name: 'a', type: '2', target: 'x' }],
    problem: /link to an invalid name/,
  },
  {
    name: 'a hard link out of the root',
    entries: () => [{ name: 'app/package.json', type: '1', target: '../../etc/shadow' }],
    problem: /hard link to an invalid name/,
  },
  {
    name: 'a hard link to nothing',
    entries: () => [{ name: 'app/package.json', type: '1', target: 'missing' }],
    problem: /hard link to missing, which its layer does not contain/,
  },
  {
    name: 'a hard link to itself',
    entries: () => [{ name: 'app/package.json', type: '1', target: 'app/package.json' }],
    problem: undefined,
  },
  {
    name: 'hard links in a cycle',
    entries: () => [
      { name: 'a/package.json', type: '1', target: 'b/package.json' },
      { name: 'b/package.json', type: '1', target: 'a/package.json' },
    ],
    problem: /which its layer does not contain/,
  },
  {
    name: 'more links than the limit',
    entries: () => links(200, () => 'x'),
    limits: { rememberedPathsMax: 100 },
    problem: /more than 100 links/,
  },
  {
    name: 'more memory for links than the limit',
    entries: () => links(200, () => 'x'.repeat(90)),
    limits: { rememberedPathBytesMax: 10_000 },
    problem: /links and package files/,
  },
  {
    name: 'devices and pipes',
    entries: () => [
      { name: 'app/package.json', type: '3' },
      { name: 'b/package.json', type: '4' },
      { name: 'c/package.json', type: '6' },
    ],
    problem: undefined,
  },
  {
    name: 'an unknown type of entry',
    entries: () => [{ name: 'app/package.json', type: 'Z', content: '{}' }],
    problem: undefined,
  },

  // Metadata of languages.
  {
    name: 'JSON that is nested deeply',
    entries: () => packageJson('['.repeat(MIB)),
    problem: /nested more than 64 deep/,
  },
  {
    name: 'JSON with more values than the limit',
    entries: () => packageJson(`[${'1,'.repeat(1_100_000)}1]`),
    problem: /has more than 1000000 values/,
  },
  { name: 'no JSON', entries: () => packageJson('{"name"'), problem: /is not JSON/ },
  {
    name: 'a package.json of 5 MiB',
    entries: () => packageJson(Buffer.alloc(5 * MIB, ' ')),
    problem: /has more than 4194304 bytes/,
  },
  {
    name: 'a package name of 1 MiB',
    entries: () => packageJson(json({ name: 'a'.repeat(MIB), version: '1' })),
    problem: /name of a package has more than 1024 characters/,
  },
  {
    name: 'a version of 1 MiB',
    entries: () => packageJson(json({ name: 'a', version: '1'.repeat(MIB) })),
    problem: /version of a package has more than 1024 characters/,
  },
  {
    name: 'a package name with NUL',
    entries: () => packageJson(json({ name: 'a\0b', version: '1' })),
    problem: /invalid characters/,
  },
  {
    name: 'a package name that reverses text',
    entries: () => packageJson(json({ name: 'a\u202eb', version: '1' })),
    problem: /invalid characters/,
  },
  {
    name: 'names that are no texts',
    entries: () => packageJson(json({ name: { a: 1 }, version: [1] })),
    problem: undefined,
  },
  {
    name: 'a name of the prototype',
    entries: () => packageJson('{"__proto__":{"name":"x"},"version":"1"}'),
    problem: undefined,
  },
  {
    name: 'bytes that are not UTF-8',
    entries: () => packageJson(Buffer.from('7b22ff', 'hex')),
    problem: /is not JSON/,
  },
  { name: 'a list instead of an object', entries: () => packageJson('[1]'), problem: /is no JSON object/ },
  {
    name: 'Python metadata with a version only',
    entries: file('x-1.dist-info/METADATA', () => 'Version: 1\n'),
    problem: /has no name or no version/,
  },
  {
    name: 'Python metadata with a million continuation lines',
    entries: file('x-1.dist-info/METADATA', () => `Name: x\nVersion: 1\n${' y\n'.repeat(MIB)}`),
    problem: /version of a package has more than 1024/,
  },
  {
    name: 'a gemspec of one long line',
    entries: file('specifications/a.gemspec', () => `s.name = ${'"'.repeat(MIB)}`),
    problem: /no name or version/,
  },
  {
    name: 'a gemspec of spaces',
    entries: file('specifications/a.gemspec', () => ' '.repeat(MIB)),
    problem: /no name or version/,
  },
  {
    name: 'installed.json without objects',
    entries: file('vendor/composer/installed.json', () => '[1,null,"x",[[]]]'),
    problem: undefined,
  },
  {
    name: 'deps.json without libraries',
    entries: file('app.deps.json', () => '{"libraries":[]}'),
    problem: /has no libraries/,
  },

  // Databases.
  {
    name: 'an apk database of one line',
    entries: file('lib/apk/db/installed', () => 'P'.repeat(8 * MIB)),
    problem: undefined,
  },
  {
    name: 'an apk package with a name of 8 MiB',
    entries: file('lib/apk/db/installed', () => `P:${'a'.repeat(8 * MIB)}\nV:1\n`),
    problem: /name of a package has more than 1024/,
  },
  {
    name: 'apk packages without names',
    entries: file('lib/apk/db/installed', () => 'V:1\n\nV:2\n'),
    problem: /2 packages have no name/,
  },
  {
    name: 'a dpkg package with a name of 8 MiB',
    entries: file('var/lib/dpkg/status', () => `Package: ${'a'.repeat(8 * MIB)}\nVersion: 1\n`),
    problem: /name of a package has more than 1024/,
  },
  {
    name: 'a dpkg source of brackets',
    entries: file('var/lib/dpkg/status', () => `Package: a\nVersion: 1\nSource: ${'a ('.repeat(MIB)}\n`),
    problem: undefined,
  },
  {
    name: 'a copyright file of slashes',
    entries: file('usr/share/doc/a/copyright', () => '/usr/share/common-licenses/'.repeat(100_000)),
    problem: undefined,
  },
  {
    name: 'an apk database of a million packages',
    entries: file('lib/apk/db/installed', () => 'P:a\n\n'.repeat(1_000_000)),
    problem: /(lists|has) more than 200000 packages/,
  },
  {
    name: 'a dpkg database of a million packages',
    entries: file('var/lib/dpkg/status', () => 'Package: a\nVersion: 1\n\n'.repeat(1_000_000)),
    problem: /(lists|has) more than 200000 packages/,
  },
  {
    name: 'more packages than the limit',
    entries: file('lib/apk/db/installed', () => 'P:a\nV:1\n\n'.repeat(200)),
    limits: { packagesMax: 100 },
    problem: /has more than 100 packages/,
  },
  {
    name: 'a truncated SQLite database',
    entries: file(RPM, () => rpmSqlite(PACKAGES).subarray(0, 50)),
    problem: /database is damaged/,
  },
  {
    name: 'a view that never ends',
    entries: file(RPM, () =>
      rpmSqlite(
        'CREATE VIEW Packages AS WITH RECURSIVE n(blob) AS (SELECT 1 UNION ALL SELECT blob FROM n) SELECT blob FROM n',
      ),
    ),
    problem: /no table of packages/,
  },
  {
    name: 'a computed column',
    entries: file(RPM, () => rpmSqlite('CREATE TABLE Packages (a, blob AS (zeroblob(1000000000)))')),
    problem: /no table of packages/,
  },
  {
    name: 'damaged pages of SQLite',
    entries: file(RPM, () =>
      rpmSqlite(PACKAGES, ...Array.from({ length: 100 }, () => Buffer.alloc(1000))).fill(0xff, 8192),
    ),
    problem: /damaged/,
  },
  {
    name: 'pages of SQLite that refer to the same page 100 times',
    entries: file(RPM, pageBomb),
    problem: /database is damaged: .*2nd reference to page/,
  },
  {
    name: 'an rpm header of random bytes',
    entries: file(RPM, () => rpmSqlite(PACKAGES, Buffer.alloc(1000, 'x'))),
    problem: /1 headers are damaged/,
  },
  {
    name: 'an rpm header with 4 billion entries',
    entries: file(RPM, () => rpmSqlite(PACKAGES, words(0xffffffff, 0xffffffff))),
    problem: /1 headers are damaged/,
  },
  {
    name: 'an rpm header with a name beyond its data',
    entries: file(RPM, () => rpmSqlite(PACKAGES, words(1, 4, 1000, 6, 0x7fffffff, 1, 0))),
    problem: /1 headers are damaged/,
  },
  {
    name: 'an rpm header with a name that has no end',
    entries: file(RPM, () => rpmSqlite(PACKAGES, words(1, 4, 1000, 6, 0, 1, 0x61616161))),
    problem: /1 headers are damaged/,
  },
  {
    name: 'an unknown rpm database',
    entries: file('var/lib/rpm/Packages', () => 'x'.repeat(10_000)),
    problem: /is no rpm database/,
  },
  {
    name: 'an ndb record beyond the file',
    entries: file('usr/lib/sysimage/rpm/Packages.db', () => ndb(1, 0x7fffffff, 1)),
    problem: /database is damaged/,
  },
  {
    name: 'an ndb record without its mark',
    entries: file('usr/lib/sysimage/rpm/Packages.db', () => ndb(1, 2, 1)),
    problem: /record of the database is damaged/,
  },
  {
    name: 'an ndb database with 4 billion slots',
    entries: file('usr/lib/sysimage/rpm/Packages.db', () => {
      const bytes = ndb()
      bytes.writeUInt32LE(0xffffffff, 12)
      return bytes
    }),
    problem: undefined,
  },
  {
    name: 'Berkeley DB pages in a cycle',
    entries: file(
      'var/lib/rpm/Packages',
      berkeleyDb((bytes) => bytes.writeUInt32LE(0x7fffffff, 4096 + 3908)),
    ),
    problem: /record of the database is damaged/,
  },
  {
    name: 'a Berkeley DB page beyond the file',
    entries: file(
      'var/lib/rpm/Packages',
      berkeleyDb((bytes) => bytes.writeUInt32LE(999, 4096 + 3904)),
    ),
    problem: /page beyond its end/,
  },
  {
    name: 'a Berkeley DB page size of 0',
    entries: file(
      'var/lib/rpm/Packages',
      berkeleyDb((bytes) => bytes.writeUInt32LE(0, 20)),
    ),
    problem: /invalid page size/,
  },
  {
    name: 'Berkeley DB with offsets beyond its page',
    entries: file(
      'var/lib/rpm/Packages',
      berkeleyDb((bytes) => bytes.writeUInt16LE(0xffff, 4096 + 20)),
    ),
    problem: /database is damaged/,
  },

  // Executables.
  {
    name: 'an ELF file of 5 bytes',
    entries: file('bin/a', () => Buffer.from('\x7fELF\x02', 'latin1')),
    problem: /damaged executable/,
  },
  {
    name: 'an ELF file with sections beyond its end',
    entries: file('bin/a', () => {
      const elf = elfOf([])
      elf.writeBigUInt64LE(2n ** 62n, 40)
      return elf
    }),
    problem: /damaged executable/,
  },
  {
    name: 'an ELF file with 65535 sections',
    entries: file('bin/a', () => {
      const elf = elfOf([])
      elf.writeUInt16LE(0xffff, 60)
      return elf
    }),
    problem: /damaged executable/,
  },
  {
    name: 'Go build information that is longer than the file',
    entries: file('bin/a', () =>
      elfOf([
        {
          name: '.go.buildinfo',
          content: Buffer.concat([inlineBuildInfo('', []).subarray(0, 32), Buffer.alloc(8, 0xff)]),
        },
      ]),
    ),
    problem: undefined,
  },
  {
    name: 'Go build information with lying pointers',
    entries: file(
      'bin/a',
      () =>
        pointerBuildInfo('go1.17', []).map((byte, at, all) =>
          at > 64 && all[at - 1] === 0x10 ? 0xff : byte,
        ) as Buffer,
    ),
    problem: undefined,
  },
  {
    name: 'a Go module with a name of 1 MiB',
    entries: file('bin/a', () =>
      elfOf([
        { name: '.go.buildinfo', content: inlineBuildInfo('go1.22', [`dep\t${'a'.repeat(MIB)}\tv1.0.0`]) },
      ]),
    ),
    problem: /name of a package has more than 1024/,
  },
  {
    name: 'a list of crates that is a bomb',
    entries: file('bin/a', () => elfOf([{ name: '.dep-v0', content: deflateSync(zeros) }])),
    problem: /list of crates cannot be unpacked/,
  },
  {
    name: 'a list of crates that is not compressed',
    entries: file('bin/a', () => elfOf([{ name: '.dep-v0', content: Buffer.from('{}') }])),
    problem: /list of crates cannot be unpacked/,
  },
  {
    name: 'a Windows program without its header',
    entries: file('a.exe', () => Buffer.concat([Buffer.from('MZ'), Buffer.alloc(100, 0xff)])),
    problem: /damaged executable/,
  },
  {
    name: 'a macOS program with a load command of no size',
    entries: file('a', () =>
      Buffer.concat([
        Buffer.from('cffaedfe', 'hex'),
        Buffer.alloc(12),
        Buffer.from([1, 0, 0, 0]),
        Buffer.alloc(100),
      ]),
    ),
    problem: /damaged executable/,
  },
  {
    name: 'a macOS program with 4 billion load commands',
    entries: file('a', () =>
      Buffer.concat([Buffer.from('cffaedfe', 'hex'), Buffer.alloc(12), Buffer.alloc(100, 0xff)]),
    ),
    problem: /damaged executable/,
  },

  // Java archives.
  {
    name: 'a jar that is no archive',
    entries: file('a.jar', () => 'no archive'.repeat(100)),
    problem: /is damaged/,
  },
  {
    name: 'a truncated jar',
    entries: file('a.jar', () => jars.valid.subarray(0, -10)),
    problem: /is damaged/,
  },
  { name: 'jars within jars', entries: file('a.jar', () => jars.deep), problem: /nested more than 4 deep/ },
  {
    name: 'a jar that is a bomb',
    entries: file('a.jar', () => jars.bomb),
    problem: /times its size|has a file with more than/,
  },
  {
    name: 'damaged jars within a jar',
    entries: file('a.jar', () => jars.many),
    problem: /an archive in it is damaged/,
  },
  {
    name: 'a damaged jar within a jar',
    entries: file('a.jar', () => jars.damagedInner),
    problem: /an archive in it is damaged/,
  },

  // SBOMs and limits of the image.
  {
    name: 'more SBOMs than the limit',
    entries: () =>
      Array.from({ length: 20 }, (_, at) => ({ name: `var/lib/db/sbom/${at}.spdx.json`, content: '{}' })),
    limits: { embeddedSbomsMax: 10 },
    problem: /too many SBOMs/,
  },
  {
    name: 'no time',
    entries: () => [],
    limits: { readLayersMsMax: 0 },
    problem: /takes longer than 0 s/,
    losesValid: true,
  },
  {
    name: 'more layers than the limit',
    entries: () => [],
    limits: { layersMax: 0 },
    problem: /has more than 0 layers/,
    losesValid: true,
  },
  {
    name: 'a problem for each of 3000 files',
    entries: () => Array.from({ length: 3000 }, (_, at) => ({ name: `${at}/package.json`, content: '[' })),
    problem: /\d{3} further problems are not listed/,
  },
  // More of what attackers try.
  {
    name: 'a hundred thousand empty gzip members before the layer',
    layer: (tar) => Buffer.concat([Buffer.concat(Array(100_000).fill(gzipSync(''))), gzipSync(tar)]),
    problem: undefined,
  },
  {
    name: 'bytes after the end of a gzip file',
    layer: (tar) => Buffer.concat([gzipSync(tar), Buffer.alloc(MIB, 'x')]),
    problem: /is damaged/,
    losesValid: true,
  },
  {
    name: 'skippable frames of zstd before the layer',
    layer: (tar) =>
      Buffer.concat([
        ...Array(1000).fill(Buffer.from('502a4d1804000000ffffffff', 'hex')),
        zstdCompressSync(tar),
      ]),
    problem: undefined,
  },
  {
    name: 'zstd within gzip',
    layer: (tar) => gzipSync(zstdCompressSync(tar)),
    problem: /invalid tar header|is truncated/,
    losesValid: true,
  },
  {
    name: 'xz, which no specification allows',
    layer: () => Buffer.concat([Buffer.from('fd377a585a00', 'hex'), Buffer.alloc(2000, 1)]),
    problem: /invalid tar header/,
    losesValid: true,
  },
  {
    name: 'a zip file as a layer',
    layer: () => jars.valid,
    problem: /invalid tar header|is truncated/,
    losesValid: true,
  },
  {
    name: 'the same file a thousand times',
    entries: () =>
      Array.from({ length: 1000 }, (_, at) => packageJson(json({ name: 'a', version: String(at) }))).flat(),
    problem: undefined,
  },
  {
    name: 'a hundred thousand folders',
    entries: () => Array.from({ length: 100_000 }, (_, at) => ({ name: `d${at}/`, type: '5' })),
    problem: undefined,
  },
  {
    name: 'a sparse file of version 0.0',
    entries: () => [
      paxHeader({ 'GNU.sparse.size': '9223372036854775807', 'GNU.sparse.numblocks': '1' }),
      ...packageJson('{}'),
    ],
    problem: /is stored as a sparse file/,
  },
  {
    name: 'a sparse file of version 0.1 with a map of 4 billion blocks',
    entries: () => [
      paxHeader({ 'GNU.sparse.map': '0,1,4294967295,1', 'GNU.sparse.size': '4294967296' }),
      ...packageJson('{}'),
    ],
    problem: /is stored as a sparse file/,
  },
  {
    name: 'a global header with a name for all files',
    entries: () => [
      paxHeader({ path: '../../etc/passwd' }, 'g'),
      ...packageJson('{"name":"x","version":"1"}'),
    ],
    problem: undefined,
  },
  {
    name: 'an absolute link out of the root, and a file through it',
    entries: () => [
      { name: 'app/lib', type: '2', target: '/../../../proc/self' },
      { name: 'app/lib/package.json', content: '{"name":"x","version":"1"}' },
    ],
    problem: undefined,
  },
  {
    name: 'a hard link to a file of the host',
    entries: () => [{ name: 'app/package.json', type: '1', target: '/etc/hostname' }],
    problem: /hard link to etc\/hostname, which its layer does not contain/,
  },
  {
    name: 'a deletion of everything, in the layer of its files',
    entries: () => [{ name: '.wh..wh..opq' }, { name: 'app/.wh..wh..opq' }],
    problem: undefined,
  },
  {
    name: 'a deletion of a name with NUL',
    entries: () => [paxHeader({ path: 'app/.wh.a\0b' }), { name: 'x' }],
    problem: /has a NUL character/,
  },
  {
    name: 'a number with a million digits as a version',
    entries: () => packageJson(`{"name":"a","version":${'9'.repeat(MIB)}}`),
    problem: undefined,
  },
  {
    name: 'numbers beyond any range',
    entries: () => packageJson('{"name":"a","version":1e999999999,"size":-1e-999999999,"n":0.1e-5000}'),
    problem: undefined,
  },
  {
    name: 'two names of one package',
    entries: () => packageJson('{"name":"a","name":"b","version":"1","version":"2"}'),
    problem: undefined,
  },
  {
    name: 'an apk package with NUL in its name',
    entries: file('lib/apk/db/installed', () => 'P:a\0b\nV:1\n'),
    problem: /invalid characters/,
  },
  {
    name: 'an apk package with a version that reverses text',
    entries: file('lib/apk/db/installed', () => 'P:a\nV:1\u202e2\n'),
    problem: /invalid characters/,
  },
  {
    name: 'a dpkg package with NUL in its version',
    entries: file('var/lib/dpkg/status', () => 'Package: a\nVersion: 1\0\n'),
    problem: /invalid characters/,
  },
  {
    name: 'Python metadata with NUL in its name',
    entries: file('x-1.dist-info/METADATA', () => 'Name: a\0b\nVersion: 1\n'),
    problem: /invalid characters/,
  },
  {
    name: 'a gemspec with an escape sequence in its name',
    entries: file('specifications/a-1.gemspec', () => 's.name = "a\x1b[2J"\ns.version = "1"\n'),
    problem: /invalid characters/,
  },
  {
    name: 'a Composer package with NUL in its name',
    entries: file('vendor/composer/installed.json', () =>
      json({ packages: [{ name: 'a/b\0', version: '1' }] }),
    ),
    problem: /invalid characters/,
  },
  {
    name: 'an os-release of 4 MiB in one line',
    entries: file('etc/os-release', () => `ID=${'a'.repeat(4 * MIB)}`),
    problem: /has more than 4194304 bytes/,
  },
  {
    name: 'an os-release with control characters',
    entries: file('etc/os-release', () => 'ID=al\x1b[2Jpine\nVERSION_ID=\0\n'),
    problem: undefined,
  },
  {
    name: 'a Java archive whose entries are one another',
    entries: file('a.jar', () => jars.overlapping),
    problem: /times its size|an archive in it is damaged|is damaged|more than/,
  },
  {
    name: 'pom.properties of one line of megabytes',
    entries: file('a.jar', () => jars.longLine),
    problem: /name of a package has more than 1024/,
  },
  {
    name: 'a SBOM of nested lists among the files',
    entries: file('var/lib/db/sbom/a.spdx.json', () => '['.repeat(MIB)),
    problem: undefined,
  },
]
