import { mcp } from '@berth/contract/gen/annotations/mcp_pb.js'
import { resource } from '@berth/contract/gen/google/api/resource_pb.js'
import { getOption, hasOption } from '@berth/contract/options.ts'
import type { DescMessage, DescMethod } from '@bufbuild/protobuf'

/** The operation of a standard method on a resource (AIP-131 to AIP-135, AIP-233). */
export type StandardMethod = 'get' | 'list' | 'create' | 'batchCreate' | 'update' | 'delete' | 'custom'

const kinds = new WeakMap<DescMethod, StandardMethod>()

export function standardMethod(method: DescMethod): StandardMethod {
  let kind = kinds.get(method)
  if (kind === undefined) {
    kind = kindOf(method)
    kinds.set(method, kind)
  }
  return kind
}

/** Returns whether the response is one resource in its current state, which has an entity tag. */
export function returnsEtag(method: DescMethod): boolean {
  const kind = standardMethod(method)
  return kind === 'get' || kind === 'create' || kind === 'update'
}

/** Returns whether the method changes a resource that its caller may have read: such calls accept If-Match. An idempotent create is an upsert. */
export function acceptsIfMatch(method: DescMethod): boolean {
  const kind = standardMethod(method)
  const isUpsert = kind === 'create' && getOption(method, mcp).idempotent
  return kind === 'update' || kind === 'delete' || isUpsert || isMove(method)
}

/** Returns whether the method points a resource to something else: `MoveTag`. */
function isMove({ name, output }: DescMethod): boolean {
  return hasOption(output, resource) && name === `Move${output.name}`
}

/** Returns whether a second call of the method would create a second object. Version 1 does not mark resources. */
export function isCreate(method: DescMethod): boolean {
  const kind = standardMethod(method)
  return kind === 'create' || kind === 'batchCreate' || method.name === `Create${method.output.name}`
}

/** Policies have lists with pages and the names of version 1: `PolicyList`. */
function isPage({ name, fields }: DescMessage): boolean {
  return name.endsWith('List') && fields.some((field) => field.name === 'next_page_token')
}

function kindOf({ name, output }: DescMethod): StandardMethod {
  const returnsResource = hasOption(output, resource)
  if (returnsResource && name === `Get${output.name}`) return 'get'
  if (returnsResource && name === `Create${output.name}`) return 'create'
  if (returnsResource && name === `Update${output.name}`) return 'update'
  if (name.startsWith('List') && (output.name === `${name}Response` || isPage(output))) return 'list'
  if (name.startsWith('BatchCreate')) return 'batchCreate'
  // A method that is named just Delete does not concern a resource of the tree.
  if (/^Delete./.test(name) && output.typeName === 'google.protobuf.Empty') return 'delete'
  return 'custom'
}
