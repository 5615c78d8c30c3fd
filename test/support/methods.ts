import { type DescMethod, type DescMethodUnary, getOption } from '@bufbuild/protobuf'
import { http } from '#gen/google/api/annotations_pb.js'
import { type AccessRule, accessRule } from '../../src/auth/authorize.ts'
import { contractFiles } from '../../src/gateway/contract.ts'

/** Every method of the contract, for tests that call them all. */

export const services = contractFiles.flatMap((file) => file.services)
export const methods: readonly DescMethodUnary[] = services.flatMap((service) =>
  service.methods.filter((method): method is DescMethodUnary => method.methodKind === 'unary'),
)

/** `Groups.GetGroup`. */
export function shortName(method: DescMethod): string {
  return `${method.parent.name.replace(/Service$/, '')}.${method.name}`
}

/** A REST request for the method's first binding, with `uid` wherever its path has a variable. */
export function restRequestOf(
  method: DescMethod,
  uid: string,
): { readonly verb: string; readonly path: string } {
  const { pattern } = getOption(method, http)
  if (typeof pattern.value !== 'string') throw new Error(`${method} has no HTTP binding`)
  const verb = pattern.case?.toUpperCase() ?? ''
  return { verb, path: pattern.value.replace(/\{digest\}/, 'sha256:00').replace(/\{[^}]*\}/g, uid) }
}

/** The least request that is judged at `uid`, as an initializer of the method's input. */
export function requestAt(method: DescMethod, uid: string): object {
  const rule: AccessRule = accessRule(method)
  if (rule.kind !== 'scoped') return {}
  return rule.path.reduceRight<unknown>((value, name) => ({ [name]: value }), uid) as object
}
