import type { BerthClient, Tag } from '@berth/client/berth.ts'
import { configPath, type Environment, readConfigFile, resolveSettings } from '../../../config/settings.ts'
import type { Invocation } from '../../../invocation/invocation.ts'
import type { AuthInvocation } from '../../../invocation/invoke.ts'
import { resolveRepoUid } from '../../../invocation/resource-lookup.ts'
import { isDigest } from '../../../oci-client/descriptors.ts'
import { createClient } from '../../../session/client.ts'
import type { ImageLocation } from '../image-location.ts'

/**
 * Copies `deprecated` and the bundles of tags, which the protocol of registries does not have, through the API: within the server, and
 * from and to servers with a profile.
 */

export interface TagAttributes {
  /**
   * Copies one tag with `copy`, which returns the digest, and then its attributes, as the server does for copies of its own: a tag that
   * points to the image already keeps its own.
   */
  copyWith(reference: string, tag: string | undefined, copy: () => Promise<string>): Promise<string>
}

interface TagRepo {
  readonly client: BerthClient
  readonly uid: string
}

export function createTagAttributes(
  invocation: Invocation,
  [from, to]: readonly [ImageLocation, ImageLocation],
): TagAttributes {
  const invocations = [from, to].map((location) => findServer(invocation as AuthInvocation, location))
  const [source, destination] = invocations
  return {
    async copyWith(reference, tag, copy) {
      if (source === undefined || destination === undefined || tag === undefined || isDigest(reference))
        return copy()
      const before = await to.store.resolveDigest(tag).catch(() => undefined)
      const digest = await copy()
      if (digest === before) return digest
      try {
        const given = await readTag(await repoOf(source, from), reference)
        const repo = await repoOf(destination, to)
        const current = await readTag(repo, tag)
        if (given?.digest === digest && current?.digest === digest && !isSame(given, current))
          await repo.client.tags.create(repo.uid, {
            name: tag,
            digest,
            deprecated: given.deprecated,
            bundles: given.bundles,
          })
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        invocation.output.notice(`warning: deprecated and bundles of tag ${tag} are not copied: ${reason}`)
      }
      return digest
    },
  }
}

/** Returns the context of calls to the server of an image; undefined for other registries, directories, and servers without a profile. */
function findServer(
  invocation: AuthInvocation,
  { platformRepo, repository }: ImageLocation,
): Invocation | undefined {
  if (platformRepo !== undefined) return invocation
  if (repository === undefined) return undefined
  const { cache, env, flags, output } = invocation
  const own = withoutSettings(env)
  for (const profile of Object.keys(readConfigFile(configPath(env, flags)).profiles)) {
    const settings = resolveSettings(own, {
      profile,
      ...(flags.config !== undefined && { config: flags.config }),
    })
    if (settings.registry !== repository.host) continue
    let client: Promise<BerthClient> | undefined
    return {
      ...invocation,
      client() {
        client ??= createClient({ settings, cache, env: own }, (text) => output.notice(`warning: ${text}`))
        return client
      },
    }
  }
  return undefined
}

/** The settings and the token of the environment are those of the current server. */
const withoutSettings = (env: Environment): Environment =>
  Object.fromEntries(
    Object.entries(env).filter(([name]) => !name.startsWith('BERTH_') || name === 'BERTH_CONFIG'),
  )

async function repoOf(server: Invocation, { repository }: ImageLocation): Promise<TagRepo> {
  const client = await server.client()
  return { client, uid: await resolveRepoUid(server, repository?.path ?? '') }
}

async function readTag({ client, uid }: TagRepo, name: string): Promise<Tag | undefined> {
  const every = { includeDates: true, includeEpochs: true, includeReferrers: true }
  for await (const tag of client.tags.all({ ...every, name, uidp: { childrenOf: uid } })) return tag
  return undefined
}

const isSame = (one: Tag, other: Tag): boolean =>
  one.deprecated === other.deprecated &&
  JSON.stringify(one.bundles.toSorted()) === JSON.stringify(other.bundles.toSorted())
