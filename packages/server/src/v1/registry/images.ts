import {
  type ImageConfig,
  ImageConfigSchema,
  Registry,
} from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { ImagesService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/images_pb.js'
import { create } from '@bufbuild/protobuf'
import type { Handlers } from '../../pipeline/call.ts'
import type { ReadImageConfiguration } from '../../registry/resources/images.ts'
import { mapMethod, type Translators, translateErrors } from '../mapping/translation.ts'

/** Image methods of version 1. Only version 1 shows how an image runs. */

const renamedFields = { repoId: 'repoUid', archs: 'architectures', arch: 'architecture' }

/** Maps the fields of newer errors to the names of version 1. */
export const v1ImageFields: Readonly<Record<string, string>> = { architecture: 'arch' }

export const imageTranslators: Required<Pick<Translators<typeof Registry>, 'getArchs' | 'getSize'>> = {
  getArchs: mapMethod(Registry.method.getArchs, ImagesService.method.getArchitectures, renamedFields),
  getSize: mapMethod(Registry.method.getSize, ImagesService.method.getSize, renamedFields),
}

export function imageHandlers(
  readConfiguration: ReadImageConfiguration,
): Required<Pick<Handlers<typeof Registry>, 'getImageConfig'>> {
  return {
    getImageConfig: ({ digest, arch }, call) =>
      translateErrors(
        (field) => v1ImageFields[field] ?? field,
        async () => {
          const read = await readConfiguration(call, digest, arch)
          return toImageConfig(read ?? {})
        },
      ),
  }
}

/** The fields of the OCI image specification; values of another type are omitted, because nothing validates them on push. */
function toImageConfig(config: Readonly<Record<string, unknown>>): ImageConfig {
  const text = (name: string) => (typeof config[name] === 'string' ? config[name].toWellFormed() : '')
  const texts = (name: string) => {
    const value = config[name]
    return Array.isArray(value)
      ? value.filter((one) => typeof one === 'string').map((one) => one.toWellFormed())
      : []
  }
  const keys = (name: string) =>
    Object.fromEntries(Object.keys(members(config[name])).map((key) => [key.toWellFormed(), {}]))
  const labels = Object.entries(members(config['Labels'])).flatMap(([key, value]) =>
    typeof value === 'string' ? [[key.toWellFormed(), value.toWellFormed()]] : [],
  )
  return create(ImageConfigSchema, {
    user: text('User'),
    exposedPorts: keys('ExposedPorts'),
    env: texts('Env'),
    entrypoint: texts('Entrypoint'),
    cmd: texts('Cmd'),
    volumes: keys('Volumes'),
    workingDir: text('WorkingDir'),
    labels: Object.fromEntries(labels),
    stopSignal: text('StopSignal'),
  })
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}
