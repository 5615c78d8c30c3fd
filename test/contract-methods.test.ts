import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { capabilityName } from '@berth/contract/capabilities.ts'
import { iam, iam_scope } from '@berth/contract/gen/annotations/auth_pb.js'
import { Capability } from '@berth/contract/gen/capabilities/capabilities_pb.js'
import { GroupInvites } from '@berth/contract/gen/chainguard/platform/iam/group_invites_pb.js'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { contractFiles, grpcStandardFiles } from '@berth/contract/schema-files.ts'
import { type DescField, type DescMessage, type DescMethod, getOption, hasOption } from '@bufbuild/protobuf'

const methodsOf = (files: typeof contractFiles): DescMethod[] =>
  files.flatMap((file) => file.services).flatMap((service) => service.methods)

const marked = (message: DescMessage): DescField[] =>
  message.fields.filter((field) => getOption(field, iam_scope))

/** The text fields that name the scope of a call: marked ones, or the marked `uid` of a marked resource. */
function scopeFields(request: DescMessage): DescField[] {
  return marked(request).flatMap((field) => {
    if (field.message === undefined) return [field]
    return marked(field.message).filter((inner) => inner.name === 'uid')
  })
}

/** The one method that is public by its name alone. */
const internal: DescMethod = GroupInvites.method.createWithGroup

for (const method of methodsOf(contractFiles)) {
  describe(`${method.parent.name}.${method.name}`, () => {
    test('is one request and one response', () => {
      assert.equal(method.methodKind, 'unary')
    })

    test('has an HTTP binding', { skip: method === internal }, () => {
      assert.ok(hasOption(method, http))
      const { pattern } = getOption(method, http)
      assert.ok(pattern.case !== undefined && pattern.case !== 'custom')
      assert.match(pattern.value, /^\//)
    })

    test('binds its path and body to fields that exist', () => {
      const rule = getOption(method, http)
      const paths = [rule, ...rule.additionalBindings].flatMap(({ pattern }) =>
        typeof pattern.value === 'string'
          ? [...pattern.value.matchAll(/\{([^=}]+)/g)].map(([, path]) => path!)
          : [],
      )
      if (rule.body !== '' && rule.body !== '*') paths.push(rule.body)
      for (const path of paths) {
        let message: DescMessage | undefined = method.input
        for (const name of path.split('.')) {
          const field: DescField | undefined = message?.fields.find((candidate) => candidate.name === name)
          assert.ok(field, `no field ${path}`)
          message = field.message
        }
      }
    })

    test('says who may call it', () => {
      assert.ok(hasOption(method, iam))
      const { mode } = getOption(method, iam)
      assert.ok(mode.case !== undefined)
      if (mode.case === 'disabled') return
      const { capabilities, unscoped } = mode.value
      for (const capability of capabilities) assert.ok(capabilityName(capability), Capability[capability])
      if (unscoped) return
      assert.ok(capabilities.length > 0, 'a scoped method that needs no capability')
      const [scope, ...more] = scopeFields(method.input)
      assert.ok(scope, 'no scope field')
      assert.deepEqual(more, [], 'more than one scope field')
      assert.equal(scope.fieldKind, 'scalar')
    })
  })
}

test('no two methods share an HTTP binding', () => {
  const bound = methodsOf(contractFiles).filter((method) => method !== internal)
  const bindings = bound.flatMap((method) => {
    const rule = getOption(method, http)
    return [rule, ...rule.additionalBindings].map(({ pattern }) => `${pattern.case} ${pattern.value}`)
  })
  assert.equal(new Set(bindings).size, bindings.length)
})

test('the standard services of gRPC have neither binding nor access rule', () => {
  for (const method of methodsOf(grpcStandardFiles)) {
    assert.ok(!hasOption(method, http) && !hasOption(method, iam), method.toString())
  }
})
