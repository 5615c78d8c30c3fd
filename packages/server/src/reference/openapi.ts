import { isV1 } from '@berth/contract/schema-files.ts'
import type { DescField, DescFile, DescMessage } from '@bufbuild/protobuf'
import { isLeafMessage } from '../api/field-mask.ts'
import { type Route, routesOf } from '../gateway/rest/routes.ts'
import { auditExportOperation, auditExportPath } from './audit-export.ts'
import type { Comments } from './comments.ts'
import {
  errorResponses,
  errorSchemas,
  type Header,
  headerObjects,
  type ResponseObject,
} from './error-responses.ts'
import {
  headerParameters,
  type Operation,
  operationsOf,
  type Parameter,
  type RoutedOperation,
  tagOf,
} from './operations.ts'
import { publishedAdvisories, publishedTag } from './published-advisories.ts'
import { createSchemaComponents, type Schema } from './schemas.ts'
import { serverEndpoints, serverTag } from './server-endpoints.ts'

/** Describes the API as OpenAPI 3.1, from the schema that serves it: no code here names a resource. */

export interface ReferenceOptions {
  /** The files whose services are described, in this order. */
  readonly files: readonly DescFile[]
  readonly comments: Comments
  /** Address of the API. */
  readonly baseUrl: string
  /** `domain` of the ErrorInfo in the examples of errors. */
  readonly errorDomain: string
  /** Version of the server. */
  readonly version: string
}

export interface OpenApi {
  readonly openapi: '3.1.0'
  readonly info: Readonly<Record<string, unknown>>
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly responses: Readonly<Record<string, ResponseObject>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly headers: Readonly<Record<string, Header>>
    readonly securitySchemes: Readonly<Record<string, unknown>>
  }
}

export interface Reference {
  readonly document: OpenApi
  /** The operations of routes of the gateway. */
  readonly operations: readonly RoutedOperation[]
}

const overview = `
Berth holds the access rules, the identities and the images of an organization. Every method is also available over gRPC.

**Tokens.** Send \`Authorization: Bearer TOKEN\`. A workload exchanges a token of a trusted issuer for one
at \`/sts/exchange\`.

**UIDs** are paths: \`organization/group/resource\`. In the path of a request their slashes need no escaping.

**Names.** Bodies have lowerCamelCase names, queries snake_case ones; each accepts the other, too. Unknown members of a body are
rejected, except those that \`updateMask\` does not name; so are unknown parameters. \`null\` is a value that is not set.

**Responses** contain every scalar, list and map, also at its default; unset messages are left out. 64-bit integers are
strings. All errors have one form, with a \`code\` that is the RPC code.

**Updates** change the fields that \`updateMask\` names; without it, those that the body has.

**Versions.** Each path with \`/v2beta1/\` is also available with \`/v2/\`.

**Version 1** is available as well, for callers of \`/iam/v1/\`: resources have an \`id\`, lists are complete in \`items\`, and a PUT replaces
the whole resource: omitted fields get their zero value. Unknown members of bodies are ignored, and messages that are not set are \`null\`.

**HEAD** has the same response as GET, without the body.
`.trim()

/** Describes the services of `files`, and the other endpoints of the server. */
export function describeApi(options: ReferenceOptions): Reference {
  const { files, comments, baseUrl, errorDomain, version } = options
  const services = files.flatMap((file) => file.services)
  const routes = routesOf(services)
  const parameters = parameterNames(routes)
  // The comments of version 1 name no fields, and some of its field names have another meaning elsewhere: `created_at` is a sort key.
  const members = memberNames(routes.filter(({ method }) => !isV1(method.parent)))
  const book = createSchemaComponents(
    comments,
    replaceFieldNames((name) => members.get(name)),
  )
  const operations = operationsOf(routes, {
    schemaComponents: book,
    comments,
    withRestNames: replaceFieldNames((name) => (parameters.has(name) ? undefined : members.get(name))),
  })

  const paths: Record<string, Record<string, Operation>> = {}
  for (const { path, httpMethod, operation } of operations) {
    paths[path] ??= {}
    paths[path][httpMethod] = operation
  }
  for (const [path, operation] of Object.entries({ ...publishedAdvisories, ...serverEndpoints }))
    paths[path] = { get: operation }
  const listEvents = paths['/audit/v1/events']?.['get']
  if (listEvents !== undefined) paths[auditExportPath] = { get: auditExportOperation(listEvents) }

  const document: OpenApi = {
    openapi: '3.1.0',
    info: {
      title: 'Berth API',
      version,
      description: overview,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    tags: [
      ...services
        .filter(({ methods }) => operations.some(({ route }) => methods.includes(route.method)))
        .map((service) => ({ name: tagOf({ parent: service }), description: comments.of(service) })),
      publishedTag,
      serverTag,
    ],
    paths,
    components: {
      schemas: { ...errorSchemas, ...book.components() },
      responses: errorResponses(errorDomain),
      parameters: headerParameters,
      headers: headerObjects,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A token of this installation. For calls that exchange tokens: the token to exchange, of a trusted issuer, or a refresh token.',
        },
      },
    },
  }
  return { document, operations }
}

/** Comments name fields as the schema does; for a name between backticks, `of` returns its name in REST. */
function replaceFieldNames(of: (name: string) => string | undefined): (text: string) => string {
  return (text) =>
    text.replace(/`([a-z0-9_]+)`/g, (whole, name: string) => {
      const other = of(name)
      return other === undefined ? whole : `\`${other}\``
    })
}

/** Proto names of query parameters. */
function parameterNames(routes: readonly Route[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { method, body } of routes) {
    if (body === '*') continue
    walkFields(
      method.input,
      (field) => names.add(field.name),
      (field) => field.name !== body,
    )
  }
  return names
}

/** JSON names by proto name, of the fields in bodies and responses whose two names differ. */
function memberNames(routes: readonly Route[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const note = (field: DescField) => {
    if (field.name !== field.jsonName) names.set(field.name, field.jsonName)
  }
  for (const { method, body } of routes) {
    walkFields(method.output, note)
    if (body !== '') walkFields(method.input, note, (field) => body === '*' || field.name === body)
  }
  return names
}

/** Returns every field of a message and of the messages in it, once each, starting with those that `begins` includes. */
function walkFields(
  desc: DescMessage,
  note: (field: DescField) => void,
  isIncluded: (field: DescField) => boolean = () => true,
  seen: Set<DescMessage> = new Set(),
): void {
  if (seen.has(desc) || isLeafMessage(desc)) return
  seen.add(desc)
  for (const field of desc.fields.filter(isIncluded)) {
    note(field)
    if (field.message !== undefined) walkFields(field.message, note, undefined, seen)
  }
}
