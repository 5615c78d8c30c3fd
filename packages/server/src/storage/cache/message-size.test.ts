import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { RoleBindingSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/role_bindings_pb.js'
import { RoleSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/roles_pb.js'
import { RepoSchema } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { TagSchema } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/tags_pb.js'
import { type DescMessage, toBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { randomMessage } from '../../../../../test/support/api/random-message.ts'
import { createJsonWriter } from '../../gateway/json/writer.ts'
import { sizeOfMessage } from './message-size.ts'

const schemas: readonly DescMessage[] = [GroupSchema, RoleSchema, RoleBindingSchema, RepoSchema, TagSchema]

for (const schema of schemas)
  test(`the size of any ${schema.name} is at least that of its encodings`, () => {
    const write = createJsonWriter(schema)
    fc.assert(
      fc.property(randomMessage(schema), (message) => {
        const encoded = Buffer.byteLength(write(message)) + toBinary(schema, message).length
        assert.ok(sizeOfMessage(message) >= encoded, `${sizeOfMessage(message)} < ${encoded}`)
      }),
    )
  })
