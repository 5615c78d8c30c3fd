import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { contractFiles, isV1 } from '@berth/contract/schema-files.ts'
import { type AccessRule, accessRuleOf } from '@berth/server/pipeline/authorize.ts'
import { type DescMethod, type DescMethodUnary, getOption, hasOption } from '@bufbuild/protobuf'

/** Every method of the contract, for tests that call them all. */

export const services = contractFiles.flatMap((file) => file.services)
export const methods: readonly DescMethodUnary[] = services.flatMap((service) =>
  service.methods.filter((method): method is DescMethodUnary => method.methodKind === 'unary'),
)

/** `Groups.GetGroup`, `v1.Groups.List`. */
export function shortName(method: DescMethod): string {
  const version = isV1(method.parent) ? 'v1.' : ''
  return `${version}${method.parent.name.replace(/Service$/, '')}.${method.name}`
}

/** Of version 1, the one that only gRPC has. */
export function hasRest(method: DescMethod): boolean {
  return hasOption(method, http)
}

/** Whether its REST request is a GET. */
export function isRead(method: DescMethod): boolean {
  return getOption(method, http).pattern.case === 'get'
}

/** A body with nothing in it; undefined for methods that take none. */
export function emptyBody(method: DescMethod): object | undefined {
  const { body } = getOption(method, http)
  if (body === '') return undefined
  return method.input.fields.find(({ name }) => name === body)?.fieldKind === 'list' ? [] : {}
}

/** A REST request for the method's first binding, with `uid` wherever its path has a variable. */
export function restRequestOf(
  method: DescMethod,
  uid: string,
): { readonly verb: string; readonly path: string } {
  const { pattern } = getOption(method, http)
  if (typeof pattern.value !== 'string') throw new Error(`${method} has no HTTP binding`)
  const verb = pattern.case?.toUpperCase() ?? ''
  return {
    verb,
    path: pattern.value.replace(/\{(?:digest|reference)(=\*)?\}/, 'sha256:00').replace(/\{[^}]*\}/g, uid),
  }
}

/** The least request whose scope is `uid`, as an initializer of the method's input. */
export function requestAt(method: DescMethod, uid: string): object {
  const rule: AccessRule = accessRuleOf(method)
  if (rule.kind !== 'scoped') return {}
  return rule.path.reduceRight<unknown>((value, name) => ({ [name]: value }), uid) as object
}
