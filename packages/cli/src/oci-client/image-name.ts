import { isIP } from 'node:net'
import { isDigest } from './descriptors.ts'

/** Image names of container tools: `host[:port]/repository[:tag][@digest]`. Pure. */

export interface ImageName {
  /** Registry host; '' if the name has none. */
  readonly host: string
  readonly repository: string
  readonly tag: string | undefined
  readonly digest: string | undefined
}

const PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/
const TAG = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}$/

export function isTag(text: string): boolean {
  return TAG.test(text)
}

/** The first part of a name is a host if it has a dot or a port, or is `localhost`. */
function isHost(text: string): boolean {
  return text === 'localhost' || /[.:]/.test(text)
}

/** Returns the name, or what is wrong with it. */
export function parseImageName(text: string): ImageName | string {
  const [beforeDigest = '', digest, ...more] = text.split('@')
  if (more.length > 0) return 'has more than one @'
  if (digest !== undefined && !isDigest(digest)) return 'has an invalid digest'
  const slash = beforeDigest.indexOf('/')
  const first = beforeDigest.slice(0, Math.max(slash, 0))
  const host = slash > 0 && isHost(first) ? first.toLowerCase() : ''
  const rest = host === '' ? beforeDigest : beforeDigest.slice(slash + 1)
  const [, repository = '', tag] = /^(.*?)(?::([^:/]*))?$/.exec(rest) ?? []
  if (host !== '' && !URL.canParse(`https://${host}`)) return 'has an invalid host'
  if (host !== '' && new URL(`https://${host}`).host !== host.replace(/:443$/, ''))
    return 'has an invalid host'
  if (tag !== undefined && !isTag(tag)) return 'has an invalid tag'
  if (!repository.split('/').every((part) => PART.test(part)))
    return 'must have path components of lowercase letters and digits, separated by single . _ or -'
  return { host, repository: dockerHubRepository(host, repository), tag, digest }
}

export const DOCKER_HUB = 'docker.io'

/** Docker Hub has the folder `library` for official images. */
function dockerHubRepository(host: string, repository: string): string {
  return host === DOCKER_HUB && !repository.includes('/') ? `library/${repository}` : repository
}

/** Returns the host of the registry's API. */
export function apiHost(host: string): string {
  return host === DOCKER_HUB ? 'registry-1.docker.io' : host
}

/** Hosts of known token services, by registry. */
const knownTokenHosts: Readonly<Record<string, readonly string[]>> = {
  [DOCKER_HUB]: ['auth.docker.io'],
  'registry.gitlab.com': ['gitlab.com'],
}

export function trustedTokenHosts(host: string): readonly string[] {
  return [host, apiHost(host), ...(knownTokenHosts[host] ?? [])]
}

export function isLoopback(host: string): boolean {
  const { hostname } = new URL(`http://${host}`)
  const bare = hostname.replace(/^\[|\]$/g, '')
  return (
    bare === 'localhost' ||
    bare.endsWith('.localhost') ||
    bare === '::1' ||
    (isIP(bare) === 4 && bare.startsWith('127.'))
  )
}

/** Formats a name. */
export function formatImageName({ host, repository, tag, digest }: ImageName): string {
  const base = host === '' ? repository : `${host}/${repository}`
  return `${base}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`
}
