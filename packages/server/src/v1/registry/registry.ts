import { Registry } from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { notFound, unimplemented } from '../../api/errors.ts'
import type { ContentsReader } from '../../contents/services/contents-reader.ts'
import {
  type Handlers,
  implement,
  type ServiceImplementation,
  type ServiceTranslation,
} from '../../pipeline/call.ts'
import type { ReadImageConfiguration } from '../../registry/resources/images.ts'
import type { RepoOptions } from '../../registry/resources/repos.ts'
import type { Store } from '../../storage/store.ts'
import { translateService } from '../mapping/translation.ts'
import { deploymentHandlers } from './deployments.ts'
import { imageContentsHandlers } from './image-contents.ts'
import { imageHandlers, imageTranslators, v1ImageFields } from './images.ts'
import { registrySettingsHandlers } from './registry-settings.ts'
import { repoHandlers, repoTranslators } from './repos.ts'
import { tagHandlers, tagTranslators } from './tags.ts'
import { reportHandlers } from './vulnerabilities.ts'

/** The one service of version 1 for repos, tags and images. Methods without a single newer counterpart are implemented here. */

const PACKAGE_TYPE = 'registry.chainguard.dev/Package'

export function registryTranslation(store: Pick<Store, 'db'>): ServiceTranslation {
  return translateService(Registry, (field) => v1ImageFields[field] ?? field, {
    ...repoTranslators(store),
    ...tagTranslators,
    ...imageTranslators,
  })
}

export function registryService(
  store: Store,
  options: RepoOptions,
  images: ReadImageConfiguration,
  contents: ContentsReader,
): ServiceImplementation {
  return implement(Registry, {
    ...repoHandlers(store, options),
    ...tagHandlers(store),
    ...deploymentHandlers(store),
    ...registrySettingsHandlers(store),
    ...imageHandlers(images),
    ...imageContentsHandlers(contents),
    ...reportHandlers(store, contents, options),
    ...unsupportedMethods,

    // Advisories know fixed versions, but neither all versions nor when they end.
    async getPackageVersionMetadata({ package: name }) {
      throw notFound(PACKAGE_TYPE, name, `the versions of package ${name} are unknown`)
    },
  })
}

/** Why a method is not implemented. */
const unsupportedReasons = {
  'this server does not read charts': ['getHelm', 'getChart', 'listChartsByImageRepo'],
  'this server builds no images': ['listBuildReports', 'getBuildStatus'],
  // An empty list would mean that everything is still supported.
  'this server does not know when software reaches its end of life': ['listEolTags'],
  'this server copies no images by itself': ['getUpdateStatus', 'getSyncStatus', 'listSyncStatuses'],
} as const satisfies Readonly<Record<string, readonly (keyof typeof Registry.method)[]>>

const unsupportedMethods: Handlers<typeof Registry> = Object.fromEntries(
  Object.entries(unsupportedReasons).flatMap(([reason, names]) =>
    names.map((name) => [
      name,
      async () => {
        throw unimplemented(reason)
      },
    ]),
  ),
)
