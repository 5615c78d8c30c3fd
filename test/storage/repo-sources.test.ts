import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { RepoSchema } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { openSqliteDb } from '@berth/server/storage/db.ts'
import * as init from '@berth/server/storage/migrations/0001-init.ts'
import * as repoSources from '@berth/server/storage/migrations/0004-repo-sources.ts'
import { create, toBinary } from '@bufbuild/protobuf'

test('existing copies still copy their sources', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'berth-test-'))
  const db = await openSqliteDb(join(directory, 'berth.db'))
  t.after(async () => {
    await db.close()
    rmSync(directory, { recursive: true })
  })
  await init.up(db.kysely as never, 'sqlite')
  const times = { catalog_tier: 0, created_ms: 1, updated_ms: 1, description: '' }
  for (const [uid, repo] of [
    ['a/1', {}],
    ['a/2', { syncConfig: { source: 'a/1' } }],
  ] as const) {
    const configuration = toBinary(RepoSchema, create(RepoSchema, repo))
    const row = { ...times, root: 'a', parent: 'a', uid, name: uid, configuration }
    await db.kysely
      .insertInto('repos')
      .values(row as never)
      .execute()
  }
  await repoSources.up(db.kysely as never, 'sqlite')
  const rows = await db.kysely.selectFrom('repos').select(['uid', 'source']).orderBy('uid').execute()
  assert.deepEqual(rows, [
    { uid: 'a/1', source: '' },
    { uid: 'a/2', source: 'a/1' },
  ])
})
