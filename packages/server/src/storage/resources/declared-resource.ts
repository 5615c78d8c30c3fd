import { resource as resourceOption } from '@berth/contract/gen/google/api/resource_pb.js'
import { getOption } from '@berth/contract/options.ts'
import type { DescField, DescMessage, DescMethod, DescService } from '@bufbuild/protobuf'
import { type SortFields, timeSortFields } from '../../api/order-by.ts'
import { type StandardMethod, standardMethod } from '../../api/standard-methods.ts'

/** What the contract says about a resource: its name in errors, its sort fields, and which methods are the standard ones. */

/** Returns the type of a resource in errors, e.g. `iam.chainguard.dev/Group`. */
export function resourceType(schema: DescMessage): string {
  const { type } = getOption(schema, resourceOption)
  if (type === '') throw new Error(`${schema.typeName} has no google.api.resource`)
  return type
}

/** Returns what lists of a resource can be sorted by: the uid, the name, `more` and the times, as far as the resource has them. */
export function sortFieldsOf(schema: DescMessage, more: SortFields = {}): SortFields {
  const has = (name: string) => schema.fields.some((field) => field.name === name)
  const { created_at, create_time, createTime, updated_at, update_time, updateTime } = timeSortFields
  return {
    uid: 'uid',
    ...(has('name') && { name: 'name' }),
    ...more,
    ...(has('create_time') && { created_at, create_time, createTime }),
    ...(has('update_time') && { updated_at, update_time, updateTime }),
  }
}

/** Returns the method of a service that does this to the resource; undefined if the service has none. */
export function methodOf(
  service: DescService,
  schema: DescMessage,
  kind: StandardMethod,
): DescMethod | undefined {
  return service.methods.find(
    (method) =>
      standardMethod(method) === kind &&
      (kind === 'list'
        ? fieldOf(method.output, schema) !== undefined
        : kind === 'delete'
          ? method.name === `Delete${schema.name}`
          : method.output === schema),
  )
}

/** Returns the field of a message that holds the resource, or a list of them. */
export function fieldOf(message: DescMessage, schema: DescMessage): DescField | undefined {
  return message.fields.find((field) => field.message === schema)
}
