import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupSchema } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { create } from '@bufbuild/protobuf'
import { limits } from '../../config/limits.ts'
import type { Db } from '../db.ts'
import { cachedMessage } from './cached-messages.ts'
import { sizeOfMessage } from './message-size.ts'

test('messages that are cached together have at most cachedMessagesBytesMax', async () => {
  const db = { version: () => 1 } as unknown as Db
  const message = create(GroupSchema, { description: 'x'.repeat(1024 ** 2) })
  let reads = 0
  const read = (key: string) =>
    cachedMessage(db, key, () => {
      reads++
      return { message, rows: 1 }
    })
  const fitting = Math.floor(limits.cachedMessagesBytesMax / sizeOfMessage(message))
  const keys = Array.from({ length: fitting + 1 }, (_, at) => `group ${at}`)
  for (const key of keys) for (let n = 0; n < 3; n++) await read(key)
  assert.equal(reads, 2 * keys.length)
  const newest = keys.slice(-fitting + 1)
  for (const key of newest) await read(key)
  assert.equal(reads, 2 * keys.length)
  await read(keys[0] ?? '')
  assert.equal(reads, 2 * keys.length + 1)
})
