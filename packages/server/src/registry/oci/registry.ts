import type { Addresses } from '../../config/addresses.ts'
import { createAuthenticator } from '../../pipeline/authenticate.ts'
import type { Pipeline } from '../../pipeline/pipeline.ts'
import type { HttpHandler } from '../../port/http.ts'
import type { Log } from '../../runtime/log.ts'
import type { DiskSpace } from '../../storage/disk-space.ts'
import type { Store } from '../../storage/store.ts'
import type { AccessTokens } from '../../tokens/access-token.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { ManifestReader } from '../manifests/manifest-reader.ts'
import type { TransferCounter } from '../usage/transfer-counter.ts'
import { authenticateBearer } from './access.ts'
import { ociHandler } from './handler.ts'
import { createUploadHashes } from './operations/upload-hashes.ts'
import type { PullPolicies } from './pull-policies.ts'
import { authenticateBasic, type TokenOptions, tokenHandler } from './token.ts'

/** The registry in the server: its paths, and what it shares with the API. */

export interface RegistryOptions extends Pick<Addresses, 'baseUrl' | 'registryHost'> {
  readonly pipeline: Pipeline
  readonly store: Store
  readonly blobs: BlobStore
  readonly disk: DiskSpace
  readonly manifests: ManifestReader
  readonly transfers: TransferCounter
  readonly pullPolicies: PullPolicies
  readonly tokens: AccessTokens
  /** The addresses of the token service: a token for it can be exchanged for one of the registry. */
  readonly issuerForms: readonly string[]
  readonly exchange: TokenOptions['exchange']
  readonly log: Log
}

const TOKEN_PATH = '/token'

/** Returns the handler of a path; undefined if it is not a path of the registry. */
export function registryHandlers(options: RegistryOptions): (path: string) => HttpHandler | undefined {
  const {
    pipeline,
    store,
    blobs,
    disk,
    manifests,
    transfers,
    pullPolicies,
    tokens,
    baseUrl,
    registryHost,
    log,
  } = options
  const token: TokenOptions = {
    ...store,
    pipeline,
    tokens,
    service: registryHost,
    audiences: [...new Set([registryHost, baseUrl, ...options.issuerForms])],
    exchange: options.exchange,
    log,
  }
  const verifyBearer = createAuthenticator(
    { verify: tokens.verifyRegistryToken, isKeyPublished: tokens.isKeyPublished, clock: store.clock },
    [registryHost, baseUrl],
  )
  const distribution = ociHandler({
    registry: { store, blobs, disk, manifests, transfers, pullPolicies, hashes: createUploadHashes() },
    pipeline,
    authenticate(request) {
      const { authorization } = request.headers
      return /^basic /i.test(authorization ?? '')
        ? authenticateBasic(token, request)
        : authenticateBearer(verifyBearer, authorization)
    },
    tokenUrl: `${new URL(baseUrl).protocol}//${registryHost}${TOKEN_PATH}`,
    service: registryHost,
    log,
  })
  const tokenEndpoint = tokenHandler(token)
  return (path) => {
    if (path === TOKEN_PATH) return tokenEndpoint
    return path === '/v2' || path.startsWith('/v2/') ? distribution : undefined
  }
}
