import { isIP } from 'node:net'
import { isDigest } from './descriptors.ts'

/** Names of images at registries, as container tools write them: `host[:port]/repository[:tag][@digest]`. Pure. */

export interface ImageName {
  /** Of the registry; '' where the name has none. */
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

/** The first part of a name is a host when it has a dot or a port, or is `localhost`. */
function isHost(text: string): boolean {
  return text === 'localhost' || /[.:]/.test(text)
}

/** The name, or what is wrong with it. */
export function parseImageName(text: string): ImageName | string {
  const [beforeDigest = '', digest, ...more] = text.split('@')
  if (more.length > 0) return 'has more than one @'
  if (digest !== undefined && !isDigest(digest)) return 'has a digest that is none'
  const slash = beforeDigest.indexOf('/')
  const first = beforeDigest.slice(0, Math.max(slash, 0))
  const host = slash > 0 && isHost(first) ? first.toLowerCase() : ''
  const rest = host === '' ? beforeDigest : beforeDigest.slice(slash + 1)
  const [, repository = '', tag] = /^(.*?)(?::([^:/]*))?$/.exec(rest) ?? []
  if (host !== '' && !URL.canParse(`https://${host}`)) return 'has a host that is none'
  if (host !== '' && new URL(`https://${host}`).host !== host.replace(/:443$/, ''))
    return 'has a host that is none'
  if (tag !== undefined && !isTag(tag)) return 'has a tag that is none'
  if (!repository.split('/').every((part) => PART.test(part)))
    return 'must have parts of lower-case letters and digits, with single . _ or - between'
  return { host, repository: dockerHubRepository(host, repository), tag, digest }
}

export const DOCKER_HUB = 'docker.io'

/** Docker's own registry has a folder for what is nobody's. */
function dockerHubRepository(host: string, repository: string): string {
  return host === DOCKER_HUB && !repository.includes('/') ? `library/${repository}` : repository
}

/** Where the protocol of a registry is spoken. */
export function apiHost(host: string): string {
  return host === DOCKER_HUB ? 'registry-1.docker.io' : host
}

/** Hosts of token services that are known to be a registry's own. */
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

/** As it is written again. */
export function formatImageName({ host, repository, tag, digest }: ImageName): string {
  const base = host === '' ? repository : `${host}/${repository}`
  return `${base}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`
}
