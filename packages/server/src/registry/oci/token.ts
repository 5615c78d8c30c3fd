import { type CapabilitySet, intersect, noCapabilities, union } from '@berth/contract/capabilities.ts'
import { retryAfter } from '../../api/error-body.ts'
import { ApiError, Code, invalidArgument, unauthenticated } from '../../api/errors.ts'
import { parseFormFields } from '../../api/form-fields.ts'
import { toApiError } from '../../api/storage-faults.ts'
import { parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { ANONYMOUS_IDENTITY } from '../../iam/identities/anonymous-uid.ts'
import type { VerifyAccessToken } from '../../pipeline/authenticate.ts'
import type { Grants } from '../../pipeline/authorization.ts'
import type { Caller, RegistryScope } from '../../pipeline/call.ts'
import type { Operation } from '../../pipeline/operation.ts'
import type { Pipeline } from '../../pipeline/pipeline.ts'
import { assignShare } from '../../pipeline/request/request-context.ts'
import type { HttpHandler, HttpRequest } from '../../port/http.ts'
import { RestCall } from '../../port/rest-call.ts'
import type { Db } from '../../storage/db.ts'
import type { AccessTokens } from '../../tokens/access-token.ts'
import { requireUsableLength } from '../../tokens/exchange/token-request.ts'
import { type Action, anonymousCaller, operationCapabilities, tokenAllows } from './access.ts'
import { operationName } from './context.ts'
import { ociErrorBody, ociStatus } from './errors.ts'
import { parseRepoName, resolveRepo, scopeOf } from './repo-names.ts'

/**
 * The token endpoint (Docker's token specification and its OAuth form): exchanges credentials for a short-lived token for the
 * requested repositories, limited to the identity's permissions. Permissions are checked again whenever the token is used.
 */

export interface TokenOptions {
  readonly db: Db
  readonly clock: () => number
  readonly tokens: Pick<AccessTokens, 'issue' | 'verify'>
  readonly pipeline: Pick<Pipeline, 'start' | 'finish' | 'requireGrants'>
  /** The registry's host: the audience of tokens of this endpoint. */
  readonly service: string
  /** Accepted audiences of a token that is used as a password. */
  readonly audiences: readonly string[]
  /** Exchanges a token of another issuer, or a pull token, for one of ours. */
  readonly exchange: (token: string, identity: Uid, request: HttpRequest) => Promise<string>
  readonly log: { error(fields: object, message: string): void }
}

/** Verified credentials, and when they expire. */
interface Credentialed {
  readonly caller: Caller
  readonly expiresMs: number
}

/** The handler verifies the credentials, which may come in the form. */
const operation: Operation = {
  name: operationName('IssueToken'),
  limitClass: 'read',
  access: undefined,
}

/** User name for a password that is a token of this server. */
const TOKEN_USER = '_token'
const FORM = 'application/x-www-form-urlencoded'
const SECOND_MS = 1000

export function tokenHandler(options: TokenOptions): HttpHandler {
  return async (request) => {
    try {
      const call = await options.pipeline.start(operation, new RestCall(request))
      const token = await options.pipeline.finish(call, () => issueToken(options, request))
      return { status: 200, headers: jsonHeaders, body: JSON.stringify(token) }
    } catch (failure) {
      const error = toUnauthenticated(toApiError(failure, request.id, options.log))
      const status = ociStatus(error)
      const headers = {
        ...jsonHeaders,
        ...retryAfter(error),
        ...(status === 401 && { 'www-authenticate': `Basic realm="${options.service}"` }),
      }
      return { status, headers, body: ociErrorBody(error) }
    }
  }
}

const jsonHeaders = { 'content-type': 'application/json', 'cache-control': 'no-store', pragma: 'no-cache' }

/** Reports an identity that the token may not assume as a wrong password. */
function toUnauthenticated(error: ApiError): ApiError {
  return error.code === Code.PERMISSION_DENIED
    ? unauthenticated('invalid user name or password', error)
    : error
}

async function issueToken(options: TokenOptions, request: HttpRequest) {
  requireTokenRequest(request)
  // Credentials in the header are verified before the form is read, which may have others.
  const fromHeader = await authenticateHeader(options, request)
  const headerGrants = fromHeader && (await options.pipeline.requireGrants(fromHeader.caller))
  const parameters = await readParameters(request)
  const { caller, expiresMs } = fromHeader ?? (await authenticateForm(options, request, parameters))
  const grants = headerGrants ?? (await options.pipeline.requireGrants(caller))
  const requestedScopes = parseScopes(parameters)
  const registryScopes: RegistryScope[] = []
  for (const scope of requestedScopes) {
    const granted = await grantScope(options.db, caller, grants, scope)
    if (granted.actions.length > 0) registryScopes.push(granted)
  }
  const { scopes, capabilities, session, identity } = caller
  const issuedMs = Math.floor(options.clock() / SECOND_MS) * SECOND_MS
  const { token, expiresAtMs } = await options.tokens.issue({
    identity,
    audiences: [options.service],
    registryScopes,
    notAfterMs: expiresMs,
    ...(scopes && { scopes }),
    ...(capabilities !== undefined && { capabilities }),
    ...(session !== undefined && { session }),
  })
  requireUsableLength(token)
  return {
    token,
    access_token: token,
    token_type: 'Bearer',
    expires_in: Math.floor((expiresAtMs - issuedMs) / SECOND_MS),
    issued_at: new Date(issuedMs).toISOString().replace('.000', ''),
    ...(registryScopes.length > 0 && { scope: registryScopes.map(formatScope).join(' ') }),
  }
}

function formatScope({ type, name, actions }: RegistryScope): string {
  return `${type}:${name}:${actions.join(',')}`
}

/** Throws code 3 or 12 unless the request is a GET or a form. */
function requireTokenRequest({ method, headers }: HttpRequest): void {
  if (method === 'GET') return
  if (method !== 'POST')
    throw new ApiError(Code.UNIMPLEMENTED, 'the token endpoint supports GET and POST', { httpStatus: 405 })
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== FORM) throw invalidArgument('', `the content type must be ${FORM}`)
}

async function readParameters(request: HttpRequest): Promise<URLSearchParams> {
  if (request.method === 'GET') return new URLSearchParams(request.url.split('?', 2)[1] ?? '')
  const body = await request.body(limits.registryTokenBodyBytesMax)
  return parseFormFields(
    Buffer.from(body).toString('utf8'),
    limits.formFieldsMax + limits.registryTokenScopesMax,
  )
}

/** Returns undefined for a request without credentials in its header. */
async function authenticateHeader(
  options: TokenOptions,
  request: HttpRequest,
): Promise<Credentialed | undefined> {
  const { authorization } = request.headers
  if (authorization === undefined) return undefined
  const basic = parseBasic(authorization)
  if (basic === undefined) throw unauthenticated('the Authorization header must be: Basic <credentials>')
  return authenticateCredentials(options, basic, request)
}

/** Verifies the credentials of an OAuth form; without any, the caller is anonymous. */
function authenticateForm(
  options: TokenOptions,
  request: HttpRequest,
  parameters: URLSearchParams,
): Promise<Credentialed> {
  if (request.method === 'GET') return authenticateCredentials(options, undefined, request)
  switch (parameters.get('grant_type')) {
    case 'password': {
      const credentials = {
        user: parameters.get('username') ?? '',
        password: parameters.get('password') ?? '',
      }
      return authenticateCredentials(options, credentials, request)
    }
    // Credential helpers without a user name send a token of this server.
    case 'refresh_token':
      return authenticateCredentials(
        options,
        { user: TOKEN_USER, password: parameters.get('refresh_token') ?? '' },
        request,
      )
    case null:
      return authenticateCredentials(options, undefined, request)
    default:
      throw invalidArgument('grant_type', 'must be password or refresh_token')
  }
}

interface Credentials {
  readonly user: string
  readonly password: string
}

function parseBasic(authorization: string): Credentials | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization) ?? []
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) }
}

/** Verifies Basic credentials that a client sends to the registry itself. Throws code 16. */
export async function authenticateBasic(options: TokenOptions, request: HttpRequest): Promise<Caller> {
  const credentials = parseBasic(request.headers.authorization ?? '')
  if (credentials === undefined)
    throw unauthenticated('the Authorization header must have the form: Basic <credentials>')
  try {
    return (await authenticateCredentials(options, credentials, request)).caller
  } catch (error) {
    throw error instanceof ApiError ? toUnauthenticated(error) : error
  }
}

async function authenticateCredentials(
  { tokens, audiences, exchange }: TokenOptions,
  credentials: Credentials | undefined,
  request: HttpRequest,
): Promise<Credentialed> {
  if (credentials === undefined || (credentials.user === '' && credentials.password === ''))
    return { caller: anonymousCaller, expiresMs: Number.POSITIVE_INFINITY }
  const { user, password } = credentials
  const identity = parseUid(user)
  if (user !== TOKEN_USER && identity === undefined)
    throw unauthenticated(`the user name must be ${TOKEN_USER} or the uid of an identity`)
  const token = identity === undefined ? password : await exchange(password, identity, request)
  const verified = await verifyToken(tokens.verify, audiences, token)
  if (verified.caller.identity === ANONYMOUS_IDENTITY)
    return { ...verified, caller: { ...verified.caller, isAnonymous: true } }
  if (request.record !== undefined) request.record.identity = verified.caller.identity
  assignShare(verified.caller.identity)
  return verified
}

async function verifyToken(
  verify: VerifyAccessToken,
  audiences: readonly string[],
  token: string,
): Promise<Credentialed> {
  if (token.length > limits.bearerTokenCharsMax) throw unauthenticated('the token is too long')
  const result = await verify(token)
  if (result instanceof Error) throw result
  if (!result.audiences.some((audience) => audiences.includes(audience)))
    throw unauthenticated(`the token is for another audience; ask for one with the audience ${audiences[0]}`)
  return { caller: result.caller, expiresMs: result.expiresAtMs }
}

/** Parses `scope=repository:acme/nginx:pull,push`, which may be repeated or contain several scopes separated by spaces. */
function parseScopes(parameters: URLSearchParams): RegistryScope[] {
  const texts = parameters.getAll('scope').flatMap((text) => text.split(' ').filter((one) => one !== ''))
  if (texts.length > limits.registryTokenScopesMax)
    throw invalidArgument('scope', `must have at most ${limits.registryTokenScopesMax} scopes`)
  return texts.flatMap((text) => {
    const [, type, name, actions] = /^([a-z]+)(?:\([a-z0-9]+\))?:(.+):([a-z*,]*)$/.exec(text) ?? []
    if (type === undefined || name === undefined || actions === undefined) return []
    return [{ type, name, actions: [...new Set(actions.split(','))] }]
  })
}

/** A token includes an action if the caller holds any of these capabilities. */
const actionCapabilities: Readonly<Record<Action, CapabilitySet>> = {
  pull: union(
    operationCapabilities.pullBlob,
    operationCapabilities.pullManifest,
    operationCapabilities.listTags,
    operationCapabilities.listReferrers,
  ),
  push: operationCapabilities.push,
  delete: union(operationCapabilities.deleteManifest, operationCapabilities.deleteTag),
}

/** Returns the permitted part of a scope. The result does not depend on whether the repo exists (R30). */
async function grantScope(
  db: Db,
  caller: Caller,
  grants: Grants,
  { type, name, actions }: RegistryScope,
): Promise<RegistryScope> {
  const nothing = { type, name, actions: [] }
  if (type === 'registry') return name === 'catalog' ? { type, name, actions: ['*'] } : nothing
  if (type !== 'repository') return nothing
  const held = grants.at(await resolveScope(db, name))
  const granted = (Object.keys(actionCapabilities) as Action[]).filter(
    (action) =>
      (actions.includes(action) || actions.includes('*')) &&
      intersect(held, actionCapabilities[action]) !== noCapabilities &&
      tokenAllows(caller, name, action),
  )
  return { type, name, actions: granted }
}

async function resolveScope(db: Db, name: string): Promise<string> {
  try {
    return scopeOf(await resolveRepo(db, parseRepoName(name)))
  } catch (error) {
    // No one has access to an invalid name.
    if (error instanceof ApiError && error.reason === 'NAME_INVALID') return ''
    throw error
  }
}
