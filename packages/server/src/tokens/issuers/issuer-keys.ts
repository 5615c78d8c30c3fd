import { LRUCache } from 'lru-cache'
import { limits } from '../../config/limits.ts'
import { type Outbound, OutboundError, type OutboundRequests } from '../../runtime/outbound/outbound.ts'
import { checkIssuer } from '../trust/issuer-url.ts'
import {
  type KeyLookup,
  type KeySource,
  pickKey,
  readJwks,
  usableKeys,
  type VerificationKey,
} from '../trust/key-set.ts'
import { fetchMetadata } from './issuer-metadata.ts'

/** The published keys of issuers, fetched on demand and cached. */
export interface IssuerKeys {
  /**
   * The keys of an issuer by its exact name. They can be fetched from the issuer, so the caller must pass only issuers that an identity trusts
   * (R1). `share`: the organization of that identity, in whose share of outbound requests the keys are fetched; see Outbound.share.
   */
  keysFor(issuer: string, share: string): KeySource
}

/**
 * How long the last known keys of an unreachable issuer remain in use. Long enough to survive an outage of the issuer; short enough that a
 * withdrawn key does not stay trusted.
 */
const LAST_GOOD_KEYS_MS = 24 * 60 * 60 * 1000

/**
 * Pause after a failed fetch of an issuer without known keys.
 */
const FAILURE_BACKOFF_MS = 5000

/**
 * Longer URIs are rejected. The limit for issuers would be too small for real ones.
 */
const JWKS_URI_CHARS_MAX = 2048

type Failure = Extract<KeyLookup, { readonly kind: 'unavailable' | 'invalid' }>

interface Entry {
  keys: readonly VerificationKey[]
  /** When `keys` were fetched; undefined: never. */
  fetchedAt: number | undefined
  /** When the last fetch ended, successful or not. */
  triedAt: number
  /** Failure of the last fetch. */
  failure: Failure | undefined
  /** Number of fetches that ended. */
  fetches: number
  /** The running fetch, which concurrent lookups share. */
  running: Promise<void> | undefined
  /** Waiting fetches by share. Each waits in its own share, so that no organization waits for the issuers of another. */
  readonly waiting: Map<string, Promise<Failure | undefined>>
}

/**
 * Issuer keys by OpenID Connect discovery: `<issuer>/.well-known/openid-configuration` must name exactly this issuer, and the keys are at its
 * `jwks_uri`. They are cached for `issuerKeysMaxAgeMs`; an unknown key id triggers a new fetch at most once per
 * `issuerKeysRefetchIntervalMs`. If that fails, the last good keys stay in use for at most a day. Without usable keys every lookup fails:
 * no token is accepted unverified (R15). `clock` is in ms.
 */
export function createIssuerKeys({
  outbound,
  clock,
}: {
  outbound: Pick<Outbound, 'share'>
  clock: () => number
}): IssuerKeys {
  const entries = new LRUCache<string, Entry>({ max: limits.issuersCachedMax })

  async function find(
    issuer: string,
    share: string,
    ...wanted: Parameters<KeySource['find']>
  ): Promise<KeyLookup> {
    // Only valid issuers are cached.
    if (!entries.has(issuer) && checkIssuer(issuer) !== undefined)
      return { kind: 'invalid', reason: 'the issuer is not a valid issuer URL' }
    const entry = entryOf(issuer)
    const queueFailure = isFresh(entry) ? undefined : await refresh(issuer, entry, share)
    const known = pickKey(usable(entry), ...wanted)
    if (known !== undefined) return { kind: 'found', key: known }

    // The issuer may have started to use a new key.
    const retryFailure = queueFailure ?? (await refresh(issuer, entry, share))
    const fresh = pickKey(usable(entry), ...wanted)
    if (fresh !== undefined) return { kind: 'found', key: fresh }
    // After a failed fetch it is unknown whether the issuer has such a key.
    return retryFailure ?? entry.failure ?? { kind: 'unknown' }
  }

  function entryOf(issuer: string): Entry {
    let entry = entries.get(issuer)
    if (entry === undefined) {
      entry = {
        keys: [],
        fetchedAt: undefined,
        triedAt: -Infinity,
        failure: undefined,
        fetches: 0,
        running: undefined,
        waiting: new Map(),
      }
      entries.set(issuer, entry)
    }
    return entry
  }

  function isFresh({ fetchedAt }: Entry): boolean {
    return fetchedAt !== undefined && clock() - fetchedAt < limits.issuerKeysMaxAgeMs
  }

  function usable({ keys, fetchedAt }: Entry): readonly VerificationKey[] {
    return fetchedAt !== undefined && clock() - fetchedAt < LAST_GOOD_KEYS_MS ? keys : []
  }

  function mayFetch(entry: Entry): boolean {
    const pauseMs = usable(entry).length > 0 ? limits.issuerKeysRefetchIntervalMs : FAILURE_BACKOFF_MS
    return clock() - entry.triedAt >= pauseMs
  }

  /** Fetches the keys unless the last fetch was recent. Resolves to a failure if the share got no permit. */
  async function refresh(issuer: string, entry: Entry, share: string): Promise<Failure | undefined> {
    if (entry.running !== undefined) return void (await entry.running)
    let fetching = entry.waiting.get(share)
    if (fetching === undefined) {
      if (!mayFetch(entry)) return undefined
      fetching = fetchWithPermit(issuer, entry, share).finally(() => entry.waiting.delete(share))
      entry.waiting.set(share, fetching)
    }
    return fetching
  }

  async function fetchWithPermit(issuer: string, entry: Entry, share: string): Promise<Failure | undefined> {
    const { fetches } = entry
    try {
      await outbound.share(share).batch(async (requests) => {
        // Another share may have been faster.
        if (entry.fetches !== fetches) return
        entry.running ??= fetchInto(requests, issuer, entry).finally(() => {
          entry.running = undefined
        })
        await entry.running
      })
      return undefined
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      // A failure of the share, not of the issuer: other shares can still fetch.
      return unavailable('too many issuers of this organization do not respond')
    }
  }

  async function fetchInto(
    requests: Pick<OutboundRequests, 'getJson'>,
    issuer: string,
    entry: Entry,
  ): Promise<void> {
    const fetched = await fetchKeys(requests, issuer)
    entry.triedAt = clock()
    entry.fetches++
    if ('kind' in fetched) {
      entry.failure = fetched
      return
    }
    entry.keys = fetched.keys
    entry.fetchedAt = clock()
    entry.failure = undefined
  }

  return {
    keysFor: (issuer, share) => ({ find: (alg, kid) => find(issuer, share, alg, kid) }),
  }
}

async function fetchKeys(
  outbound: Pick<OutboundRequests, 'getJson'>,
  issuer: string,
): Promise<{ keys: readonly VerificationKey[] } | Failure> {
  try {
    const metadata = await fetchMetadata(outbound, issuer)
    const jwksUri = jwksUriOf(metadata, issuer)
    if (typeof jwksUri !== 'string') return jwksUri
    const jwks = readJwks(await outbound.getJson(jwksUri))
    if ('error' in jwks) return unavailable('the key set of the issuer is invalid')
    const keys = usableKeys(jwks)
    return keys.length === 0 ? unavailable('the issuer publishes no usable key') : { keys }
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    if (error.kind === 'refused')
      return invalid('the keys of the issuer cannot be fetched: its address is not allowed')
    return unavailable('the keys of the issuer could not be fetched')
  }
}

function jwksUriOf(metadata: unknown, issuer: string): string | Failure {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    return unavailable('the metadata of the issuer is invalid')
  const { issuer: named, jwks_uri: jwksUri } = metadata as { issuer?: unknown; jwks_uri?: unknown }
  // OpenID Connect Discovery section 4.3: must be identical, or one host could act as another issuer.
  if (named !== issuer) return invalid('the metadata of the issuer names another issuer')
  if (typeof jwksUri !== 'string' || jwksUri.length > JWKS_URI_CHARS_MAX) {
    return unavailable('the metadata of the issuer names no key set')
  }
  if (issuer.startsWith('https:') && !/^https:/i.test(jwksUri))
    return invalid('the key set of the issuer is not on https')
  return jwksUri
}

function unavailable(reason: string): Failure {
  return { kind: 'unavailable', reason }
}

function invalid(reason: string): Failure {
  return { kind: 'invalid', reason }
}
