import assert from 'node:assert/strict'
import { contractFiles } from '@berth/contract/schema-files.ts'
import { createRouteLookup, type Route, type RouteLookup } from '@berth/server/gateway/rest/routes.ts'
import { readComments } from '@berth/server/reference/comments.ts'
import { describeApi, type OpenApi, type Reference } from '@berth/server/reference/openapi.ts'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

/** The description of the API, and the answers of servers held against it. */

/** The description that a server at `baseUrl` gives of itself. */
export function describeServedApi(baseUrl: string, version: string): Reference {
  const errorDomain = new URL(baseUrl).hostname
  return describeApi({ files: contractFiles, comments: readComments(), baseUrl, errorDomain, version })
}

export interface DescriptionOptions {
  /** The response is from a server of an earlier version, which lacks the properties that were added since. */
  readonly isOlderVersion?: boolean
}

/** Checks values against schemas of one document, which it compiles as they are asked for. */
export interface SchemaChecks {
  /**
   * `pointer`: where the schema is in the document, e.g. `#/components/schemas/Group`. What is wrong, '' when nothing is. With
   * `isOlderVersion`, properties may be missing.
   */
  problems(pointer: string, value: unknown, options?: DescriptionOptions): string
}

export function schemaChecks(document: OpenApi): SchemaChecks {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'openapi.json')
  const compiled = new Map<string, ValidateFunction>()
  return {
    problems(pointer, value, { isOlderVersion = false } = {}) {
      let check = compiled.get(pointer)
      if (check === undefined) {
        check = ajv.compile({ $ref: `openapi.json${pointer}` })
        compiled.set(pointer, check)
      }
      if (check(value)) return ''
      const errors = check.errors?.filter(({ keyword }) => !(isOlderVersion && keyword === 'required')) ?? []
      return errors.length === 0 ? '' : ajv.errorsText(errors, { dataVar: 'body', separator: '\n' })
    },
  }
}

/** A part of the document by its pointer. */
type Pointer = `#/${string}`

export function pointerTo(...names: readonly (string | number)[]): Pointer {
  return `#/${names.map((name) => encodeURIComponent(String(name).replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`
}

interface Described extends Reference {
  readonly checks: SchemaChecks
  readonly find: RouteLookup
  readonly pathOf: ReadonlyMap<Route, string>
}

let described: Described | undefined

/** Made when the first answer is checked. */
function loadDescription(): Described {
  if (described === undefined) {
    const reference = describeServedApi('http://127.0.0.1', '0')
    const routes = [...new Set(reference.operations.map(({ route }) => route))]
    described = {
      ...reference,
      checks: schemaChecks(reference.document),
      find: createRouteLookup(routes, { v2beta1: 'v2' }),
      pathOf: new Map(reference.operations.map(({ route, path }) => [route, path])),
    }
  }
  return described
}

export interface ObservedResponse {
  readonly method: string
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Errors that any request can end in, before it is known what it asks for. */
const anywhere: Readonly<Record<number, string>> = {
  400: 'Refused',
  404: 'NotFound',
  405: 'MethodNotAllowed',
}

/** Fails unless the description has this answer: its status, its headers, its type of content and its body. */
export function assertDescribed(answered: ObservedResponse, options: DescriptionOptions = {}): void {
  const { method, url, status } = answered
  const { document } = loadDescription()
  // A preflight of CORS is no call.
  if (method === 'OPTIONS') return
  const problems = problemsOf(answered, document, options)
  assert.equal(
    problems,
    '',
    `${method} ${url} answered ${status}, not as openapi.json says: ${problems}\n${answered.text}`,
  )
}

function problemsOf(answered: ObservedResponse, document: OpenApi, options: DescriptionOptions): string {
  const place = findOperation(answered)
  const { status } = answered
  if (place === undefined) {
    const name = anywhere[status]
    return name === undefined
      ? 'no operation is there'
      : responseProblems(answered, ['components', 'responses', name], options)
  }
  const [path, method] = place
  const answer = document.paths[path]?.[method]?.responses[status]
  if (answer === undefined) return `${method} ${path} has no answer ${status}`
  return responseProblems(
    answered,
    '$ref' in answer ? answer.$ref.slice(2).split('/') : ['paths', path, method, 'responses', status],
    options,
  )
}

/** Path and method of the operation in the document. */
function findOperation({
  method,
  url,
}: ObservedResponse): readonly [path: string, method: string] | undefined {
  const { document, find, pathOf } = loadDescription()
  const { pathname } = new URL(url)
  const known = method === 'HEAD' ? 'get' : method.toLowerCase()
  if (document.paths[pathname]?.[known] !== undefined) return [pathname, known]
  const found = find(method, pathname)
  return found.kind === 'route' ? [pathOf.get(found.route)!, known] : undefined
}

interface ResponseDescription {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>
  readonly content?: Readonly<Record<string, object>>
}

function responseProblems(
  answered: ObservedResponse,
  at: readonly (string | number)[],
  options: DescriptionOptions,
): string {
  const { document } = loadDescription()
  const { headers, content } = at.reduce<unknown>(
    (node, name) => (node as Record<string, unknown>)[String(name)],
    document,
  ) as ResponseDescription
  return [headerProblems(answered, headers ?? {}), contentProblems(answered, content, at, options)]
    .filter((text) => text !== '')
    .join('\n')
}

function headerProblems(
  { headers }: ObservedResponse,
  expected: ResponseDescription['headers'] & {},
): string {
  const { document, checks } = loadDescription()
  const problems = Object.keys(expected).map((name) => {
    const { required, schema } = document.components.headers[name]!
    const sent = headers.get(name)
    if (sent === null) return required === true ? `the header ${name} is missing` : ''
    const value = schema.type === 'integer' ? Number(sent) : sent
    const wrong = checks.problems(pointerTo('components', 'headers', name, 'schema'), value)
    return wrong === '' ? '' : `${name}: ${wrong}`
  })
  return problems.filter((text) => text !== '').join('\n')
}

function contentProblems(
  { method, headers, text }: ObservedResponse,
  content: ResponseDescription['content'],
  at: readonly (string | number)[],
  options: DescriptionOptions,
): string {
  if (content === undefined) return text === '' ? '' : 'there should be no body'
  const type = headers.get('content-type')?.replace(/;.*$/, '') ?? ''
  if (content[type] === undefined) return `the content type is ${type}`
  if (method === 'HEAD' || type !== 'application/json') return ''
  return loadDescription().checks.problems(
    pointerTo(...at, 'content', type, 'schema'),
    JSON.parse(text),
    options,
  )
}
