import { capabilityName } from '@berth/contract/capabilities.ts'
import { iam, iam_scope } from '@berth/contract/gen/annotations/auth_pb.js'
import { Auth } from '@berth/contract/gen/chainguard/platform/auth/auth_pb.js'
import { SecurityTokenService } from '@berth/contract/gen/chainguard/platform/oidc/sts_pb.js'
import { FieldBehavior } from '@berth/contract/gen/google/api/field_behavior_pb.js'
import { getOption } from '@berth/contract/options.ts'
import { isV1 } from '@berth/contract/schema-files.ts'
import type { DescField, DescMessage, DescMethod } from '@bufbuild/protobuf'
import { isLeafMessage } from '../api/field-mask.ts'
import { acceptsIfMatch, returnsEtag, standardMethod } from '../api/standard-methods.ts'
import { limits } from '../config/limits.ts'
import { mayLackVariable, type Route } from '../gateway/rest/routes.ts'
import type { Comments } from './comments.ts'
import {
  type ErrorStatus,
  errorResponseRef,
  headerRefs,
  type ResponseObject,
  rateLimitHeaders,
} from './error-responses.ts'
import { exampleOf, exampleOfParameter, exampleOfResponse } from './examples.ts'
import { hasBehavior, isRequired, type Schema, type SchemaComponents, type Use } from './schemas.ts'

/** Routes of the gateway as operations of OpenAPI. */

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly description: string
  readonly required?: boolean
  readonly deprecated?: boolean
  readonly schema: Schema
  readonly example?: unknown
}

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>
  }
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
}

/** An operation with its path and method. */
export interface RoutedOperation {
  readonly route: Route
  /** With variables as in OpenAPI: `/iam/v2beta1/groups/{uid}`. */
  readonly path: string
  /** Lower case. */
  readonly httpMethod: string
  readonly operation: Operation
}

/** The context of operations. `withRestNames` replaces the names in a text by their spelling in REST. */
export interface OperationContext {
  readonly schemaComponents: SchemaComponents
  readonly comments: Comments
  readonly withRestNames: (text: string) => string
}

/** Header parameters, by the last segment of references to them. Without examples, which the page would prefill in calls. */
export const headerParameters: Readonly<Record<string, Parameter>> = {
  IfMatch: {
    name: 'If-Match',
    in: 'header',
    description: 'Entity tags: the request fails unless the resource still has one of these versions.',
    schema: { type: 'string' },
  },
  IfNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description:
      'Entity tags: the response is 304 without a body while the resource still has one of these versions.',
    schema: { type: 'string' },
  },
  IdempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    description:
      'A unique key of this request. A repetition with the same key within 24 hours gets the first response.',
    schema: { type: 'string', maxLength: limits.idempotencyKeyCharsMax },
  },
}

/** Returns the operations of routes, in their order. A create with an optional parent is also listed without it. */
export function operationsOf(routes: readonly Route[], parts: OperationContext): RoutedOperation[] {
  const names = variableNames(routes)
  return routes.flatMap((route, index) => {
    const { method } = route
    const name = operationName(method)
    const isFirst = routes.findIndex((other) => other.method === method) === index
    // Version 1 has two spellings of some paths.
    const variantSuffix = isV1(method.parent)
      ? 'Respelled'
      : `By${capitalized(route.httpMethod.toLowerCase())}`
    const suffix = isFirst ? '' : variantSuffix
    const place = { route, httpMethod: route.httpMethod.toLowerCase() }
    const whole: RoutedOperation = {
      ...place,
      path: pathOf(route, names.get(route)!),
      operation: operationOf(route, names.get(route)!, name + suffix, parts),
    }
    const short = withoutVariable(route)
    if (short === undefined) return [whole]
    return [
      { ...place, path: short, operation: operationOf(route, [], `${name}${suffix}AtRoot`, parts) },
      whole,
    ]
  })
}

/** Methods of version 1 have the same names in every service: `Groups.List` is `V1GroupsList`. */
function operationName({ name, parent }: DescMethod): string {
  return isV1(parent) ? `V1${parent.name}${name}` : name
}

/**
 * The names of a route's variables. For OpenAPI, paths that differ only in variable names are the same path, so a resource's path uses the
 * names of its Get.
 */
function variableNames(routes: readonly Route[]): Map<Route, readonly string[]> {
  const ownNames = ({ template }: Route) => template.variables.map(({ fieldPath }) => fieldPath.at(-1)!)
  const byShape = Map.groupBy(routes, (route) =>
    pathOf(
      route,
      ownNames(route).map(() => ''),
    ),
  )
  const entries = [...byShape.values()].flatMap((same) => {
    // In version 1, which has no Get, the names of its PUT.
    const named = ['GET', 'PUT'].flatMap((verb) => same.find(({ httpMethod }) => httpMethod === verb) ?? [])
    const names = ownNames(named[0] ?? same[0]!)
    return same.map((route) => [route, names] as const)
  })
  return new Map(entries)
}

function pathOf({ template }: Route, names: readonly string[]): string {
  const { segments, variables, verb } = template
  let path = ''
  for (let index = 0; index < segments.length; index++) {
    const variable = variables.findIndex(({ start, end }) => index >= start && index < end)
    const segment = segments[index]!
    if (variable < 0) path += `/${typeof segment === 'object' ? segment.literal : segment}`
    else if (variables[variable]!.start === index) path += `/{${names[variable]}}`
  }
  return verb === '' ? path : `${path}:${verb}`
}

/** The path of a route without its only variable, if it may be missing. */
function withoutVariable(route: Route): string | undefined {
  if (!mayLackVariable(route)) return undefined
  return `/${route.template.segments
    .slice(0, -1)
    .map((segment) => (typeof segment === 'object' ? segment.literal : segment))
    .join('/')}`
}

function operationOf(
  route: Route,
  names: readonly string[],
  operationId: string,
  parts: OperationContext,
): Operation {
  const { method } = route
  const { comments, withRestNames: inWords } = parts
  const text = inWords(comments.of(method))
  const summary = /^.*?[.](?=\s|$)/s.exec(text)?.[0] ?? text
  const parameters = parametersOf(route, names, parts)
  const requestBody = requestBodyOf(route, parts)
  const atRoot = lacksVariable(route, names)
  return {
    operationId,
    tags: [tagOf(method)],
    summary: summary.replace(/\.$/, ''),
    description: [
      text.slice(summary.length).trim(),
      atRoot ? 'With this path, the parent is empty.' : '',
      requirementsText(method),
    ]
      .filter((part) => part !== '')
      .join('\n\n'),
    ...(method.deprecated ? { deprecated: true } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: { ...successResponses(method, atRoot, parts), ...errorResponsesOf(route) },
    security: securityOf(method),
  }
}

/** `IdentityProvidersService` is `Identity providers`; `IdentityProviders` of version 1 is `Identity providers v1`. */
export function tagOf({ parent }: Pick<DescMethod, 'parent'>): string {
  const words = parent.name.replace(/Service$/, '').replace(/(?<=[a-z])(?=[A-Z])/g, ' ')
  return capitalized(words.toLowerCase()) + (isV1(parent) ? ' v1' : '')
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** A path without a variable of its route leaves it empty. */
function lacksVariable({ template }: Route, names: readonly string[]): boolean {
  return names.length < template.variables.length
}

/** Describes who may call the method, from its options. */
function requirementsText(method: DescMethod): string {
  const { mode } = getOption(method, iam)
  if (mode.case !== 'enabled')
    return readsBearerToken(method)
      ? 'The bearer token is the one described here, not one for this API.'
      : 'Needs no token.'
  const { capabilities, unscoped } = mode.value
  const needed = capabilities.map((capability) => `\`${capabilityName(capability)}\``).join(' and ')
  if (needed === '') return 'Requires a token, and no capability.'
  if (unscoped && isList(method)) return `Shows resources of the groups where the caller holds ${needed}.`
  if (unscoped) return `Needs ${needed} where it acts.`
  return `Needs ${needed} at ${scopeText(method.input)}.`
}

function isList(method: DescMethod): boolean {
  return standardMethod(method) === 'list' || (isV1(method.parent) && method.name.startsWith('List'))
}

function scopeText(input: DescMessage): string {
  const field = input.fields.find((candidate) => getOption(candidate, iam_scope))
  if (field?.name === 'parent') return 'the parent'
  return field?.message === undefined && field?.name !== 'uid' ? `\`${field?.jsonName}\`` : 'the resource'
}

/** Methods without authentication that read the bearer token themselves. */
function readsBearerToken(method: DescMethod): boolean {
  return method.parent.typeName === SecurityTokenService.typeName || method === Auth.method.register
}

function securityOf(method: DescMethod): Operation['security'] {
  return getOption(method, iam).mode.case === 'enabled' || readsBearerToken(method) ? [{ token: [] }] : []
}

function parametersOf(
  route: Route,
  names: readonly string[],
  parts: OperationContext,
): (Parameter | { readonly $ref: string })[] {
  const { method, template, body } = route
  const bound = template.variables.map(({ fieldPath }) => fieldPath.join('.'))
  const inPath = template.variables
    .slice(0, names.length)
    .map(({ fieldPath, start, end }, index): Parameter => {
      const field = fieldAt(method.input, fieldPath)
      const spansSegments = template.segments.slice(start, end).includes('**')
      const slashes = spansSegments ? ' Its slashes need no escaping.' : ''
      return {
        name: names[index]!,
        in: 'path',
        description: describe(field, parts) + slashes,
        required: true,
        schema: parts.schemaComponents.value(field, 'create'),
        ...(isV1(method.parent) ? {} : { example: exampleOfParameter(field) }),
      }
    })
  const inQuery = body === '*' ? [] : queryParameters(method, method.input, [...bound, body], '', parts)
  return [...inPath, ...inQuery, ...headersFor(method).map(($ref) => ({ $ref }))]
}

/** Returns the comment of a field for its parameter. */
function describe(field: DescField, { comments, withRestNames: inWords }: OperationContext): string {
  return inWords(comments.of(field))
}

/** Returns the sort keys of a list, as the comment of its method names them. */
function sortKeys(comment: string): string {
  const [, keys] = /Sort keys?: ([^.]+)\./.exec(comment) ?? []
  return keys === undefined ? '' : ` Sort keys: ${keys}.`
}

function queryParameters(
  method: DescMethod,
  desc: DescMessage,
  bound: readonly string[],
  prefix: string,
  parts: OperationContext,
): Parameter[] {
  return desc.fields.flatMap((field): Parameter[] => {
    const path = prefix + field.name
    if (bound.includes(path) || field.fieldKind === 'map') return []
    if (field.fieldKind === 'message' && !isLeafMessage(field.message))
      return queryParameters(method, field.message, bound, `${path}.`, parts)
    const value = parts.schemaComponents.value(field, 'create')
    const keys = path === 'order_by' ? sortKeys(parts.comments.of(method)) : ''
    return [
      {
        // The specification writes parameters in snake_case, except this one.
        name: path === 'update_mask' ? 'updateMask' : path,
        in: 'query',
        description: describe(field, parts) + keys,
        ...(hasBehavior(field, FieldBehavior.REQUIRED) ? { required: true } : {}),
        ...(field.deprecated ? { deprecated: true } : {}),
        schema: field.fieldKind === 'list' ? { type: 'array', items: value } : value,
      },
    ]
  })
}

function headersFor(method: DescMethod): string[] {
  const kind = standardMethod(method)
  const names: [name: keyof typeof headerParameters, applies: boolean][] = [
    ['IfNoneMatch', kind === 'get'],
    ['IfMatch', acceptsIfMatch(method)],
    ['IdempotencyKey', kind === 'create' || kind === 'batchCreate'],
  ]
  return names.filter(([, applies]) => applies).map(([name]) => `#/components/parameters/${name}`)
}

function requestBodyOf(
  { method, body, httpMethod, template }: Route,
  { schemaComponents: book }: OperationContext,
): Operation['requestBody'] {
  const { input } = method
  if (body === '') {
    if (httpMethod !== 'POST' || input.fields.length === 0) return undefined
    // The parameters of the query may be sent as a form instead.
    const properties = Object.fromEntries(
      input.fields.map((field): [string, Schema] => {
        const value = book.value(field, 'create')
        return [field.name, field.fieldKind === 'list' ? { type: 'array', items: value } : value]
      }),
    )
    return {
      required: false,
      content: { 'application/x-www-form-urlencoded': { schema: { type: 'object', properties } } },
    }
  }
  const inPath = template.variables.map(({ fieldPath }) => fieldPath[0]!)
  const bodyField = body === '*' ? undefined : fieldAt(input, [body])
  const desc = bodyField === undefined ? input : bodyField.message!
  const except = body === '*' ? inPath : []
  const use: Use = body !== '*' && standardMethod(method) === 'update' ? 'update' : 'create'
  const fields = desc.fields.filter(({ name }) => !except.includes(name))
  if (fields.length === 0) return undefined
  const message = book.message(desc, use, except)
  const schema: Schema = bodyField?.fieldKind === 'list' ? { type: 'array', items: message } : message
  const example = isV1(method.parent) ? {} : { example: exampleOf(desc, use, except) }
  return {
    required: use === 'create' && fields.some((field) => isRequired(field, 'create')),
    content: { 'application/json': { schema, ...example } },
  }
}

function successResponses(
  method: DescMethod,
  atRoot: boolean,
  { schemaComponents: book }: OperationContext,
): Operation['responses'] {
  const { output } = method
  if (output.typeName === 'google.protobuf.Empty' && isV1(method.parent)) {
    const content = { 'application/json': { schema: { type: 'object', maxProperties: 0 } } }
    return { 200: { description: 'Done.', headers: headerRefs(...rateLimitHeaders), content } }
  }
  if (output.typeName === 'google.protobuf.Empty')
    return {
      200: { description: 'Done. The response has no body.', headers: headerRefs(...rateLimitHeaders) },
    }
  const headers = headerRefs(...(returnsEtag(method) ? (['ETag'] as const) : []), ...rateLimitHeaders)
  const example = isV1(method.parent) ? {} : { example: exampleOfResponse(method, atRoot) }
  const content = { schema: book.message(output, 'response'), ...example }
  return {
    200: { description: responseText(method), headers, content: { 'application/json': content } },
    ...(standardMethod(method) === 'get'
      ? { 304: { description: 'The resource still has the version of the caller.', headers } }
      : {}),
  }
}

function responseText(method: DescMethod): string {
  switch (standardMethod(method)) {
    case 'list':
      return 'One page.'
    case 'create':
      return 'The created resource.'
    case 'update':
      return 'The resource after the change.'
    case 'get':
      return 'The resource.'
    default:
      return 'The response.'
  }
}

function errorResponsesOf({ method, httpMethod, body }: Route): Operation['responses'] {
  const kind = standardMethod(method)
  const isOpen = securityOf(method).length === 0
  const changes = httpMethod !== 'GET'
  // The methods that it calls support entity tags and idempotency keys, which it does not.
  const isOld = isV1(method.parent)
  const statuses: [ErrorStatus, boolean][] = [
    [400, true],
    [401, !isOpen],
    [403, !isOpen],
    [404, (!isOpen && !isUnscopedList(method)) || method === Auth.method.getHeadlessSession],
    [408, changes && kind !== 'delete'],
    [409, changes && method !== SecurityTokenService.method.exchange],
    [412, acceptsIfMatch(method) || (isOld && changes)],
    [413, body !== '' || readsBearerToken(method)],
    [422, kind === 'create' || kind === 'batchCreate' || (isOld && httpMethod === 'POST')],
    [429, true],
    [500, true],
    [501, !isOpen],
    [503, true],
    [504, true],
  ]
  return Object.fromEntries(
    statuses.filter(([, applies]) => applies).map(([status]) => [status, errorResponseRef(status)]),
  )
}

/** Returns whether the method lists what the caller can see, in no scope that could be missing. */
function isUnscopedList(method: DescMethod): boolean {
  const { mode } = getOption(method, iam)
  return standardMethod(method) === 'list' && mode.case === 'enabled' && mode.value.unscoped
}

function fieldAt(desc: DescMessage, path: readonly string[]): DescField {
  const [name, ...rest] = path
  const field = desc.fields.find((candidate) => candidate.name === name)
  if (field === undefined) throw new Error(`${desc.typeName} has no field ${name}, which its route names`)
  return rest.length === 0 ? field : fieldAt(field.message!, rest)
}
