import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ErrorObject } from 'ajv'
import { parse } from 'yaml'
import type { Cleanup } from '../server/process.ts'
import { goModule } from './go-tools.ts'

/** The schemas of Kubernetes, the Gateway API and Prometheus Operator, from their Go modules. */

type Schema = Record<string, unknown>

export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> }
  // biome-ignore lint/suspicious/noExplicitAny: assertions on manifests read better without a type for every kind
  readonly spec: any
}

/** Returns a function that lists what is wrong with an object: unknown fields, missing fields, wrong types. */
export function kubernetesValidator(t: Cleanup): (object: KubernetesObject) => readonly string[] {
  const kubernetes = goModule(t, 'k8s.io/cli-runtime@v0.34.2')
  const { definitions } = JSON.parse(readFileSync(join(kubernetes, 'artifacts/openapi/swagger.json'), 'utf8'))
  const schemas = new Map<string, Schema>()
  for (const [name, definition] of Object.entries<Schema>(definitions)) {
    const kinds = definition['x-kubernetes-group-version-kind'] as
      | { group: string; version: string; kind: string }[]
      | undefined
    for (const { group, version, kind } of kinds ?? [])
      schemas.set(`${[group, version].filter(Boolean).join('/')} ${kind}`, {
        $ref: `#/definitions/${name}`,
        definitions,
      })
  }
  for (const [module, files] of [
    ['sigs.k8s.io/gateway-api@v1.2.1', 'config/crd/standard/*.yaml'],
    ['github.com/prometheus-operator/prometheus-operator@v0.79.2', 'example/prometheus-operator-crd/*.yaml'],
  ] as const) {
    const directory = goModule(t, module)
    for (const file of globSync(files, { cwd: directory })) {
      const { spec } = parse(readFileSync(join(directory, file), 'utf8'))
      for (const { name, schema } of spec?.versions ?? [])
        schemas.set(`${spec.group}/${name} ${spec.names.kind}`, schema.openAPIV3Schema)
    }
  }
  for (const schema of new Set(schemas.values())) closeObjects(schema, new Set())
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
  const validators = new Map<string, ReturnType<Ajv['compile']>>()
  return (object) => {
    const key = `${object.apiVersion} ${object.kind}`
    const schema = schemas.get(key)
    if (schema === undefined) return [`${key} is unknown`]
    const validate = validators.get(key) ?? ajv.compile(schema)
    validators.set(key, validate)
    validate(object)
    return (validate.errors ?? []).map(
      (error: ErrorObject) =>
        `${key} ${object.metadata.name} ${error.instancePath}: ${error.message} ${JSON.stringify(error.params)}`,
    )
  }
}

/** An API server rejects unknown fields; the schemas allow them. Numbers or texts are one type in them. */
function closeObjects(schema: unknown, seen: Set<unknown>): void {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return
  seen.add(schema)
  const one = schema as Schema
  const isOneOfBoth = one['x-kubernetes-int-or-string'] === true || one['format'] === 'int-or-string'
  if (isOneOfBoth) one['type'] = ['integer', 'string']
  // A regular expression of Go, which JavaScript does not read.
  if (String(one['pattern']).includes('(?i)')) delete one['pattern']
  const properties = one['properties'] as Schema | undefined
  // An object with its name only, such as metadata of a custom resource, is open.
  if (properties !== undefined && one['additionalProperties'] === undefined)
    one['additionalProperties'] = false
  for (const value of Object.values(one)) closeObjects(value, seen)
}
