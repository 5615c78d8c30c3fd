import {
  ResourceKind,
  type SearchResourcesRequest,
  SearchService,
} from '@berth/contract/gen/berth/search/v1/search_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import type { FieldViolation } from '../api/errors.ts'
import { requireValid } from '../api/fields.ts'
import { parseUid } from '../api/uid.ts'
import { limits } from '../config/limits.ts'
import { type Authorization, authorizationOf } from '../pipeline/authorization.ts'
import { implement } from '../pipeline/call.ts'
import type { Db } from '../storage/db.ts'
import type { Store } from '../storage/store.ts'
import { type Area, areasOf } from './areas.ts'
import { findAdvisories } from './find-advisories.ts'
import { findDigests, findTags, findTagsIn } from './find-images.ts'
import { findNamed, type NamedTable } from './find-named.ts'
import { lookUp } from './lookup.ts'
import { compareMatches, type Found, type Match, NOTHING, searchedKinds } from './matches.ts'
import { toResources } from './resources.ts'
import { isInPath, parseSearchText, type SearchText } from './search-text.ts'

/** Finds resources of all kinds that the caller may list, and names by uids. */

export interface SearchOptions {
  /** Host name of the registry, as in image references. */
  readonly registryHost: string
}

export function searchService({ db }: Pick<Store, 'db'>, { registryHost }: SearchOptions) {
  return implement(SearchService, {
    async searchResources(request, call) {
      const { text, organization, kinds } = request
      requireValid(...violationsIn(request))
      const authorization = authorizationOf(call)
      const wanted = new Set(kinds.length === 0 ? searchedKinds : kinds)
      const uid = parseUid(text.trim())
      const search: Search = {
        db,
        authorization,
        text: parseSearchText(text, registryHost),
        typed: text.trim(),
        kinds: wanted,
        areaFor: areasOf(db, authorization.grants, organization),
      }
      const found = [
        uid === undefined ? await findByName(search) : NOTHING,
        await findImages(search),
        await findByUid(search, uid, organization),
        uid === undefined ? await findInAdvisories(search) : NOTHING,
      ]
      return respond(search, found, request.maxResults)
    },

    async lookupResources({ uids }, call) {
      requireValid(...lookupViolations(uids))
      const authorization = authorizationOf(call)
      const matches = await lookUp(db, authorization, new Set(uids))
      return {
        $typeName: 'berth.search.v1.LookupResourcesResponse' as const,
        resources: await toResources(db, authorization.grants, matches),
      }
    },
  })
}

interface Search {
  readonly db: Db
  readonly authorization: Authorization
  readonly text: SearchText
  readonly typed: string
  readonly kinds: ReadonlySet<ResourceKind>
  areaFor(...capabilities: readonly Capability[]): Promise<Area>
}

function violationsIn({ text, kinds, organization, maxResults }: SearchResourcesRequest) {
  const chars = text.trim().length
  const violations: (FieldViolation | undefined)[] = [
    chars >= limits.searchCharsMin && text.length <= limits.searchCharsMax
      ? undefined
      : {
          field: 'text',
          description: `must have ${limits.searchCharsMin} to ${limits.searchCharsMax} characters`,
        },
    maxResults < 0 ? { field: 'max_results', description: 'must not be negative' } : undefined,
    organization !== '' && parseUid(organization) === undefined
      ? { field: 'organization', description: 'must be a uid' }
      : undefined,
    ...kinds.map((kind, at) =>
      searchedKinds.includes(kind)
        ? undefined
        : { field: `kinds[${at}]`, description: 'must be a kind that can be searched' },
    ),
  ]
  return violations
}

function lookupViolations(uids: readonly string[]): (FieldViolation | undefined)[] {
  const { lookupUidsMax: max } = limits
  if (uids.length === 0) return [{ field: 'uids', description: 'is required' }]
  if (uids.length > max) return [{ field: 'uids', description: `must have at most ${max} values` }]
  return uids.map((uid, at) =>
    parseUid(uid) === undefined ? { field: `uids[${at}]`, description: 'must be a uid' } : undefined,
  )
}

const namedKinds: readonly (readonly [NamedTable, Capability, readonly ResourceKind[]])[] = [
  ['groups', Capability.CAP_IAM_GROUPS_LIST, [ResourceKind.ORGANIZATION, ResourceKind.FOLDER]],
  ['repos', Capability.CAP_REPO_LIST, [ResourceKind.REPOSITORY]],
  ['identities', Capability.CAP_IAM_IDENTITY_LIST, [ResourceKind.IDENTITY]],
  ['roles', Capability.CAP_IAM_ROLES_LIST, [ResourceKind.ROLE]],
  ['role_bindings', Capability.CAP_IAM_ROLE_BINDINGS_LIST, [ResourceKind.USER]],
]

async function findByName({ db, text, kinds, areaFor }: Search): Promise<Found> {
  const name = text.hasRepository ? '' : text.name
  if (name === '') return NOTHING
  const areas = new Map<NamedTable, Area>()
  for (const [table, capability, own] of namedKinds)
    if (own.some((kind) => kinds.has(kind))) areas.set(table, await areaFor(capability))
  return findNamed(db, name, areas, kinds)
}

async function findImages({ db, text, kinds, areaFor }: Search): Promise<Found> {
  const tags = kinds.has(ResourceKind.TAG) ? await areaFor(Capability.CAP_TAG_LIST) : undefined
  const manifests = kinds.has(ResourceKind.MANIFEST) ? await areaFor(Capability.CAP_MANIFEST_LIST) : undefined
  const found: Found[] = []
  if (text.digest !== undefined) found.push(await findDigests(db, text.digest, { tags, manifests }))
  if (tags !== undefined && text.hasRepository && text.digest === undefined)
    found.push(await findTagsIn(db, await findRepos(db, text, await areaFor(...tagsByRepo)), text.tag))
  if (tags !== undefined && !text.hasRepository && text.path === '' && text.tag !== '')
    found.push(await findTags(db, text.tag, tags))
  return {
    matches: found.flatMap(({ matches }) => matches),
    incomplete: found.flatMap(({ incomplete }) => incomplete),
  }
}

/** Who finds tags by the name of their repo learns the name. */
const tagsByRepo = [Capability.CAP_TAG_LIST, Capability.CAP_REPO_LIST]

/** Returns repos that the caller can list with their tags and whose name starts with the searched one, the exact one first. */
async function findRepos(db: Db, text: SearchText, area: Area): Promise<string[]> {
  const repos = await findNamed(db, text.name, new Map([['repos', area]]), new Set([ResourceKind.REPOSITORY]))
  return [...repos.matches]
    .sort(compareMatches)
    .slice(0, limits.searchReposMax)
    .map(({ uid }) => uid)
}

async function findByUid(
  { db, authorization, kinds }: Search,
  uid: string | undefined,
  within: string,
): Promise<Found> {
  if (uid === undefined || (within !== '' && uid !== within && !uid.startsWith(`${within}/`))) return NOTHING
  const matches = await lookUp(db, authorization, new Set([uid]))
  return { matches: matches.filter(({ kind }) => kinds.has(kind)), incomplete: [] }
}

async function findInAdvisories({ db, typed, kinds, areaFor }: Search): Promise<Found> {
  if (!kinds.has(ResourceKind.ADVISORY)) return NOTHING
  return findAdvisories(db, typed, await areaFor(Capability.CAP_ADVISORIES_LIST))
}

async function respond(search: Search, found: readonly Found[], requested: number) {
  const { db, authorization, text } = search
  const max = Math.min(requested === 0 ? limits.searchResultsDefault : requested, limits.searchResultsMax)
  const matches = distinct(found.flatMap(({ matches }) => matches)).sort(compareMatches)
  // A path needs the names of all candidates.
  const candidates = text.path === '' ? firstOfEach(matches, max) : { kept: matches, cut: [] }
  const resources = await toResources(db, authorization.grants, candidates.kept)
  const inPath =
    text.path === ''
      ? resources
      : resources.filter(({ kind, path }) => kind === ResourceKind.ADVISORY || isInPath(path, text.path))
  const { kept, cut } = firstOfEach(inPath, max)
  const incomplete = new Set([...found.flatMap((part) => part.incomplete), ...candidates.cut, ...cut])
  return {
    $typeName: 'berth.search.v1.SearchResourcesResponse' as const,
    resources: [...kept],
    incompleteKinds: [...incomplete].sort((a, b) => a - b),
  }
}

/** A resource can be found in several ways. */
function distinct(matches: readonly Match[]): Match[] {
  const best = new Map<string, Match>()
  for (const match of matches) {
    const key = `${match.kind} ${match.uid} ${match.kind === ResourceKind.MANIFEST ? match.digest : ''}`
    const known = best.get(key)
    if (known === undefined || match.rank < known.rank) best.set(key, match)
  }
  return [...best.values()]
}

function firstOfEach<T extends { readonly kind: ResourceKind }>(
  all: readonly T[],
  max: number,
): { readonly kept: readonly T[]; readonly cut: readonly ResourceKind[] } {
  const counts = new Map<ResourceKind, number>()
  const kept: T[] = []
  const cut = new Set<ResourceKind>()
  for (const one of all) {
    const count = (counts.get(one.kind) ?? 0) + 1
    counts.set(one.kind, count)
    if (count <= max) kept.push(one)
    else cut.add(one.kind)
  }
  return { kept, cut: [...cut] }
}
