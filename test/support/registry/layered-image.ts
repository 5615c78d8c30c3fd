import { randomBytes } from 'node:crypto'
import { newName } from '../api/api-fixture.ts'
import { descriptor, imageFromManifest, type TestImage, types } from './registry.ts'

/** Images with a configuration and history as build tools write them. */

export interface ImageParts {
  readonly architecture?: string
  readonly variant?: string
  readonly layers?: readonly { readonly bytes: Buffer; readonly createdBy: string }[]
  /** `config` of the configuration. */
  readonly config?: object
  /** Further members of the configuration. */
  readonly more?: object
  /** Further members of the manifest. */
  readonly manifest?: object
}

export function layerOf(createdBy: string, size = 100) {
  return { bytes: randomBytes(size), createdBy }
}

export function layeredImage({
  architecture = 'amd64',
  variant,
  layers = [layerOf('COPY app /app')],
  config = {},
  more = {},
  manifest = {},
}: ImageParts = {}): TestImage {
  const created = '2025-01-02T03:04:05Z'
  const steps = layers.map(({ createdBy }) => ({ created, created_by: createdBy, comment: 'buildkit' }))
  const bytes = Buffer.from(
    JSON.stringify({
      architecture,
      ...(variant !== undefined && { variant }),
      os: 'linux',
      created,
      nonce: newName('n'),
      config,
      history: [...steps, { created, created_by: 'CMD ["app"]', empty_layer: true }],
      ...more,
    }),
  )
  return {
    blobs: [bytes, ...layers.map((layer) => layer.bytes)],
    ...imageFromManifest({
      schemaVersion: 2,
      mediaType: types.image,
      config: descriptor(types.config, bytes),
      layers: layers.map((layer) => descriptor(types.layer, layer.bytes)),
      ...manifest,
    }),
  }
}

/** An index of images, with their platforms. */
export function indexOf(
  entries: readonly {
    readonly image: Pick<TestImage, 'descriptor'>
    readonly platform?: object
    readonly annotations?: object
  }[],
  more: object = {},
) {
  return imageFromManifest({
    schemaVersion: 2,
    mediaType: types.index,
    manifests: entries.map(({ image, ...rest }) => ({ ...image.descriptor, ...rest })),
    ...more,
  })
}
