import { TagsService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import type { Uid } from '../../api/uid.ts'
import type { AuditRecorder } from '../../audit/recorder.ts'
import type { Addresses } from '../../config/addresses.ts'
import { RestCall } from '../../gateway/rest/handler.ts'
import type { ReadGrants } from '../../iam/grants-reader.ts'
import { ANONYMOUS_IDENTITY } from '../../iam/identities/anonymous-uid.ts'
import { createAuthenticator } from '../../pipeline/authenticate.ts'
import type { RateLimits } from '../../pipeline/limits/rate-limits.ts'
import type { HttpHandler, HttpRequest } from '../../port/http.ts'
import type { Log } from '../../runtime/log.ts'
import type { Tracer } from '../../runtime/tracer.ts'
import type { DiskSpace } from '../../storage/disk-space.ts'
import type { Store } from '../../storage/store.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { AccessTokens } from '../../tokens/access-token.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { ManifestReader } from '../manifests/manifest-reader.ts'
import { mutatorOf, operationName } from './context.ts'
import { type OciOptions, ociHandler } from './handler.ts'
import { createUploadHashes } from './operations/upload-hashes.ts'
import { basicAccess, type TokenOptions, tokenHandler } from './token.ts'

/** The registry as the server sees it: which paths are its own, and what it shares with the API. */

export interface RegistryOptions extends Pick<Addresses, 'baseUrl' | 'registryHost'> {
  readonly store: Store
  readonly blobs: BlobStore
  readonly disk: DiskSpace
  readonly manifests: ManifestReader
  readonly tokens: AccessTokens
  readonly readGrants: ReadGrants
  /** The addresses of the token service: a token for it may be exchanged for one of the registry. */
  readonly issuerForms: readonly string[]
  readonly exchange: TokenOptions['exchange']
  readonly audit: Pick<AuditRecorder, 'recordDenial'>
  readonly limits: RateLimits | undefined
  readonly metrics: Pick<Metrics, 'recordCall'>
  readonly tracer: Tracer | undefined
  readonly log: Log
}

const TOKEN_PATH = '/token'

/** The handler of a path; undefined where it is not the registry's. */
export function registryHandlers(options: RegistryOptions): (path: string) => HttpHandler | undefined {
  const { store, blobs, disk, manifests, tokens, readGrants, baseUrl, registryHost, limits, metrics, log } =
    options
  const token: TokenOptions = {
    ...store,
    tokens,
    readGrants,
    service: registryHost,
    audiences: [...new Set([registryHost, baseUrl, ...options.issuerForms])],
    exchange: options.exchange,
    admit: (request) => admit(request, true, undefined),
    log,
  }
  /** Counted with the calls that the API has for the same. */
  function admit(request: HttpRequest, reads: boolean, identity: string | undefined) {
    const method = reads ? TagsService.method.listTags : TagsService.method.createTag
    const incoming = new RestCall(request)
    return identity === undefined
      ? limits?.countByAddress(method, incoming)
      : limits?.countByIdentity(method, incoming, identity)
  }
  const oci: OciOptions = {
    registry: { store, blobs, disk, manifests, hashes: createUploadHashes() },
    authenticate: createAuthenticator(
      { verify: tokens.verifyRegistryToken, isKeyPublished: tokens.isKeyPublished, clock: store.clock },
      registryHost,
    ),
    readGrants,
    tokenUrl: `${new URL(baseUrl).protocol}//${registryHost}${TOKEN_PATH}`,
    service: registryHost,
    basicAccess: (request) => basicAccess(token, request),
    admit,
    onDenied(request, access, operation, { code, message, auditUid: about }) {
      const { identity } = access.caller
      if (identity === ANONYMOUS_IDENTITY) return
      const { method, requestId, address } = mutatorOf(
        { request, access, authorizedMs: performance.now() },
        operation,
      )
      const event = { timeMs: store.clock(), actor: identity, method, requestId, address }
      options.audit.recordDenial({ ...event, uid: (about || identity) as Uid }, { code, reason: message })
    },
    observe: (operation, code, ms) => metrics.recordCall(operationName(operation), 'rest', code, ms),
    tracer: options.tracer,
    log,
  }
  const distribution = ociHandler(oci)
  const tokenEndpoint = tokenHandler(token)
  return (path) => {
    if (path === TOKEN_PATH) return tokenEndpoint
    return path === '/v2' || path.startsWith('/v2/') ? distribution : undefined
  }
}
