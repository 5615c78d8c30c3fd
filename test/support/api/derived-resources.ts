import { randomBytes } from 'node:crypto'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { isV1 } from '@berth/contract/schema-files.ts'
import { standardMethod } from '@berth/server/api/standard-methods.ts'
import { exampleOf } from '@berth/server/reference/examples.ts'
import { methodOf } from '@berth/server/storage/resources/declared-resource.ts'
import { type DescMessage, type DescMethod, fromJson, getOption, type JsonObject } from '@bufbuild/protobuf'
import { methods } from './methods.ts'

/** Resources as tests create them, from nothing but the schema and its examples. */

export interface DerivedResource {
  readonly schema: DescMessage
  /** Path and body of a REST request that creates one in a group. Names differ from call to call. */
  readonly path: (group: string) => string
  readonly body: () => JsonObject
}

/** The resources of the current API that have a standard Create method. */
export const derivedResources: readonly DerivedResource[] = methods
  .filter((method) => standardMethod(method) === 'create' && !isV1(method.parent))
  .map((method) => ({
    schema: method.output,
    path: (group) => String(getOption(method, http).pattern.value).replace(/\{parent=[^}]*\}/, group),
    body: () => ({
      ...(exampleOf(method.output, 'create') as JsonObject),
      ...(method.output.field['name'] && { name: randomBytes(4).toString('hex') }),
    }),
  }))

/** A request of a standard method, as its gRPC input. `create` creates what the request is about. */
export async function derivedRequest(
  method: DescMethod,
  { schema, body }: DerivedResource,
  { newGroup, create }: { newGroup(): Promise<string>; create(): Promise<string> },
): Promise<object | undefined> {
  const kind = standardMethod(method)
  const field = method.input.fields.find(({ message }) => message === schema)?.localName ?? ''
  if (kind === 'create') return { parent: await newGroup(), [field]: fromJson(schema, body()) }
  if (kind === 'update') return { [field]: { ...fromJson(schema, body()), uid: await create() } }
  return kind === 'get' || kind === 'delete' ? { uid: await create() } : undefined
}

/** The resource that a standard method is about; undefined for all other methods. */
export function resourceOf(method: DescMethod): DerivedResource | undefined {
  return derivedResources.find(
    ({ schema }) => methodOf(method.parent, schema, standardMethod(method)) === method,
  )
}
