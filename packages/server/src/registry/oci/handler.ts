import { type CapabilitySet, noCapabilities } from '@berth/contract/capabilities.ts'
import { retryAfter } from '../../api/error-body.ts'
import type { ApiError } from '../../api/errors.ts'
import { toApiError } from '../../api/storage-faults.ts'
import { type Authorization, authorizeVisible } from '../../pipeline/authorization.ts'
import type { Caller } from '../../pipeline/call.ts'
import type { Operation } from '../../pipeline/operation.ts'
import type { Pipeline } from '../../pipeline/pipeline.ts'
import { runToCompletion } from '../../pipeline/request/request-context.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../../port/http.ts'
import { RestCall } from '../../port/rest-call.ts'
import { whenReady } from '../../runtime/when-ready.ts'
import {
  type Action,
  authorizeRepo,
  operationCapabilities,
  type RepoAuthorization,
  tokenAllowsCatalog,
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
import { parseRepoName, type RepoReference, resolveRepo } from './repo-names.ts'
import { parseRoute, type RepoRoute, routeTemplates } from './routes.ts'

/** The distribution protocol, below /v2/: the adapter between it and the request pipeline. */

export interface OciOptions {
  readonly registry: OciServices
  readonly pipeline: Pick<Pipeline, 'run' | 'reject'>
  /** Returns the caller of a bearer token or of Basic credentials, or the anonymous one. Throws code 16. */
  readonly authenticate: (request: HttpRequest) => Caller | Promise<Caller>
  /** For the challenge: where clients get tokens, and for which service. */
  readonly tokenUrl: string
  readonly service: string
  readonly log: { error(fields: object, message: string): void }
}

interface RepoOperation {
  readonly name: string
  readonly capabilities: CapabilitySet
  readonly action: Action
  /** Received bytes of an upload are stored even if the client disconnects. */
  readonly runsToEnd?: true
  run(registry: OciServices, context: OciContext): Promise<HttpReply>
}

/** The operations of a path by HTTP method, with the capabilities that they require. */
function operationsOf(route: RepoRoute): Record<string, RepoOperation> {
  const pull = (name: string, capabilities: CapabilitySet, run: RepoOperation['run']): RepoOperation => ({
    name,
    capabilities,
    action: 'pull',
    run,
  })
  const push = (name: string, run: RepoOperation['run']): RepoOperation => ({
    name,
    capabilities: operationCapabilities.push,
    action: 'push',
    run,
  })
  const upload = (name: string, run: RepoOperation['run']): RepoOperation => ({
    ...push(name, run),
    runsToEnd: true,
  })
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
    const call = new OciCall(request)
    let reply: HttpReply
    try {
      const serve = routeOrReject(options, call)
      reply = await serve()
    } catch (failure) {
      reply = errorReply(options, call, toApiError(failure, request.id, options.log))
    }
    return { ...reply, headers: { ...commonHeaders, ...reply.headers } }
  }
}

/** A request of the protocol, and what its error response needs. */
class OciCall extends RestCall {
  readonly request: HttpRequest
  readonly startMs = performance.now()
  /** Until its path is parsed, the request is of no operation. */
  operation: Operation = unknownOperation
  /** What a token for the request would have to be for. */
  tokenScope: string | undefined = undefined
  isAuthenticated = false
  /** Methods of the path, if the request has another one. */
  allowed: readonly string[] | undefined = undefined

  constructor(request: HttpRequest) {
    super(request)
    this.request = request
  }
}

const unknownOperation: Operation = {
  name: operationName('Unknown'),
  limitClass: undefined,
  access: undefined,
}

/** Runs an operation in the pipeline. */
type Serve = () => Promise<HttpReply>

/** Finds the operation of a request from its method and path. */
function routeOrReject(options: OciOptions, call: OciCall): Serve {
  try {
    return route(options, call)
  } catch (failure) {
    return options.pipeline.reject(call.operation, call, failure, call.startMs)
  }
}

function route(options: OciOptions, call: OciCall): Serve {
  const { request } = call
  // PostgreSQL stores no such character, so no name has it.
  if (request.url.includes('%00')) throw ociError('NAME_INVALID', 'a name cannot contain a zero character')
  const [path = '', search = ''] = request.url.split('?', 2)
  const parsed = parseRoute(path)
  const query = new URLSearchParams(search)
  if (request.record !== undefined) request.record.route = routeTemplates[parsed.kind]
  return 'name' in parsed
    ? routeRepo(options, call, parsed, query)
    : routeRegistry(options, call, parsed.kind, query)
}

function routeRepo(options: OciOptions, call: OciCall, parsed: RepoRoute, query: URLSearchParams): Serve {
  const { registry } = options
  const { request, startMs: authorizedMs } = call
  const name = parseRepoName(parsed.name)
  const operations = operationsOf(parsed)
  const repoOperation = operations[request.method]
  if (repoOperation === undefined) throw methodNotAllowed(call, Object.keys(operations))
  const { action, capabilities, runsToEnd } = repoOperation
  const operation = setOperation(call, {
    name: operationName(repoOperation.name),
    limitClass: action === 'pull' ? 'read' : 'write',
    access: {
      decidedBy: 'grants',
      authenticate: () => options.authenticate(request),
      authorize(caller, grants): RepoAuthorization | Promise<RepoAuthorization> {
        call.isAuthenticated = true
        const authorized = (repository: RepoReference) =>
          authorizeRepo({ caller, grants }, repository, capabilities, action)
        return whenReady(resolveRepo(registry.store.db, name), authorized)
      },
    },
  })
  const { from } = parsed.kind === 'uploads' ? uploadParameters(query) : {}
  call.tokenScope = `repository:${name.text}:${scopeActions[action]}`
  if (from !== undefined) call.tokenScope += ` repository:${parseRepoName(from).text}:pull`
  const run = (authorization: RepoAuthorization) =>
    repoOperation.run(registry, { request, query, authorization, authorizedMs })
  return () =>
    options.pipeline.run(
      operation,
      call,
      runsToEnd ? (authorization) => runToCompletion(() => run(authorization)) : run,
    )
}

/** Requests that name no repository. */
function routeRegistry(
  options: OciOptions,
  call: OciCall,
  kind: 'base' | 'catalog',
  query: URLSearchParams,
): Serve {
  const { request, startMs: authorizedMs } = call
  if (request.method !== 'GET') throw methodNotAllowed(call, ['GET'])
  const isCatalog = kind === 'catalog'
  const operation = setOperation(call, {
    name: operationName(isCatalog ? 'ListCatalog' : 'CheckVersion'),
    limitClass: 'read',
    access: {
      decidedBy: 'grants',
      authenticate: () => options.authenticate(request),
      authorize(caller, grants) {
        call.isAuthenticated = true
        // Clients learn here how to sign in, so every caller needs a token, an anonymous one too.
        if (request.headers.authorization === undefined) throw ociError('UNAUTHORIZED', 'a token is required')
        if (isCatalog && !tokenAllowsCatalog(caller))
          throw ociError('UNAUTHORIZED', 'the token is not for the catalog; request one that is')
        return authorizeVisible(caller, grants, isCatalog ? operationCapabilities.listRepos : noCapabilities)
      },
    },
  })
  if (!isCatalog) return () => options.pipeline.run(operation, call, async () => versionReply)
  call.tokenScope = 'registry:catalog:*'
  return () =>
    options.pipeline.run(operation, call, (authorization) =>
      listCatalog(options.registry, { request, query, authorization, authorizedMs }),
    )
}

const versionReply: HttpReply = { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' }

function setOperation<A extends Authorization>(call: OciCall, operation: Operation<A>): Operation<A> {
  call.operation = operation
  if (call.record !== undefined) call.record.method = operation.name
  return operation
}

/** As clients request them: a client that pushes also reads. */
const scopeActions: Readonly<Record<Action, string>> = {
  pull: 'pull',
  push: 'pull,push',
  delete: 'delete',
}

function methodNotAllowed(call: OciCall, methods: readonly string[]): ApiError {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  call.allowed = allowed
  return ociError('UNSUPPORTED', `this path supports ${allowed.join(', ')}`)
}

function errorReply(options: OciOptions, call: OciCall, error: ApiError): HttpReply {
  const status = ociStatus(error)
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...retryAfter(error),
  }
  if (status === 401) headers['www-authenticate'] = challenge(options, call)
  // RFC 9110, section 15.5.6.
  if (call.allowed !== undefined) headers['allow'] = call.allowed.join(', ')
  return { status, headers, body: ociErrorBody(error) }
}

/** Exactly one challenge, by Docker's token specification; RFC 6750 section 3 names an error only if the request has a token. */
function challenge(
  { tokenUrl, service }: OciOptions,
  { authorizationHeader, tokenScope, isAuthenticated }: OciCall,
): string {
  const parts = [`realm="${tokenUrl}"`, `service="${service}"`]
  if (tokenScope !== undefined) parts.push(`scope="${tokenScope}"`)
  if (authorizationHeader !== undefined)
    parts.push(`error="${isAuthenticated ? 'insufficient_scope' : 'invalid_token'}"`)
  return `Bearer ${parts.join(',')}`
}
