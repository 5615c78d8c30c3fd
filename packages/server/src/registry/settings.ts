import { parseDurationSeconds } from '@berth/contract/durations.ts'
import { limits } from '../config/limits.ts'
import { booleanSetting, parseBoolean, type SettingGroup, setting } from '../config/setting.ts'
import { originExpected, parseOrigin } from '../config/setting-values.ts'
import type { BlobSettings } from './blobs/open.ts'

export interface RegistrySettings {
  /** The bucket for the bytes of images; undefined: files in the data directory. */
  readonly blobs: BlobSettings | undefined
  /** Time between two garbage collections in milliseconds; undefined: there are none. */
  readonly gcIntervalMs: number | undefined
  /** How long an unreferenced blob stays, in milliseconds. */
  readonly gcGraceMs: number
}

const bucket = setting('BERTH_BLOBS_S3_BUCKET', {
  help: '[bucket](#images-in-a-bucket) for the bytes of images',
  default: 'files in the data directory',
  expected: 'the name of a bucket',
  parse: parseBucket,
})
const endpoint = setting('BERTH_BLOBS_S3_ENDPOINT', {
  help: 'address of its S3 server',
  default: "Amazon's",
  expected: originExpected,
  parse: parseOrigin,
})
const region = setting('BERTH_BLOBS_S3_REGION', {
  help: 'region of the bucket',
  default: '`AWS_REGION`; with an endpoint `us-east-1`',
  expected: 'the name of a region, such as eu-central-1',
  parse: (value) => (/^[a-z0-9-]{1,64}$/i.test(value) ? value : undefined),
})
const prefix = setting('BERTH_BLOBS_S3_PREFIX', {
  help: 'prefix of all keys in the bucket, such as `berth/images`',
  expected: 'names with slashes between, such as berth/blobs',
  parse: parseKeyPrefix,
  fallback: '',
})
const pathStyle = booleanSetting('BERTH_BLOBS_S3_PATH_STYLE', {
  help: '`true`: the bucket is in the path of a URL; `false`: in its host',
  default: '`true` with an endpoint',
  fallback: undefined,
})
const redirect = setting('BERTH_BLOBS_REDIRECT', {
  help: '`true`: clients fetch blobs from the bucket itself; or its address for clients, where they have another one',
  default: '`false`',
  expected: `true, false, or ${originExpected}`,
  parse: parseRedirect,
  fallback: false,
})
const gcInterval = setting('BERTH_COLLECTION_INTERVAL', {
  help: 'time between two [garbage collections](registry.md#garbage-collection) of the registry, such as `12h`; `off`: only by `berth admin collect`',
  default: '`1d`',
  expected: 'a duration such as 12h or 7d, or off',
  parse: parseInterval,
  fallback: parseInterval('1d'),
})
const gcGrace = setting('BERTH_COLLECTION_GRACE', {
  help: 'how long an unreferenced blob stays, such as `48h`; at least `1h`',
  default: '`24h`',
  expected: 'a duration such as 24h, of at least 1h',
  parse: parseGrace,
  fallback: limits.gcGraceMsDefault,
})
const ofBucket = [endpoint, region, prefix, pathStyle, redirect]

export const registrySettings: SettingGroup<RegistrySettings> = {
  settings: [bucket, ...ofBucket, gcInterval, gcGrace],
  read({ read, isSet, report }) {
    const name = read(bucket)
    if (!isSet(bucket)) {
      for (const setting of ofBucket) if (isSet(setting)) report(`${setting.name} needs ${bucket.name}`)
    }
    const address = read(endpoint)
    const blobs = {
      endpoint: address,
      region: read(region),
      prefix: read(prefix),
      pathStyle: read(pathStyle) ?? address !== undefined,
      redirect: read(redirect),
    }
    return {
      blobs: name === undefined ? undefined : { bucket: name, ...blobs },
      gcIntervalMs: read(gcInterval)?.ms,
      gcGraceMs: read(gcGrace),
    }
  },
}

function parseBucket(value: string): string | undefined {
  return /^[A-Za-z0-9][\w.-]{1,253}[A-Za-z0-9]$/.test(value) ? value : undefined
}

/** With a slash at its end. */
function parseKeyPrefix(value: string): string | undefined {
  const [, names] = /^\/?([\w-][\w.-]*(?:\/[\w-][\w.-]*)*)\/?$/.exec(value) ?? []
  return names === undefined || names.length > 200 ? undefined : `${names}/`
}

/** A bucket and a prefix as `s3://bucket/prefix`. */
export function parseBucketUrl(value: string): Pick<BlobSettings, 'bucket' | 'prefix'> | undefined {
  const [, name = '', path = ''] = /^s3:\/\/([^/]+)(?:\/(.*))?$/.exec(value) ?? []
  const bucket = parseBucket(name)
  const prefix = path === '' ? '' : parseKeyPrefix(path)
  return bucket === undefined || prefix === undefined ? undefined : { bucket, prefix }
}

function parseRedirect(value: string): BlobSettings['redirect'] | undefined {
  const wanted = parseBoolean(value)
  if (wanted !== undefined) return wanted && { endpoint: undefined }
  const endpoint = parseOrigin(value)
  return endpoint === undefined ? undefined : { endpoint }
}

function parseInterval(value: string): { readonly ms: number | undefined } | undefined {
  if (value === 'off') return { ms: undefined }
  const ms = (parseDurationSeconds(value) ?? 0) * 1000
  return ms > 0 ? { ms } : undefined
}

function parseGrace(value: string): number | undefined {
  const ms = (parseDurationSeconds(value) ?? 0) * 1000
  return ms >= limits.gcGraceMsMin ? ms : undefined
}
