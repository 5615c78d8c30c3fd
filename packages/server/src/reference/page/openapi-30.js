/*
 * The description as OpenAPI 3.0. The renderer resolves a description of 3.1 as a whole for each part that it shows: four times the time,
 * several seconds for each operation. Maps only the forms that the description has, and throws for others.
 */

/** Keywords whose values are data, not schemas. */
const dataKeywords = ['example', 'examples', 'default', 'enum']

export function toOpenApi30(spec) {
  const { license } = spec.info
  return {
    ...mapMembers(spec),
    openapi: '3.0.4',
    info: {
      ...spec.info,
      license: { name: license.name, url: `https://spdx.org/licenses/${license.identifier}.html` },
    },
  }
}

function map(value) {
  if (Array.isArray(value)) return value.map(map)
  return typeof value === 'object' && value !== null ? mapSchema(mapMembers(value)) : value
}

function mapMembers(value) {
  return mapValues(value, (member, name) => {
    if (dataKeywords.includes(name)) return member
    // Their names are those of fields.
    return name === 'properties' ? mapValues(member, map) : map(member)
  })
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]))
}

/** An object that is not a schema has none of these keywords. */
function mapSchema(schema) {
  return mapReference(mapNullable(mapBytes(mapConstant(mapFirstItems(withoutNamePattern(schema))))))
}

/** The pattern of the names of a map has no counterpart. */
function withoutNamePattern({ propertyNames: _, ...schema }) {
  return schema
}

/** The first items may be anywhere. */
function mapFirstItems({ prefixItems, ...schema }) {
  if (prefixItems === undefined) return schema
  return { ...schema, items: { oneOf: [...prefixItems, ...schema.items.oneOf] } }
}

function mapConstant({ const: only, ...schema }) {
  return only === undefined ? schema : { ...schema, enum: [only] }
}

function mapBytes({ contentEncoding, ...schema }) {
  if (contentEncoding === undefined) return schema
  if (contentEncoding !== 'base64')
    throw new Error(`contentEncoding ${contentEncoding} has no form in OpenAPI 3.0`)
  return { ...schema, format: 'byte' }
}

function mapNullable({ type, oneOf, ...schema }) {
  if (Array.isArray(type)) return { ...schema, type: onlyOther(type, 'null'), nullable: true }
  const isNull = (one) => one.type === 'null'
  if (!Array.isArray(oneOf) || !oneOf.some(isNull))
    return { ...schema, ...(type !== undefined && { type }), ...(oneOf !== undefined && { oneOf }) }
  const only = onlyOther(oneOf, oneOf.find(isNull))
  return { ...(only.$ref === undefined ? only : { allOf: [only] }), ...schema, nullable: true }
}

/** The one that can be null. */
function onlyOther(list, nothing) {
  const [other, ...more] = list.filter((one) => one !== nothing)
  if (other === undefined || more.length > 0 || list.length === 1)
    throw new Error(`${JSON.stringify(list)} has no form in OpenAPI 3.0`)
  return other
}

/** Members beside a reference would be ignored. */
function mapReference({ $ref, ...schema }) {
  if ($ref === undefined) return schema
  return Object.keys(schema).length === 0 ? { $ref } : { allOf: [{ $ref }], ...schema }
}
