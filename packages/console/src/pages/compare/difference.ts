import type { ImageConfiguration, Manifest, ManifestLayer } from '@berth/client'

/** Compares two manifests. Pure. */

export type Change = 'added' | 'removed' | 'changed' | 'same'

/** A named value of both images. */
export interface ComparedValue {
  readonly name: string
  /** undefined: the image does not have it. */
  readonly before: string | undefined
  readonly after: string | undefined
  readonly change: Change
}

export type Values = readonly (readonly [name: string, value: string])[]

/** Compares values by name, in the order of the first list, then of the second. A name that comes twice has its last value. */
export function compareValues(before: Values, after: Values): ComparedValue[] {
  const [old, now] = [new Map(before), new Map(after)]
  return [...new Set([...old.keys(), ...now.keys()])].map((name) => {
    const [one, other] = [old.get(name), now.get(name)]
    const change =
      one === undefined ? 'added' : other === undefined ? 'removed' : one === other ? 'same' : 'changed'
    return { name, before: one, after: other, change }
  })
}

export interface ComparedLayer {
  readonly layer: ManifestLayer
  readonly change: Change
}

export interface LayerDifference {
  readonly layers: readonly ComparedLayer[]
  readonly sharedBytes: number
  readonly addedBytes: number
  readonly removedBytes: number
}

/** Compares layers by digest: those of the first image, then those that the second one adds. */
export function compareLayers(
  before: readonly ManifestLayer[],
  after: readonly ManifestLayer[],
): LayerDifference {
  const [old, now] = [before, after].map((layers) => new Set(layers.map(({ digest }) => digest)))
  const layers: ComparedLayer[] = [
    ...before.map((layer) => ({
      layer,
      change: now?.has(layer.digest) ? ('same' as const) : ('removed' as const),
    })),
    ...after.filter(({ digest }) => !old?.has(digest)).map((layer) => ({ layer, change: 'added' as const })),
  ]
  const bytes = (wanted: Change) =>
    layers.filter(({ change }) => change === wanted).reduce((sum, { layer }) => sum + Number(layer.size), 0)
  return { layers, sharedBytes: bytes('same'), addedBytes: bytes('added'), removedBytes: bytes('removed') }
}

/** The fields of a configuration that have one value each. */
export function configurationValues(configuration: ImageConfiguration | undefined): Values {
  if (configuration === undefined) return []
  const { os, architecture, user, workingDir, stopSignal, author, createTime } = configuration
  const { entrypoint, cmd, exposedPorts, volumes } = configuration
  const list = (values: readonly string[]) => (values.length === 0 ? '' : JSON.stringify(values))
  const all: Values = [
    ['Entrypoint', list(entrypoint)],
    ['Command', list(cmd)],
    ['User', user],
    ['Working directory', workingDir],
    ['Ports', list([...exposedPorts].sort())],
    ['Volumes', list([...volumes].sort())],
    ['Stop signal', stopSignal],
    ['Platform', [os, architecture].filter(Boolean).join('/')],
    ['Author', author],
    ['Built', createTime ?? ''],
  ]
  return all.filter(([, value]) => value !== '')
}

/** The images of an index by platform; attestations and entries without a platform are left out. */
export function platformValues({ content, platforms }: Manifest): Values {
  const entries = content?.entries.filter(({ platform }) => platform !== '') ?? []
  return entries.length > 0
    ? entries.map(({ platform, digest }) => [platform, digest] as const)
    : platforms.map((platform) => [platform, 'this image'] as const)
}
