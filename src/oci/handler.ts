import { ANONYMOUS } from '../core/anonymous.ts'
import { type ApiError, Code, isAudited } from '../core/errors.ts'
import { runToEnd, useShareOf } from '../core/request-context.ts'
import { toApiError } from '../core/storage-faults.ts'
import type { Tracer } from '../core/tracer.ts'
import { retryAfter } from '../gateway/error-body.ts'
import type { HttpHandler, HttpReply, HttpRequest } from '../http.ts'
import { type Action, needs, requireAt, type Visiting, type Visitor, visitorOf } from './access.ts'
import { deleteBlob, getBlob, mountBlob, parametersOf } from './blobs.ts'
import { listCatalog } from './catalog.ts'
import { ociError, ociErrorBody, ociStatus } from './errors.ts'
import { putManifest } from './manifest-push.ts'
import { deleteManifest, getManifest } from './manifests.ts'
import { findPlace, readName, scopeOf } from './names.ts'
import { listReferrers } from './referrers.ts'
import { type RepoRoute, readRoute, routeTemplates } from './routes.ts'
import { listTags } from './tags.ts'
import { beginUpload, cancelUpload, continueUpload, finishUpload, uploadStatus } from './uploads.ts'
import { operationName, type Registry, type Visit } from './visit.ts'

/** The distribution protocol, below /v2/: who asks is known and allowed before anything is told or read. */

export interface OciOptions extends Visiting {
  readonly registry: Registry
  /** The one challenge: where tokens are had, and for whom. */
  readonly tokenUrl: string
  readonly service: string
  /** A visitor with Basic credentials, which some clients send without having been asked for a token. */
  readonly basicVisitor: (request: HttpRequest) => Promise<Visitor>
  /** Counts a request; rejects with code 8. */
  readonly admit: (
    request: HttpRequest,
    reads: boolean,
    identity: string | undefined,
  ) => Promise<void> | undefined
  /** Told of what a known caller was denied. */
  readonly denied: (request: HttpRequest, visitor: Visitor, operation: string, error: ApiError) => void
  /** Told of each request that was answered. */
  readonly observe: (operation: string, code: Code, ms: number) => void
  readonly tracer: Tracer | undefined
  readonly log: { error(fields: object, message: string): void }
}

interface Operation {
  readonly name: string
  readonly needed: (typeof needs)[keyof typeof needs]
  readonly action: Action
  /** The bytes of an upload that have arrived are kept even if the client goes away. */
  readonly runsToEnd?: true
  run(registry: Registry, visit: Visit): Promise<HttpReply>
}

/** The table of who needs what for which method. */
function operationsOf(route: RepoRoute): Record<string, Operation> {
  const pull = (name: string, needed: Operation['needed'], run: Operation['run']): Operation => ({
    name,
    needed,
    action: 'pull',
    run,
  })
  const push = (name: string, run: Operation['run']): Operation => ({
    name,
    needed: needs.push,
    action: 'push',
    run,
  })
  const upload = (name: string, run: Operation['run']): Operation => ({ ...push(name, run), runsToEnd: true })
  switch (route.kind) {
    case 'tags':
      return { GET: pull('ListTags', needs.listTags, listTags) }
    case 'referrers':
      return {
        GET: pull('ListReferrers', needs.listReferrers, (registry, visit) =>
          listReferrers(registry, visit, route.reference),
        ),
      }
    case 'uploads':
      return { POST: upload('BeginUpload', beginOrMount) }
    case 'upload': {
      const { reference: id } = route
      return {
        GET: push('GetUpload', (registry, visit) => uploadStatus(registry, visit, id)),
        PATCH: upload('ContinueUpload', (registry, visit) => continueUpload(registry, visit, id)),
        PUT: upload('FinishUpload', (registry, visit) => finishUpload(registry, visit, id)),
        DELETE: upload('CancelUpload', (registry, visit) => cancelUpload(registry, visit, id)),
      }
    }
    case 'blob': {
      const { reference } = route
      return {
        GET: pull('GetBlob', needs.pullBlob, (registry, visit) => getBlob(registry, visit, reference)),
        DELETE: {
          name: 'DeleteBlob',
          needed: needs.deleteManifest,
          action: 'delete',
          run: (registry, visit) => deleteBlob(registry, visit, reference),
        },
      }
    }
    case 'manifest': {
      const { reference } = route
      const isTag = !reference.includes(':')
      return {
        GET: pull('GetManifest', needs.pullManifest, (registry, visit) =>
          getManifest(registry, visit, reference),
        ),
        PUT: push('PutManifest', (registry, visit) => putManifest(registry, visit, reference)),
        DELETE: {
          name: isTag ? 'DeleteTag' : 'DeleteManifest',
          needed: isTag ? needs.deleteTag : needs.deleteManifest,
          action: 'delete',
          run: (registry, visit) => deleteManifest(registry, visit, reference),
        },
      }
    }
    default:
      return route satisfies never
  }
}

async function beginOrMount(registry: Registry, visit: Visit): Promise<HttpReply> {
  const mounted = visit.query.has('mount') ? await mountBlob(registry, visit) : undefined
  return mounted ?? beginUpload(registry, visit)
}

const commonHeaders = {
  'docker-distribution-api-version': 'registry/2.0',
  'x-content-type-options': 'nosniff',
}

export function ociHandler(options: OciOptions): HttpHandler {
  return async (request) => {
    const startMs = performance.now()
    const seen: Seen = { operation: 'Unknown', reads: true, scope: undefined, visitor: undefined }
    let code: Code = Code.OK
    let reply: HttpReply
    try {
      reply = await answer(options, request, seen)
    } catch (failure) {
      const error = toApiError(failure, request.id, options.log)
      code = error.code
      if (isAudited(error) && seen.visitor !== undefined)
        options.denied(request, seen.visitor, seen.operation, error)
      reply = errorReply(options, request, seen, error)
    }
    if (request.record !== undefined) request.record.code = code
    options.observe(seen.operation, code, performance.now() - startMs)
    return { ...reply, headers: { ...commonHeaders, ...reply.headers } }
  }
}

/** What is known of a request when it fails. */
interface Seen {
  operation: string
  /** Whether it counts as a read. */
  reads: boolean
  /** What a token for it would have to be for. */
  scope: string | undefined
  visitor: Visitor | undefined
  /** Methods of the path, where it was asked with another one. */
  allowed?: readonly string[]
}

async function answer(options: OciOptions, request: HttpRequest, seen: Seen): Promise<HttpReply> {
  const { registry } = options
  // PostgreSQL stores no such character, so nothing has it in its name.
  if (request.url.includes('%00'))
    throw ociError('NAME_INVALID', 'nothing here has a zero character in its name')
  const [path = '', search = ''] = request.url.split('?', 2)
  const route = readRoute(path)
  const query = new URLSearchParams(search)
  if (request.record !== undefined) request.record.route = routeTemplates[route.kind]
  if (!('name' in route)) return answerAtAll(options, request, seen, query, route.kind)
  const name = readName(route.name)
  const operations = operationsOf(route)
  const operation = operations[request.method]
  if (operation === undefined) throw wrongMethod(seen, Object.keys(operations))
  nameOperation(request, seen, operation.name)
  const { from } = route.kind === 'uploads' ? parametersOf(query) : {}
  seen.scope = `repository:${name.text}:${scopeActions[operation.action]}`
  if (from !== undefined) seen.scope += ` repository:${readName(from).text}:pull`
  seen.reads = operation.action === 'pull'
  await options.admit(request, seen.reads, undefined)
  const judgedMs = performance.now()
  const visitor = await visitorFrom(options, request, seen)
  const place = await findPlace(registry.store.db, name)
  requireAt(visitor, place, operation.needed, operation.action)
  useShareOf(scopeOf(place))
  const visit: Visit = { request, query, visitor, judgedMs, place }
  return operation.runsToEnd ? runToEnd(() => operation.run(registry, visit)) : operation.run(registry, visit)
}

function nameOperation(request: HttpRequest, seen: Seen, operation: string): void {
  seen.operation = operation
  if (request.record !== undefined) request.record.method = operationName(operation)
}

/** What no repo is asked for. */
async function answerAtAll(
  options: OciOptions,
  request: HttpRequest,
  seen: Seen,
  query: URLSearchParams,
  kind: 'base' | 'catalog',
): Promise<HttpReply> {
  if (request.method !== 'GET') throw wrongMethod(seen, ['GET'])
  nameOperation(request, seen, kind === 'base' ? 'CheckVersion' : 'ListCatalog')
  if (kind === 'catalog') seen.scope = 'registry:catalog:*'
  await options.admit(request, seen.reads, undefined)
  const judgedMs = performance.now()
  const visitor = await visitorFrom(options, request, seen)
  // This is where clients learn how to sign in, so nobody gets by without a token, not even one for everybody.
  if (request.headers.authorization === undefined) throw ociError('UNAUTHORIZED', 'a token is needed')
  if (kind === 'catalog') return listCatalog(options.registry, { request, query, visitor, judgedMs })
  return { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' }
}

/** As clients ask for them: who pushes also looks what is there. */
const scopeActions: Readonly<Record<Action, string>> = {
  pull: 'pull',
  push: 'pull,push',
  delete: 'delete',
}

async function visitorFrom(options: OciOptions, request: HttpRequest, seen: Seen): Promise<Visitor> {
  const { authorization } = request.headers
  const isBasic = /^basic /i.test(authorization ?? '')
  const identify = () => (isBasic ? options.basicVisitor(request) : visitorOf(options, authorization))
  const visitor = await (options.tracer?.span('authorize', {}, identify) ?? identify())
  seen.visitor = visitor
  const { identity } = visitor.caller
  if (request.record !== undefined) request.record.identity = identity
  if (identity !== ANONYMOUS) await options.admit(request, seen.reads, identity)
  return visitor
}

function wrongMethod(seen: Seen, methods: readonly string[]): ApiError {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  seen.allowed = allowed
  return ociError('UNSUPPORTED', `this path answers ${allowed.join(', ')}`)
}

function errorReply(options: OciOptions, request: HttpRequest, seen: Seen, error: ApiError): HttpReply {
  const status = ociStatus(error)
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    ...retryAfter(error),
  }
  if (status === 401) headers['www-authenticate'] = challenge(options, request, seen)
  // RFC 9110, section 15.5.6.
  if (seen.allowed !== undefined) headers['allow'] = seen.allowed.join(', ')
  return { status, headers, body: ociErrorBody(error) }
}

/** Exactly one, of Docker's token specification; RFC 6750 section 3 names the error only where a token was shown. */
function challenge(
  { tokenUrl, service }: OciOptions,
  request: HttpRequest,
  { scope, visitor }: Seen,
): string {
  const parts = [`realm="${tokenUrl}"`, `service="${service}"`]
  if (scope !== undefined) parts.push(`scope="${scope}"`)
  if (request.headers.authorization !== undefined)
    parts.push(`error="${visitor === undefined ? 'invalid_token' : 'insufficient_scope'}"`)
  return `Bearer ${parts.join(',')}`
}
