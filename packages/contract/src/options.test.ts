import assert from 'node:assert/strict'
import test from 'node:test'
import { type DescExtension, getOption as decodeOption } from '@bufbuild/protobuf'
import { nestedTypes } from '@bufbuild/protobuf/reflect'
import { iam, iam_scope } from '../gen/annotations/auth_pb.js'
import { events } from '../gen/annotations/events_pb.js'
import { mcp } from '../gen/annotations/mcp_pb.js'
import { example } from '../gen/berth/annotations/v1/example_pb.js'
import { bit, CapabilitySchema, internal_only, name } from '../gen/capabilities/capabilities_pb.js'
import { http } from '../gen/google/api/annotations_pb.js'
import { field_behavior } from '../gen/google/api/field_behavior_pb.js'
import { resource } from '../gen/google/api/resource_pb.js'
import { getOption } from './options.ts'
import { contractFiles, grpcStandardFiles } from './schema-files.ts'

const types = [...contractFiles, ...grpcStandardFiles].flatMap((file) => [...nestedTypes(file)])
const messages = types.filter((type) => type.kind === 'message')
const methods = types.filter((type) => type.kind === 'service').flatMap((service) => service.methods)

/** The elements that can have each option. */
const elements: readonly (readonly [readonly unknown[], readonly DescExtension[]])[] = [
  [methods, [iam, events, mcp, http]],
  [messages, [resource]],
  [messages.flatMap((message) => message.fields), [iam_scope, field_behavior, example]],
  [CapabilitySchema.values, [bit, name, internal_only]],
]

test('options of the whole schema have the values that protobuf-es decodes', () => {
  for (const [all, options] of elements)
    for (const element of all)
      for (const option of options)
        assert.deepEqual(
          getOption(element as never, option),
          decodeOption(element as never, option),
          `${element}: ${option}`,
        )
})

test('an option is decoded once', () => {
  const method = methods.find((one) => getOption(one, http).pattern.case === 'get')
  assert.ok(method)
  assert.equal(getOption(method, http), getOption(method, http))
})
