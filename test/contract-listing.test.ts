import { test } from 'node:test'
import { iam, iam_scope } from '@berth/contract/gen/annotations/auth_pb.js'
import { EventAttributes_AudienceSchema, events } from '@berth/contract/gen/annotations/events_pb.js'
import { mcp } from '@berth/contract/gen/annotations/mcp_pb.js'
import {
  bit,
  CapabilitySchema,
  name as capabilityName,
  internal_only,
} from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { FieldBehaviorSchema, field_behavior } from '@berth/contract/gen/google/api/field_behavior_pb.js'
import type { HttpRule } from '@berth/contract/gen/google/api/http_pb.js'
import { resource } from '@berth/contract/gen/google/api/resource_pb.js'
import { contractFiles, grpcStandardFiles } from '@berth/contract/schema-files.ts'
import {
  type DescEnum,
  type DescExtension,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  getOption,
  hasOption,
  ScalarType,
} from '@bufbuild/protobuf'
import { assertGolden } from './support/golden.ts'

/**
 * The whole contract as text, so that a change of a name, a number or a rule shows in review as a change of
 * test/golden/contract.txt.
 */
test('the contract is the one on record', () => {
  const services = [...contractFiles, ...grpcStandardFiles]
  assertGolden('contract.txt', `${[...services, ...ownImports(services)].map(fileText).join('\n\n')}\n`)
})

/** The files of ours that these files import, directly or not, by name. */
function ownImports(files: readonly DescFile[]): DescFile[] {
  const found = new Set<DescFile>()
  const visit = (file: DescFile) => {
    for (const dependency of file.dependencies) {
      if (dependency.name.startsWith('google/') || found.has(dependency)) continue
      found.add(dependency)
      visit(dependency)
    }
  }
  files.forEach(visit)
  return [...found].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function fileText(file: DescFile): string {
  return [
    `# ${file.proto.name}  package ${file.proto.package}`,
    ...file.services.map((service) => block(`service ${service.typeName}`, service.methods.map(methodText))),
    ...file.extensions.map((field) => `extend ${field.extendee.typeName}: ${fieldText(field)}`),
    ...nested(file.messages, file.enums),
  ].join('\n\n')
}

/** Messages and enums, each followed by those declared inside it. */
function nested(messages: readonly DescMessage[], enums: readonly DescEnum[]): string[] {
  return [
    ...messages.flatMap((message) => [
      messageText(message),
      ...nested(message.nestedMessages, message.nestedEnums),
    ]),
    ...enums.map(enumText),
  ]
}

function block(head: string, lines: readonly string[]): string {
  return [head, ...lines.flatMap((line) => line.split('\n')).map((line) => `  ${line}`)].join('\n')
}

function methodText(method: DescMethod): string {
  const stream = (on: boolean) => (on ? 'stream ' : '')
  const input = stream(method.proto.clientStreaming) + method.input.typeName
  const output = stream(method.proto.serverStreaming) + method.output.typeName
  return block(
    `${method.name} (${input}) -> ${output}`,
    [...httpLines(method), accessLine(method), eventLine(method), hintsLine(method)].filter(
      (line) => line !== undefined,
    ),
  )
}

function httpLines(method: DescMethod): string[] {
  if (!hasOption(method, http)) return []
  const rule = getOption(method, http)
  return [rule, ...rule.additionalBindings].map(bindingText)
}

function bindingText(rule: HttpRule): string {
  const verb = rule.pattern.case?.toUpperCase()
  const path = rule.pattern.case === 'custom' ? rule.pattern.value.path : rule.pattern.value
  return `http ${verb} ${path}${rule.body === '' ? '' : ` body ${rule.body}`}`
}

function accessLine(method: DescMethod): string | undefined {
  if (!hasOption(method, iam)) return undefined
  const { mode } = getOption(method, iam)
  if (mode.case !== 'enabled') return `access ${mode.case}`
  const needed = mode.value.capabilities.map((number) => CapabilitySchema.value[number]!).map(capabilityLabel)
  const scope = mode.value.unscoped ? 'unscoped' : `at ${scopePaths(method.input).join(', ')}`
  return `access ${needed.length === 0 ? 'any signed-in caller' : needed.join(' + ')}; ${scope}`
}

const capabilityLabel = (value: DescEnum['values'][number]) => getOption(value, capabilityName)

/** Paths of the scope fields of a request; a marked message leads on to the marked fields inside it. */
function scopePaths(message: DescMessage): string[] {
  return message.fields
    .filter((field) => getOption(field, iam_scope))
    .flatMap((field) =>
      field.message === undefined
        ? [field.name]
        : scopePaths(field.message).map((path) => `${field.name}.${path}`),
    )
}

function eventLine(method: DescMethod): string | undefined {
  if (!hasOption(method, events)) return undefined
  const event = getOption(method, events)
  const audience = EventAttributes_AudienceSchema.value[event.audience]?.name
  return `event ${event.type} to ${audience}${event.extensions.map((name) => ` with ${name}`).join('')}`
}

function hintsLine(method: DescMethod): string | undefined {
  if (!hasOption(method, mcp)) return undefined
  const hints = getOption(method, mcp)
  const words = Object.entries({
    'read-only': hints.readOnly,
    destructive: hints.destructive,
    idempotent: hints.idempotent,
    'open-world': hints.openWorld,
    hidden: hints.hidden,
  }).flatMap(([word, on]) => (on === undefined ? [`${word} unset`] : on ? [word] : []))
  return `hints ${words.join(', ') || 'none'}`
}

function messageText(message: DescMessage): string {
  const lines = message.fields.map(fieldText)
  if (hasOption(message, resource)) {
    const { type, pattern, singular, plural } = getOption(message, resource)
    lines.unshift(`resource ${type} ${pattern.join(' ')} ${singular} ${plural}`)
  }
  for (const range of message.proto.reservedRange)
    lines.push(`reserved ${rangeText(range.start, range.end - 1)}`)
  for (const name of message.proto.reservedName) lines.push(`reserved "${name}"`)
  return block(`message ${message.typeName}`, lines)
}

const rangeText = (first: number, last: number) => (first === last ? `${first}` : `${first} to ${last}`)

function fieldText(field: DescField | DescExtension): string {
  const notes = [
    ...getOption(field, field_behavior).map((behavior) => FieldBehaviorSchema.value[behavior]?.name),
    getOption(field, iam_scope) ? 'scope' : undefined,
    field.proto.options?.debugRedact ? 'redacted' : undefined,
    field.deprecated ? 'deprecated' : undefined,
  ].filter((note) => note !== undefined)
  return `${field.number} ${field.name} ${field.jsonName}: ${presence(field)}${typeText(field)}${notes.map((note) => ` ${note}`).join('')}`
}

function presence(field: DescField | DescExtension): string {
  if (field.oneof !== undefined) return `oneof ${field.oneof.name} `
  return field.proto.proto3Optional ? 'optional ' : ''
}

function typeText(field: DescField | DescExtension): string {
  if (field.fieldKind === 'map')
    return `map<${ScalarType[field.mapKey].toLowerCase()}, ${elementText(field)}>`
  return `${field.fieldKind === 'list' ? 'repeated ' : ''}${elementText(field)}`
}

function elementText(field: DescField | DescExtension): string {
  if (field.message !== undefined) return field.message.typeName
  if (field.enum !== undefined) return `enum ${field.enum.typeName}`
  return ScalarType[field.scalar!].toLowerCase()
}

function enumText(desc: DescEnum): string {
  const lines = desc.values.map((value) => {
    const notes = [
      hasOption(value, capabilityName)
        ? `${getOption(value, capabilityName)} bit ${getOption(value, bit)}`
        : undefined,
      getOption(value, internal_only) ? 'internal' : undefined,
      value.deprecated ? 'deprecated' : undefined,
    ].filter((note) => note !== undefined)
    return [`${value.number} ${value.name}`, ...notes].join(' ')
  })
  for (const range of desc.proto.reservedRange) lines.push(`reserved ${rangeText(range.start, range.end)}`)
  return block(`enum ${desc.typeName}`, lines)
}
