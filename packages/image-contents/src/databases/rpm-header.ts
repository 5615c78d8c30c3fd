import type { FoundPackage } from '../found-package.ts'
import { unixTime } from '../package-times.ts'

/**
 * Reads a header of rpm as its databases store it (rpm.org, "Package format v4"): big-endian number of index entries and size of the data,
 * 16 bytes for each entry (tag, type, offset, count), and the data.
 */

const ENTRY_BYTES = 16
const ENTRIES_MAX = 0x10000

const tags = {
  name: 1000,
  version: 1001,
  release: 1002,
  epoch: 1003,
  buildTime: 1006,
  license: 1014,
  architecture: 1022,
  sourceRpm: 1044,
  modularityLabel: 5096,
} as const

const INT32 = 4
const stringTypes = new Set([6, 8, 9])

/** Returns undefined for `gpg-pubkey` headers, which are imported keys. Throws a RangeError if the header is damaged. */
export function readRpmHeader(blob: Buffer): FoundPackage | undefined {
  const count = blob.readUInt32BE(0)
  const dataBytes = blob.readUInt32BE(4)
  const dataAt = 8 + count * ENTRY_BYTES
  if (count > ENTRIES_MAX || dataAt + dataBytes > blob.length)
    throw new RangeError('a header is longer than its record')
  const data = blob.subarray(dataAt, dataAt + dataBytes)
  const values = new Map<number, string>()
  const wanted = new Set<number>(Object.values(tags))
  for (let at = 8; at < dataAt; at += ENTRY_BYTES) {
    const [tag, type, offset] = [blob.readUInt32BE(at), blob.readUInt32BE(at + 4), blob.readUInt32BE(at + 8)]
    if (!wanted.has(tag) || values.has(tag)) continue
    if (type === INT32) values.set(tag, String(data.readUInt32BE(offset)))
    else if (stringTypes.has(type)) values.set(tag, stringAt(data, offset))
  }
  const value = (tag: keyof typeof tags) => values.get(tags[tag]) ?? ''
  const name = value('name')
  if (name === '') throw new RangeError('a header has no name')
  if (name === 'gpg-pubkey') return undefined
  const epoch = values.get(tags.epoch)
  return rpmPackage({
    name,
    epoch,
    version: `${value('version')}-${value('release')}`,
    architecture: value('architecture'),
    license: value('license'),
    sourceRpm: value('sourceRpm'),
    modularityLabel: value('modularityLabel'),
    buildTime: value('buildTime'),
  })
}

interface RpmFields {
  readonly name: string
  readonly epoch: string | undefined
  /** Version and release. */
  readonly version: string
  readonly architecture: string
  readonly license: string
  readonly sourceRpm: string
  readonly modularityLabel: string
  /** Seconds since 1970. */
  readonly buildTime: string
}

export function rpmPackage(fields: RpmFields): FoundPackage {
  const { name, epoch, version, architecture, license, sourceRpm, modularityLabel, buildTime } = fields
  const [, sourceName, sourceVersion = ''] = /^(.+)-([^-]+-[^-]+)\.[^.]+\.rpm$/.exec(sourceRpm) ?? []
  return {
    type: 'rpm',
    name,
    version: epoch === undefined ? version : `${epoch}:${version}`,
    architecture,
    license,
    builtMs: unixTime(buildTime),
    origin: sourceName === undefined ? undefined : { name: sourceName, version: sourceVersion },
    qualifiers: {
      ...(epoch === undefined ? {} : { epoch }),
      ...(sourceName === undefined ? {} : { upstream: sourceRpm }),
      ...(modularityLabel === '' ? {} : { rpmmod: modularityLabel }),
    },
  }
}

function stringAt(data: Buffer, offset: number): string {
  const end = data.indexOf(0, offset)
  if (offset >= data.length || end < 0) throw new RangeError('a text of a header has no end')
  return data.toString('utf8', offset, end)
}
