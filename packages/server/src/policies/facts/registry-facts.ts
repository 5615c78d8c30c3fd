import { rootOf } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { BlobStore } from '../../registry/blobs/blob-store.ts'
import { readSmallBlobs } from '../../registry/inspection/small-blobs.ts'
import { parseStoredConfiguration } from '../../registry/manifests/image-configuration.ts'
import { members, parseObject } from '../../registry/manifests/image-json.ts'
import { parseStoredManifest, textOf } from '../../registry/manifests/manifest-content.ts'
import { createGrowingCache } from '../../runtime/caches/growing-cache.ts'
import type { Db } from '../../storage/db.ts'
import { preparedRead } from '../../storage/prepared.ts'
import type { Fact, FactName, FactProvider, Facts, PulledManifest } from './image-facts.ts'

/** Facts that the registry has of every image: its names, its push, its manifest and its configuration. */

const tagsOf = preparedRead((db, { root, repo, digest }: { root: string; repo: string; digest: string }) =>
  db
    .selectFrom('tags')
    .select('name')
    .where('root', '=', root)
    .where('parent', '=', repo)
    .where((row) =>
      row.or([
        row('digest', '=', digest),
        row(
          'digest',
          'in',
          row
            .selectFrom('manifest_references as r')
            .select('r.manifest')
            .where('r.root', '=', root)
            .where('r.repo', '=', repo)
            .where('r.digest', '=', digest)
            .where('r.kind', '=', 'manifest'),
        ),
      ]),
    )
    .limit(limits.policyTagsMax + 1),
)

const pushOf = preparedRead((db, { root, repo, digest }: { root: string; repo: string; digest: string }) =>
  db
    .selectFrom('manifests')
    .select('created_ms')
    .where('root', '=', root)
    .where('repo', '=', repo)
    .where('digest', '=', digest),
)

export function nameFacts(db: Db): FactProvider {
  return {
    names: ['repository', 'tag', 'digest', 'tags', 'pushed'],
    async read({ repo, repository, tag, digest }, names) {
      const key = { root: rootOf(repo), repo, digest }
      const facts: { -readonly [N in keyof Facts]: Facts[N] } = {
        repository: { value: repository },
        tag: { value: tag },
        digest: { value: digest },
      }
      if (names.includes('tags')) facts.tags = tagsFact((await tagsOf(db, key)).map(({ name }) => name))
      if (names.includes('pushed')) {
        const [row] = await pushOf(db, key)
        facts.pushed = row ? { value: Number(row.created_ms) } : { unknown: 'the manifest was deleted' }
      }
      return facts
    },
  }
}

function tagsFact(tags: readonly string[]): Fact<readonly string[]> {
  return tags.length > limits.policyTagsMax
    ? { unknown: `the image has more than ${limits.policyTagsMax} tags` }
    : { value: tags }
}

/** What the configuration of an image says; its digest fixes it. */
type ConfigurationFacts = Pick<Facts, 'created' | 'labels' | 'platform'>

const configurationNames = ['created', 'labels', 'platform'] as const satisfies readonly FactName[]

const BASE_NAME = 'org.opencontainers.image.base.name'
const BASE_DIGEST = 'org.opencontainers.image.base.digest'

/** Facts of the manifest and its configuration. Configurations are cached: the content of a digest never changes. */
export function contentFacts(db: Db, blobs: Pick<BlobStore, 'read'>): FactProvider {
  const cache = createGrowingCache<ConfigurationFacts>(limits.policyConfigurationsCachedMax)

  const readConfiguration = async ({ repo, content }: PulledManifest): Promise<ConfigurationFacts> => {
    const config = parseStoredManifest(content)?.config
    if (config === undefined) return unknownConfiguration('the manifest has no configuration')
    const known = cache.get(config.digest)
    if (known !== undefined) return known
    if (config.size > limits.listedConfigBytesMax)
      return unknownConfiguration(
        `the configuration of the image has more than ${limits.listedConfigBytesMax} bytes`,
      )
    const bytes = (await readSmallBlobs(db, blobs, repo, [config])).get(config.digest)
    if (bytes === undefined) return unknownConfiguration('the configuration of the image cannot be read now')
    const facts = configurationFacts(bytes)
    cache.set(config.digest, facts)
    return facts
  }

  return {
    names: ['annotations', ...configurationNames, 'base_name', 'base_digest'],
    async read(manifest, names) {
      const annotations = annotationsOf(manifest.content)
      const needsConfiguration = names.some((name) => name !== 'annotations')
      const configuration: ConfigurationFacts = needsConfiguration ? await readConfiguration(manifest) : {}
      const labels =
        configuration.labels && 'value' in configuration.labels ? configuration.labels.value : undefined
      const base = (name: string): Fact<string> => {
        const value = annotations.get(name) ?? labels?.get(name)
        if (value !== undefined) return { value }
        return labels === undefined
          ? { unknown: 'the configuration of the image cannot be read' }
          : { value: '' }
      }
      return {
        annotations: { value: annotations },
        ...configuration,
        base_name: base(BASE_NAME),
        base_digest: base(BASE_DIGEST),
      }
    },
  }
}

function unknownConfiguration(unknown: string): ConfigurationFacts {
  return { created: { unknown }, labels: { unknown }, platform: { unknown } }
}

function configurationFacts(bytes: Uint8Array): ConfigurationFacts {
  const configuration = parseStoredConfiguration(bytes)
  if (configuration === undefined)
    return unknownConfiguration('the configuration of the image is not a JSON object within the limits')
  const { os, architecture, createdMs, labels, truncated } = configuration
  return {
    created:
      createdMs === undefined
        ? { unknown: 'the configuration of the image has no valid creation time' }
        : { value: createdMs },
    labels: truncated
      ? { unknown: 'the configuration of the image has too much text' }
      : { value: new Map(Object.entries(labels)) },
    platform: { value: os === '' || architecture === '' ? '' : `${os}/${architecture}` },
  }
}

/** The manifest was validated when it was pushed. */
function annotationsOf(content: Uint8Array): ReadonlyMap<string, string> {
  const { manifestDepthMax: depthMax, manifestElementsMax: elementsMax } = limits
  const manifest = parseObject(content, { depthMax, elementsMax })
  return new Map(
    Object.entries(members(manifest?.['annotations'])).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, textOf(value)] as const] : [],
    ),
  )
}
