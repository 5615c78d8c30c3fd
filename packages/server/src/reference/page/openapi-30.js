/*
 * The description as OpenAPI 3.0. The renderer resolves a description of 3.1 as a whole for each part that it shows: four times the time,
 * several seconds for each operation. Only what the description uses is mapped; test/openapi.test.ts validates the result.
 */

/** Their values are data. */
const dataMembers = ['example', 'default', 'enum']

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
    if (dataMembers.includes(name)) return member
    // Their names are those of fields.
    return name === 'properties' ? mapValues(member, map) : map(member)
  })
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value, name)]))
}

/** Of an object that is no schema, nothing changes. */
function mapSchema({ prefixItems: _, propertyNames: __, contentEncoding, ...schema }) {
  if (contentEncoding === 'base64') return { ...schema, format: 'byte' }
  if ('const' in schema) {
    const { const: only, ...rest } = schema
    return { ...rest, enum: [only] }
  }
  if (Array.isArray(schema.type)) {
    const [type] = schema.type.filter((one) => one !== 'null')
    return { ...schema, type, nullable: true }
  }
  if (Array.isArray(schema.oneOf) && schema.oneOf.some(isNull)) {
    const { oneOf, ...rest } = schema
    const [only] = oneOf.filter((one) => !isNull(one))
    return only.$ref === undefined
      ? { ...only, ...rest, nullable: true }
      : { allOf: [only], ...rest, nullable: true }
  }
  // Members beside a reference are ignored there.
  const { $ref, ...rest } = schema
  return $ref === undefined || Object.keys(rest).length === 0 ? schema : { allOf: [{ $ref }], ...rest }
}

const isNull = ({ type }) => type === 'null'
