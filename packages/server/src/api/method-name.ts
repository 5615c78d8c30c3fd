import type { DescMethod } from '@bufbuild/protobuf'

const names = new Map<DescMethod, string>()

/** `chainguard.platform.iam.v2beta1.GroupsService/GetGroup`, cached for each method: metrics and the audit log use it on every call. */
export function fullMethodName(method: DescMethod): string {
  let name = names.get(method)
  if (name === undefined) {
    name = `${method.parent.typeName}/${method.name}`
    names.set(method, name)
  }
  return name
}
