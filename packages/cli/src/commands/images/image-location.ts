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
 * What the words of a command mean that name images: `my-org/app:1.0` at the platform's registry, `ghcr.io/acme/app@sha256:…` at
 * another one, `oci:./app:1.0` in a directory.
 */

export interface ImageLocation {
  readonly store: ImageStore
  /** Tag or digest; '' where none was said. */
  readonly reference: string
  readonly isLayout: boolean
  /** The directory, or the repository with its host. */
  readonly name: string
}

/** Works with places; what goes wrong is told with what to do about it, and Ctrl-C ends it. */
export interface ImageResolver {
  readonly signal: AbortSignal
  resolve(word: string): ImageLocation
}

/** Whether a word names a directory, or a registry that is not the platform's. */
export function isExternalImage(invocation: Invocation, word: string): boolean {
  const { settings } = invocation as AuthInvocation
  return word.startsWith(LAYOUT) || ![settings.registry, ''].includes(requireImageName(word).host)
}

export const jsonOption: OptionDeclaration = { flags: '--json', summary: 'the same as -o json' }
export const platformOption: OptionDeclaration = {
  flags: '--platform <platform>',
  summary: 'of an image for several platforms, that for this one, as linux/arm64',
}
export const tokenHostOption: OptionDeclaration = {
  flags: '--token-host <host>',
  summary: "a host that may be shown another registry's credentials, where its tokens come from",
  repeatable: true,
}
const parentOption: OptionDeclaration = {
  flags: '--parent <group>',
  summary: 'the organization or folder of a name without one',
}
/** What all commands have that name an image. */
export const imageOptions: readonly OptionDeclaration[] = [parentOption, tokenHostOption, jsonOption]

export const imageParameter = {
  name: 'IMAGE',
  summary: 'my-org/app:1.0, registry.example.com/app@sha256:…, or oci:DIR:TAG',
  required: true,
} as const

class Interrupted extends Error {}

export async function withImageResolver(
  invocation: Invocation,
  work: (places: ImageResolver) => Promise<void>,
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
    invocation.output.notice('stopped: no tag was changed by what was not finished')
    process.exitCode = exitCodes.interrupted
  } finally {
    process.off('SIGINT', interrupt)
  }
}

/** The mistake with what to do next. */
function describeTransferError({ settings, env }: AuthInvocation, error: unknown): unknown {
  if (!(error instanceof TransferError)) return error
  const { problem, location: place } = error
  // What is quoted in it comes from somebody else: one line it is, so that no other one can be forged.
  const message = sanitizeText(error.message)
  switch (problem) {
    case 'unreachable':
      return new Unreachable(message, { cause: error })
    case 'denied': {
      const isNobody = message.includes('without credentials') && (env['BERTH_TOKEN'] ?? '') === ''
      const isOurs = place === settings.registry
      const atOurs = isNobody ? 'sign in with berth auth login' : 'see what you may do: berth auth status'
      const next = isOurs ? atOurs : `give Docker credentials for it: docker login ${place}`
      const said = `${message}\n${next}`
      return isNobody ? new NotSignedIn(said) : new CommandFailed(said)
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
    const watch = getRequestLogger()
    const made = new Connection({
      host,
      credentials: () => findCredentials(invocation, host),
      tokenHosts: invocation.optionValues('tokenHost'),
      // Where the API is, its scheme is known.
      ...(host === api.host && { scheme: api.protocol === 'http:' ? 'http' : 'https' }),
      userAgent: userAgent(),
      signal,
      ...(watch !== undefined && { logRequest: watch }),
    })
    connections.set(host, made)
    return made
  }
  const layouts = new Map<string, LayoutDirectory>()
  return {
    signal,
    resolve(word) {
      if (word.startsWith(LAYOUT)) {
        const { directory, reference } = parseLayoutName(word)
        const store = layouts.get(directory) ?? new LayoutDirectory(directory)
        layouts.set(directory, store)
        return { store, reference, isLayout: true, name: store.name }
      }
      const { host, repository, tag, digest } = requireImageName(word)
      const path = host === '' ? qualifyRepository(invocation, repository) : repository
      const store = new RegistryRepository(connectionTo(host || settings.registry), path)
      return { store, reference: digest ?? tag ?? '', isLayout: false, name: store.name }
    },
  }
}

function requireImageName(word: string): ImageName {
  const name = parseImageName(word)
  if (typeof name === 'string') throw new UsageError(`the image ${JSON.stringify(word)} ${name}`)
  return name
}

/** A name at the platform's registry has its organization before it, or that of --parent or the configuration. */
function qualifyRepository(invocation: Invocation, repository: string): string {
  if (repository.includes('/')) return repository
  const group = invocation.option('parent') || invocation.property('default.group')
  if (group === '')
    throw new UsageError(
      `${JSON.stringify(repository)} names no organization: write my-org/${repository}, docker.io/${repository}, or give --parent`,
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

/** The sign-in for the platform's own registry, and what Docker knows for others, and where nobody is signed in. */
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
  if (platform === undefined) throw new UsageError('--platform must be such as linux/amd64 or linux/arm/v7')
  return platform
}

/** The reference of an image that must have one: `latest` where none was said, but for a layout, which knows its own. */
export function referenceOrLatest({ reference, isLayout }: ImageLocation): string {
  return reference === '' && !isLayout ? 'latest' : reference
}
