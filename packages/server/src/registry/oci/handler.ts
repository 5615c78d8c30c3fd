import { retryAfter } from '../../api/error-body.ts'
import { type ApiError, Code, isAudited } from '../../api/errors.ts'
import { toApiError } from '../../api/storage-faults.ts'
import { ANONYMOUS_IDENTITY } from '../../iam/identities/anonymous-uid.ts'
import { assignShare, runToCompletion } from '../../pipeline/request-context.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../../port/http.ts'
import type { Tracer } from '../../runtime/tracer.ts'
import {
  type AccessOptions,
  type Action,
  authenticateAccess,
  type OciAccess,
  operationCapabilities,
  requireRepoAccess,
} from './access.ts'
import { type OciContext, type OciServices, operationName } from './context.ts'
import { ociError, ociErrorBody, ociStatus } from './errors.ts'
import { deleteBlob, getBlob, mountBlob, uploadParameters } from './operations/blobs.ts'
import { listCatalog } from './operations/catalog.ts'
import { putManifest } from './operations/manifest-push.ts'
import { deleteManifest, getManifest } from './operations/manifests.ts'
import { listReferrers } from './operations/referrers.ts'
import { listTags } from './operations/tags.ts'
import {
  cancelUpload,
  continueUpload,
  finishUpload,
  startUpload,
  uploadStatus,
} from './operations/uploads.ts'
import { parseRepoName, resolveRepo, scopeOf } from './repo-names.ts'
import { parseRoute, type RepoRoute, routeTemplates } from './routes.ts'

/** The distribution protocol, below /v2/: who asks is known and allowed before anything is told or read. */

export interface OciOptions extends AccessOptions {
  readonly registry: OciServices
  /** The one challenge: where tokens are had, and for whom. */
  readonly tokenUrl: string
  readonly service: string
  /** A visitor with Basic credentials, which some clients send without having been asked for a token. */
  readonly basicAccess: (request: HttpRequest) => Promise<OciAccess>
  /** Counts a request; rejects with code 8. */
  readonly admit: (
    request: HttpRequest,
    reads: boolean,
    identity: string | undefined,
  ) => Promise<void> | undefined
  /** Told of what a known caller was denied. */
  readonly onDenied: (request: HttpRequest, visitor: OciAccess, operation: string, error: ApiError) => void
  /** Told of each request that was answered. */
  readonly observe: (operation: string, code: Code, ms: number) => void
  readonly tracer: Tracer | undefined
  readonly log: { error(fields: object, message: string): void }
}

interface Operation {
  readonly name: string
  readonly capabilities: (typeof operationCapabilities)[keyof typeof operationCapabilities]
  readonly action: Action
  /** The bytes of an upload that have arrived are kept even if the client goes away. */
  readonly runsToEnd?: true
  run(registry: OciServices, visit: OciContext): Promise<HttpReply>
}

/** The table of who needs what for which method. */
function operationsOf(route: RepoRoute): Record<string, Operation> {
  const pull = (name: string, capabilities: Operation['capabilities'], run: Operation['run']): Operation => ({
    name,
    capabilities,
    action: 'pull',
    run,
  })
  const push = (name: string, run: Operation['run']): Operation => ({
    name,
    capabilities: operationCapabilities.push,
    action: 'push',
    run,
  })
  const upload = (name: string, run: Operation['run']): Operation => ({ ...push(name, run), runsToEnd: true })
  switch (route.kind) {
    case 'tags':
      return { GET: pull('ListTags', operationCapabilities.listTags, listTags) }
    case 'referrers':
      return {
        GET: pull('ListReferrers', operationCapabilities.listReferrers, (registry, context) =>
          listReferrers(registry, context, route.reference),
        ),
      }
    case 'uploads':
      return { POST: upload('BeginUpload', startOrMountUpload) }
    case 'upload': {
      const { reference: id } = route
      return {
        GET: push('GetUpload', (registry, context) => uploadStatus(registry, context, id)),
        PATCH: upload('ContinueUpload', (registry, context) => continueUpload(registry, context, id)),
        PUT: upload('FinishUpload', (registry, context) => finishUpload(registry, context, id)),
        DELETE: upload('CancelUpload', (registry, context) => cancelUpload(registry, context, id)),
      }
    }
    case 'blob': {
      const { reference } = route
      return {
        GET: pull('GetBlob', operationCapabilities.pullBlob, (registry, context) =>
          getBlob(registry, context, reference),
        ),
        DELETE: {
          name: 'DeleteBlob',
          capabilities: operationCapabilities.deleteManifest,
          action: 'delete',
          run: (registry, context) => deleteBlob(registry, context, reference),
        },
      }
    }
    case 'manifest': {
      const { reference } = route
      const isTag = !reference.includes(':')
      return {
        GET: pull('GetManifest', operationCapabilities.pullManifest, (registry, context) =>
          getManifest(registry, context, reference),
        ),
        PUT: push('PutManifest', (registry, context) => putManifest(registry, context, reference)),
        DELETE: {
          name: isTag ? 'DeleteTag' : 'DeleteManifest',
          capabilities: isTag ? operationCapabilities.deleteTag : operationCapabilities.deleteManifest,
          action: 'delete',
          run: (registry, context) => deleteManifest(registry, context, reference),
        },
      }
    }
    default:
      return route satisfies never
  }
}

async function startOrMountUpload(registry: OciServices, context: OciContext): Promise<HttpReply> {
  const mounted = context.query.has('mount') ? await mountBlob(registry, context) : undefined
  return mounted ?? startUpload(registry, context)
}

const commonHeaders = {
  'docker-distribution-api-version': 'registry/2.0',
  'x-content-type-options': 'nosniff',
}

export function ociHandler(options: OciOptions): HttpHandler {
  return async (request) => {
    const startMs = performance.now()
    const state: RequestState = { operation: 'Unknown', reads: true, scope: undefined, visitor: undefined }
    let code: Code = Code.OK
    let reply: HttpReply
    try {
      reply = await handleRequest(options, request, state)
    } catch (failure) {
      const error = toApiError(failure, request.id, options.log)
      code = error.code
      if (isAudited(error) && state.visitor !== undefined)
        options.onDenied(request, state.visitor, state.operation, error)
      reply = errorReply(options, request, state, error)
    }
    if (request.record !== undefined) request.record.code = code
    options.observe(state.operation, code, performance.now() - startMs)
    return { ...reply, headers: { ...commonHeaders, ...reply.headers } }
  }
}

/** What is known of a request when it fails. */
interface RequestState {
  operation: string
  /** Whether it counts as a read. */
  reads: boolean
  /** What a token for it would have to be for. */
  scope: string | undefined
  visitor: OciAccess | undefined
  /** Methods of the path, where it was asked with another one. */
  allowed?: readonly string[]
}

async function handleRequest(
  options: OciOptions,
  request: HttpRequest,
  state: RequestState,
): Promise<HttpReply> {
  const { registry } = options
  // PostgreSQL stores no such character, so nothing has it in its name.
  if (request.url.includes('%00'))
    throw ociError('NAME_INVALID', 'nothing here has a zero character in its name')
  const [path = '', search = ''] = request.url.split('?', 2)
  const route = parseRoute(path)
  const query = new URLSearchParams(search)
  if (request.record !== undefined) request.record.route = routeTemplates[route.kind]
  if (!('name' in route)) return handleRegistryRequest(options, request, state, query, route.kind)
  const name = parseRepoName(route.name)
  const operations = operationsOf(route)
  const operation = operations[request.method]
  if (operation === undefined) throw methodNotAllowed(state, Object.keys(operations))
  setOperation(request, state, operation.name)
  const { from } = route.kind === 'uploads' ? uploadParameters(query) : {}
  state.scope = `repository:${name.text}:${scopeActions[operation.action]}`
  if (from !== undefined) state.scope += ` repository:${parseRepoName(from).text}:pull`
  state.reads = operation.action === 'pull'
  await options.admit(request, state.reads, undefined)
  const authorizedMs = performance.now()
  const access = await authenticateRequest(options, request, state)
  const repoRef = await resolveRepo(registry.store.db, name)
  requireRepoAccess(access, repoRef, operation.capabilities, operation.action)
  assignShare(scopeOf(repoRef))
  const context: OciContext = { request, query, access, authorizedMs, repoRef }
  return operation.runsToEnd
    ? runToCompletion(() => operation.run(registry, context))
    : operation.run(registry, context)
}

function setOperation(request: HttpRequest, state: RequestState, operation: string): void {
  state.operation = operation
  if (request.record !== undefined) request.record.method = operationName(operation)
}

/** What no repo is asked for. */
async function handleRegistryRequest(
  options: OciOptions,
  request: HttpRequest,
  state: RequestState,
  query: URLSearchParams,
  kind: 'base' | 'catalog',
): Promise<HttpReply> {
  if (request.method !== 'GET') throw methodNotAllowed(state, ['GET'])
  setOperation(request, state, kind === 'base' ? 'CheckVersion' : 'ListCatalog')
  if (kind === 'catalog') state.scope = 'registry:catalog:*'
  await options.admit(request, state.reads, undefined)
  const authorizedMs = performance.now()
  const access = await authenticateRequest(options, request, state)
  // This is where clients learn how to sign in, so nobody gets by without a token, not even one for everybody.
  if (request.headers.authorization === undefined) throw ociError('UNAUTHORIZED', 'a token is needed')
  if (kind === 'catalog') return listCatalog(options.registry, { request, query, access, authorizedMs })
  return { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' }
}

/** As clients ask for them: who pushes also looks what is there. */
const scopeActions: Readonly<Record<Action, string>> = {
  pull: 'pull',
  push: 'pull,push',
  delete: 'delete',
}

async function authenticateRequest(
  options: OciOptions,
  request: HttpRequest,
  state: RequestState,
): Promise<OciAccess> {
  const { authorization } = request.headers
  const isBasic = /^basic /i.test(authorization ?? '')
  const identify = () => (isBasic ? options.basicAccess(request) : authenticateAccess(options, authorization))
  const access = await (options.tracer?.span('authorize', {}, identify) ?? identify())
  state.visitor = access
  const { identity } = access.caller
  if (request.record !== undefined) request.record.identity = identity
  if (identity !== ANONYMOUS_IDENTITY) await options.admit(request, state.reads, identity)
  return access
}

function methodNotAllowed(state: RequestState, methods: readonly string[]): ApiError {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  state.allowed = allowed
  return ociError('UNSUPPORTED', `this path answers ${allowed.join(', ')}`)
}

function errorReply(
  options: OciOptions,
  request: HttpRequest,
  state: RequestState,
  error: ApiError,
): HttpReply {
  const status = ociStatus(error)
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...retryAfter(error),
  }
  if (status === 401) headers['www-authenticate'] = challenge(options, request, state)
  // RFC 9110, section 15.5.6.
  if (state.allowed !== undefined) headers['allow'] = state.allowed.join(', ')
  return { status, headers, body: ociErrorBody(error) }
}

/** Exactly one, of Docker's token specification; RFC 6750 section 3 names the error only where a token was shown. */
function challenge(
  { tokenUrl, service }: OciOptions,
  request: HttpRequest,
  { scope, visitor: access }: RequestState,
): string {
  const parts = [`realm="${tokenUrl}"`, `service="${service}"`]
  if (scope !== undefined) parts.push(`scope="${scope}"`)
  if (request.headers.authorization !== undefined)
    parts.push(`error="${access === undefined ? 'invalid_token' : 'insufficient_scope'}"`)
  return `Bearer ${parts.join(',')}`
}
