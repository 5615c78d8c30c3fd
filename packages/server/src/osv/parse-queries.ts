import { isEcosystem } from '@berth/advisory-formats/osv/ecosystems.ts'
import { distributionOf, originOf, parsePurl, versionOf } from '@berth/image-contents/sbom/package-urls.ts'
import { ecosystemOfPackage, ecosystemRules } from '@berth/package-versions/osv/ecosystems.ts'
import { invalidArgument, invalidPart } from '../api/errors.ts'
import { limits } from '../config/limits.ts'
import type { MatchedPackage } from '../findings/matching/candidate.ts'

/** Reads the queries of OSV's API (https://google.github.io/osv.dev/post-v1-query/). */

export interface OsvQuery {
  /** Undefined if there is no data about it: a commit, or an ecosystem whose versions have no order. */
  readonly pkg: MatchedPackage | undefined
  readonly hasVersion: boolean
  readonly pageToken: string
  /** The query without its page token. */
  readonly question: string
}

/** Throws code 3 for a body that is not a list of queries, or has too many. */
export function parseBatch(json: unknown): OsvQuery[] {
  const { queries } = fieldsOf(json, '')
  if (!Array.isArray(queries)) throw invalidArgument('queries', 'must be a list of queries')
  if (queries.length > limits.osvQueriesMax)
    throw invalidArgument('queries', `must have at most ${limits.osvQueriesMax} queries`)
  return queries.map((query: unknown, at) => parseQuery(query, `queries[${at}]`))
}

/** `field`: the path of the query in the body. Throws code 3. */
export function parseQuery(json: unknown, field = ''): OsvQuery {
  const prefix = field === '' ? '' : `${field}.`
  const query = fieldsOf(json, field)
  const text = (from: Fields, name: string, path = '') => textOf(from[name], `${prefix}${path}${name}`)
  const described = query['package'] == null ? {} : fieldsOf(query['package'], `${prefix}package`)
  const [version, commit, pageToken] = [
    text(query, 'version'),
    text(query, 'commit'),
    text(query, 'page_token'),
  ]
  const [name, ecosystem, purl] = (['name', 'ecosystem', 'purl'] as const).map((one) =>
    text(described, one, 'package.'),
  ) as [string, string, string]
  const question = JSON.stringify([commit, name, ecosystem, purl, version])
  const result = (pkg: MatchedPackage | undefined): OsvQuery => ({
    pkg,
    hasVersion: pkg !== undefined && pkg.version !== '',
    pageToken,
    question,
  })
  if (commit !== '') {
    if (version !== '') throw invalidArgument(`${prefix}commit`, 'cannot be combined with a version')
    return result(undefined)
  }
  if (purl !== '') {
    if (name !== '' || ecosystem !== '')
      throw invalidArgument(`${prefix}package.purl`, 'cannot be combined with a name or an ecosystem')
    return result(packageOfUrl(purl, version, prefix))
  }
  if (name === '') throw invalidArgument(`${prefix}package.name`, 'is required, or a purl or a commit')
  if (ecosystem === '') throw invalidArgument(`${prefix}package.ecosystem`, 'is required with a name')
  const rules = ecosystemRules(ecosystem)
  if (rules === undefined && !isEcosystem(ecosystem))
    throw invalidArgument(`${prefix}package.ecosystem`, 'is not an ecosystem of OSV')
  return result(rules && { ...unlocated, type: rules.type, name, version, ecosystem })
}

const unlocated = {
  namespace: '',
  originName: '',
  originVersion: '',
  distributionId: '',
  distributionVersion: '',
}

function packageOfUrl(purl: string, version: string, prefix: string): MatchedPackage | undefined {
  const url = parsePurl(purl)
  if (url === undefined) throw invalidArgument(`${prefix}package.purl`, 'must be a package URL')
  const ownVersion = versionOf(url)
  if (version !== '' && ownVersion !== '')
    throw invalidArgument(`${prefix}version`, 'cannot be combined with a purl that has a version')
  const origin = originOf(url)
  const distribution = distributionOf(url)
  const pkg: MatchedPackage = {
    ...unlocated,
    type: url.type ?? '',
    namespace: url.namespace ?? '',
    name: url.name ?? '',
    version: ownVersion || version,
    originName: origin?.name ?? '',
    originVersion: origin?.version ?? '',
    distributionId: distribution?.id ?? '',
    distributionVersion: distribution?.versionId ?? '',
  }
  const ecosystem = ecosystemOfPackage(pkg)
  if (ecosystem === undefined) return undefined
  // Without a release, records of all releases are about it.
  return distribution === undefined ? { ...pkg, ecosystem } : pkg
}

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(value: unknown, field: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw field === ''
    ? invalidPart('body', 'must be a JSON object')
    : invalidArgument(field, 'must be an object')
}

function textOf(value: unknown, field: string): string {
  if (value == null) return ''
  if (typeof value !== 'string') throw invalidArgument(field, 'must be a string')
  if (value.length > limits.filterCharsMax && !field.endsWith('page_token'))
    throw invalidArgument(field, `must have at most ${limits.filterCharsMax} characters`)
  return value
}
