import type { OptionDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { type AuthInvocation, exitCodes } from '../../invocation/invoke.ts'
import { isDigest, type Platform } from '../../oci-client/descriptors.ts'
import { DOCKER_HUB, type ImageName, isTag, parseImageName } from '../../oci-client/image-name.ts'
import type { ImageStore } from '../../oci-client/image-store.ts'
import { LayoutDirectory } from '../../oci-client/layout.ts'
import { parsePlatform } from '../../oci-client/platforms.ts'
import { Connection } from '../../oci-client/registry/connection.ts'
import { RegistryRepository } from '../../oci-client/registry/repository.ts'
import type { Credentials } from '../../oci-client/registry/token.ts'
import { TransferError } from '../../oci-client/transfer-error.ts'
import { sanitizeText } from '../../output/text-width.ts'
import { CommandFailed, NotSignedIn, Unreachable } from '../../session/access-token.ts'
import { getRegistryToken } from '../../session/credentials/credential-helper.ts'
import { findDockerCredentials } from '../../session/credentials/docker-config.ts'
import { getRequestLogger, userAgent } from '../../session/http.ts'

/**
 * Resolves image names: `my-org/app:1.0` in the platform's registry, `ghcr.io/acme/app@sha256:…` in another registry, `oci:./app:1.0`
 * in a directory.
 */

export interface ImageLocation {
  readonly store: ImageStore
  /** Tag or digest; '' if none is given. */
  readonly reference: string
  readonly isLayout: boolean
  /** Path of a repo in the platform's registry; undefined for other images. */
  readonly platformRepo: string | undefined
  /** Undefined for a directory. */
  readonly repository: { readonly host: string; readonly path: string } | undefined
  /** The directory, or the repository with its host. */
  readonly name: string
}

/** Resolves image names to stores. `signal` is aborted by Ctrl-C. */
export interface ImageResolver {
  readonly signal: AbortSignal
  resolve(word: string): ImageLocation
}

/** Reports whether a name is a directory or in another registry. */
export function isExternalImage(invocation: Invocation, word: string): boolean {
  const { settings } = invocation as AuthInvocation
  return word.startsWith(LAYOUT) || ![settings.registry, ''].includes(requireImageName(word).host)
}

export const platformOption: OptionDeclaration = {
  flags: '--platform <platform>',
  summary: 'platform of a multi-platform image, such as linux/arm64',
}
export const tokenHostOption: OptionDeclaration = {
  flags: '--token-host <host>',
  summary: 'token server that may receive the credentials of another registry (repeatable)',
  repeatable: true,
}
const parentOption: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'organization or folder of a name without one',
}
/** Options of all commands that take an image name. */
export const imageOptions: readonly OptionDeclaration[] = [parentOption, tokenHostOption]

export const imageParameter = {
  name: 'IMAGE',
  summary: 'my-org/app:1.0, registry.example.com/app@sha256:…, or oci:DIR:TAG',
  required: true,
} as const

class Interrupted extends Error {}

export async function withImageResolver(
  invocation: Invocation,
  work: (resolver: ImageResolver) => Promise<void>,
): Promise<void> {
  const stop = new AbortController()
  const interrupt = () => {
    if (stop.signal.aborted) process.exit(exitCodes.interrupted)
    stop.abort(new Interrupted())
  }
  process.on('SIGINT', interrupt)
  try {
    await work(createImageResolver(invocation as AuthInvocation, stop.signal))
  } catch (error) {
    invocation.output.progress('')
    if (!stop.signal.aborted) throw describeTransferError(invocation as AuthInvocation, error)
    invocation.output.notice('stopped; unfinished operations changed no tags')
    process.exitCode = exitCodes.interrupted
  } finally {
    process.off('SIGINT', interrupt)
  }
}

/** Describes an error with its next step. */
function describeTransferError({ settings, env }: AuthInvocation, error: unknown): unknown {
  if (!(error instanceof TransferError)) return error
  const { problem, location } = error
  // It quotes text of other servers: one line, so that they cannot forge a second one.
  const message = sanitizeText(error.message)
  switch (problem) {
    case 'unreachable':
      return new Unreachable(message, { cause: error })
    case 'denied': {
      const isAnonymous = message.includes('without credentials') && (env['BERTH_TOKEN'] ?? '') === ''
      const isOwnRegistry = location === settings.registry
      // Our registry names the missing permission, and the roles that include it.
      const ownHint = isAnonymous ? '\nsign in with berth auth login' : ''
      const next = isOwnRegistry ? ownHint : `\nsign in to it with Docker: docker login ${location}`
      const text = `${message}${next}`
      return isAnonymous ? new NotSignedIn(text) : new CommandFailed(text)
    }
    default:
      return new CommandFailed(message, { cause: error })
  }
}

function createImageResolver(invocation: AuthInvocation, signal: AbortSignal): ImageResolver {
  const { settings } = invocation
  const connections = new Map<string, Connection>()
  const connectionTo = (host: string) => {
    const known = connections.get(host)
    if (known !== undefined) return known
    const api = new URL(settings.api)
    const logRequest = getRequestLogger()
    const created = new Connection({
      host,
      credentials: () => findCredentials(invocation, host),
      tokenHosts: invocation.optionValues('tokenHost'),
      // The scheme of the API's host is known.
      ...(host === api.host && { scheme: api.protocol === 'http:' ? 'http' : 'https' }),
      userAgent: userAgent(),
      signal,
      ...(logRequest !== undefined && { logRequest }),
    })
    connections.set(host, created)
    return created
  }
  const layouts = new Map<string, LayoutDirectory>()
  return {
    signal,
    resolve(word) {
      if (word.startsWith(LAYOUT)) {
        const { directory, reference } = parseLayoutName(word)
        const store = layouts.get(directory) ?? new LayoutDirectory(directory)
        layouts.set(directory, store)
        return {
          ...{ store, reference, isLayout: true, name: store.name },
          ...{ platformRepo: undefined, repository: undefined },
        }
      }
      const { host, repository, tag, digest } = requireImageName(word)
      const path = host === '' ? qualifyRepository(invocation, repository) : repository
      const store = new RegistryRepository(connectionTo(host || settings.registry), path)
      const platformRepo = ['', settings.registry].includes(host) ? path : undefined
      return {
        ...{ store, reference: digest ?? tag ?? '', isLayout: false, name: store.name },
        ...{ platformRepo, repository: { host: host || settings.registry, path } },
      }
    },
  }
}

function requireImageName(word: string): ImageName {
  const name = parseImageName(word)
  if (typeof name === 'string') throw new UsageError(`the image ${JSON.stringify(word)} ${name}`)
  return name
}

/** Adds the group of --parent or of the configuration to a name without one. */
function qualifyRepository(invocation: Invocation, repository: string): string {
  if (repository.includes('/')) return repository
  const group = invocation.option('parent') || invocation.property('default.group')
  if (group === '')
    throw new UsageError(
      `${JSON.stringify(repository)} has no organization: use my-org/${repository} or docker.io/${repository}, or give --parent`,
    )
  return `${group}/${repository}`
}

const LAYOUT = 'oci:'

function parseLayoutName(word: string): { readonly directory: string; readonly reference: string } {
  const rest = word.slice(LAYOUT.length)
  const [, before = '', digest] = /^(.*)@([a-z0-9]+:[0-9a-f]+)$/.exec(rest) ?? []
  if (digest !== undefined && isDigest(digest) && before !== '')
    return { directory: before, reference: digest }
  const [, directory = rest, tag = ''] = /^(.+):([^/:]+)$/.exec(rest) ?? []
  if (directory === '') throw new UsageError(`${JSON.stringify(word)} must be oci:DIR or oci:DIR:TAG`)
  if (tag !== '' && !isTag(tag)) throw new UsageError(`${JSON.stringify(word)} has an invalid tag`)
  return { directory, reference: tag }
}

/** Uses the sign-in for the platform's registry if there is one, otherwise the credentials of Docker. */
async function findCredentials(
  { settings, env }: AuthInvocation,
  host: string,
): Promise<Credentials | undefined> {
  if (host === settings.registry) {
    try {
      return { user: '_token', password: await getRegistryToken(settings, env) }
    } catch (error) {
      if (!(error instanceof NotSignedIn)) throw error
    }
  }
  return findDockerCredentials(
    env,
    host === DOCKER_HUB ? ['https://index.docker.io/v1/', DOCKER_HUB] : [host],
  )
}

export function readPlatform(invocation: Invocation): Platform | undefined {
  const text = invocation.option('platform')
  if (text === '') return undefined
  const platform = parsePlatform(text)
  if (platform === undefined)
    throw new UsageError('--platform must have a form such as linux/amd64 or linux/arm/v7')
  return platform
}

/** Returns the reference, with the default `latest` for a registry. */
export function referenceOrLatest({ reference, isLayout }: ImageLocation): string {
  return reference === '' && !isLayout ? 'latest' : reference
}
