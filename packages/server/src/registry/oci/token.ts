import { type CapabilitySet, intersect, noCapabilities, union } from '@berth/contract/capabilities.ts'
import { retryAfter } from '../../api/error-body.ts'
import { ApiError, Code, invalidArgument, unauthenticated } from '../../api/errors.ts'
import { parseFormFields } from '../../api/form-fields.ts'
import { toApiError } from '../../api/storage-faults.ts'
import { parseUid, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import type { ReadGrants } from '../../iam/grants-reader.ts'
import type { VerifyAccessToken } from '../../pipeline/authenticate.ts'
import type { Caller, RegistryScope } from '../../pipeline/call.ts'
import type { HttpHandler, HttpRequest } from '../../port/http.ts'
import type { Db } from '../../storage/db.ts'
import type { AccessTokens } from '../../tokens/access-token.ts'
import { requireUsableLength } from '../../tokens/exchange/token-request.ts'
import {
  type Action,
  anonymousAccess,
  loadAccess,
  type OciAccess,
  operationCapabilities,
  tokenAllows,
} from './access.ts'
import { ociErrorBody, ociStatus } from './errors.ts'
import { parseRepoName, resolveRepo, scopeOf } from './repo-names.ts'

/**
 * The token endpoint (Docker's token specification, and its OAuth form): credentials come in, and a short token goes out that holds for
 * the repos that were asked for, as far as the identity may use them. What it opens is asked again whenever it is used.
 */

export interface TokenOptions {
  readonly db: Db
  readonly clock: () => number
  readonly tokens: Pick<AccessTokens, 'issue' | 'verify'>
  readonly readGrants: ReadGrants
  /** The registry's host: what tokens of this endpoint are for. */
  readonly service: string
  /** What a token that is shown as a password may be for. */
  readonly audiences: readonly string[]
  /** Exchanges a token of somebody else, or a pull token, for one of ours. */
  readonly exchange: (token: string, identity: Uid, request: HttpRequest) => Promise<string>
  readonly admit: (request: HttpRequest) => Promise<void> | undefined
  readonly log: { error(fields: object, message: string): void }
}

/** Who asks for a token, and until when what they showed is good. */
interface TokenAccess extends OciAccess {
  readonly expiresMs: number
}

/** User name that says: the password is a token of this server. */
const TOKEN_USER = '_token'
const FORM = 'application/x-www-form-urlencoded'
const SECOND_MS = 1000

export function tokenHandler(options: TokenOptions): HttpHandler {
  return async (request) => {
    try {
      await options.admit(request)
      return { status: 200, headers: jsonHeaders, body: JSON.stringify(await issueToken(options, request)) }
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

/** An identity that a token may not assume is a wrong password. */
function toUnauthenticated(error: ApiError): ApiError {
  return error.code === Code.PERMISSION_DENIED
    ? unauthenticated('the user name and password are not valid here', error)
    : error
}

async function issueToken(options: TokenOptions, request: HttpRequest) {
  requireTokenRequest(request)
  // Credentials in the header are verified before the form is read, which may have others.
  const headerAccess = await accessFromHeader(options, request)
  const parameters = await readParameters(request)
  const access = headerAccess ?? (await accessFromForm(options, request, parameters))
  const requestedScopes = parseScopes(parameters)
  const registryScopes: RegistryScope[] = []
  for (const scope of requestedScopes) {
    const granted = await grantScope(options.db, access, scope)
    if (granted.actions.length > 0) registryScopes.push(granted)
  }
  const { scopes, capabilities, session, identity } = access.caller
  const issuedMs = Math.floor(options.clock() / SECOND_MS) * SECOND_MS
  const { token, expiresAtMs } = await options.tokens.issue({
    identity,
    audiences: [options.service],
    registryScopes,
    notAfterMs: access.expiresMs,
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

/** Throws code 3 or 12 for what is neither a GET nor a form. */
function requireTokenRequest({ method, headers }: HttpRequest): void {
  if (method === 'GET') return
  if (method !== 'POST')
    throw new ApiError(Code.UNIMPLEMENTED, 'the token endpoint answers GET and POST', { httpStatus: 405 })
  const type = headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  if (type !== FORM) throw invalidArgument('', `a form must be sent as ${FORM}`)
}

async function readParameters(request: HttpRequest): Promise<URLSearchParams> {
  if (request.method === 'GET') return new URLSearchParams(request.url.split('?', 2)[1] ?? '')
  const body = await request.body(limits.registryTokenBodyBytesMax)
  return parseFormFields(
    Buffer.from(body).toString('utf8'),
    limits.formFieldsMax + limits.registryTokenScopesMax,
  )
}

/** Undefined for a request without credentials in its header. */
async function accessFromHeader(
  options: TokenOptions,
  request: HttpRequest,
): Promise<TokenAccess | undefined> {
  const { authorization } = request.headers
  if (authorization === undefined) return undefined
  const basic = parseBasic(authorization)
  if (basic === undefined) throw unauthenticated('the Authorization header must be: Basic <credentials>')
  return accessWithCredentials(options, basic, request)
}

/** Credentials in the form of the OAuth way, or none. */
function accessFromForm(
  options: TokenOptions,
  request: HttpRequest,
  parameters: URLSearchParams,
): Promise<TokenAccess> {
  if (request.method === 'GET') return accessWithCredentials(options, undefined, request)
  switch (parameters.get('grant_type')) {
    case 'password': {
      const credentials = {
        user: parameters.get('username') ?? '',
        password: parameters.get('password') ?? '',
      }
      return accessWithCredentials(options, credentials, request)
    }
    // What credential helpers give without a user name: a token of this server.
    case 'refresh_token':
      return accessWithCredentials(
        options,
        { user: TOKEN_USER, password: parameters.get('refresh_token') ?? '' },
        request,
      )
    case null:
      return accessWithCredentials(options, undefined, request)
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

/** The visitor behind Basic credentials that are shown to the registry itself. Throws code 16. */
export async function basicAccess(options: TokenOptions, request: HttpRequest): Promise<OciAccess> {
  const credentials = parseBasic(request.headers.authorization ?? '')
  if (credentials === undefined)
    throw unauthenticated('the Authorization header must be: Basic <credentials>')
  try {
    return await accessWithCredentials(options, credentials, request)
  } catch (error) {
    throw error instanceof ApiError ? toUnauthenticated(error) : error
  }
}

async function accessWithCredentials(
  { tokens, audiences, exchange, readGrants }: TokenOptions,
  credentials: Credentials | undefined,
  request: HttpRequest,
): Promise<TokenAccess> {
  if (credentials === undefined || (credentials.user === '' && credentials.password === ''))
    return { ...(await anonymousAccess(readGrants)), expiresMs: Number.POSITIVE_INFINITY }
  const { user, password } = credentials
  const identity = parseUid(user)
  if (user !== TOKEN_USER && identity === undefined)
    throw unauthenticated(`the user name must be ${TOKEN_USER}, or the uid of an identity`)
  const token = identity === undefined ? password : await exchange(password, identity, request)
  const { caller, endsMs } = await verifyToken(tokens.verify, audiences, token)
  if (request.record !== undefined) request.record.identity = caller.identity
  return { ...(await loadAccess(readGrants, caller)), expiresMs: endsMs }
}

async function verifyToken(
  verify: VerifyAccessToken,
  audiences: readonly string[],
  token: string,
): Promise<{ readonly caller: Caller; readonly endsMs: number }> {
  if (token.length > limits.bearerTokenCharsMax) throw unauthenticated('the token is too long')
  const result = await verify(token)
  if (result instanceof Error) throw result
  if (!result.audiences.some((audience) => audiences.includes(audience)))
    throw unauthenticated(`the token is for another audience; ask for one with the audience ${audiences[0]}`)
  return { caller: result.caller, endsMs: result.expiresAtMs }
}

/** `scope=repository:acme/nginx:pull,push`, as often as one likes, or several with spaces between. */
function parseScopes(parameters: URLSearchParams): RegistryScope[] {
  const texts = parameters.getAll('scope').flatMap((text) => text.split(' ').filter((one) => one !== ''))
  if (texts.length > limits.registryTokenScopesMax)
    throw invalidArgument('scope', `must be at most ${limits.registryTokenScopesMax}`)
  return texts.flatMap((text) => {
    const [, type, name, actions] = /^([a-z]+)(?:\([a-z0-9]+\))?:(.+):([a-z*,]*)$/.exec(text) ?? []
    if (type === undefined || name === undefined || actions === undefined) return []
    return [{ type, name, actions: [...new Set(actions.split(','))] }]
  })
}

/** Any of these lets an action into the token. */
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

/** What of a scope the applicant may have: the same whether there is such a repo or not (R30). */
async function grantScope(
  db: Db,
  { caller, grants }: TokenAccess,
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
    // What is no name is nobody's.
    if (error instanceof ApiError && error.reason === 'NAME_INVALID') return ''
    throw error
  }
}
