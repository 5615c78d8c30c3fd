import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ImagesService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/images_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  assertError,
  invalidFieldError,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { createRole } from '../support/api/tenant.ts'

const REPO = 'registry.chainguard.dev/Repo'
const MANIFEST = 'registry.chainguard.dev/Manifest'
const digest = `sha256:${'0123456789abcdef'.repeat(4)}`
const questions = ['architectures', 'size'] as const

onEveryDatabase('images', (cast) => {
  test('an image that was not pushed is not found', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid: repo } = await owner.api.create(`registry/repos/${root}`, { name: 'nginx' })
    const team = await owner.api.create(`iam/groups/${root}`, { name: 'team' })
    const deep = await owner.api.create(`registry/repos/${team.uid}`, { name: 'nginx' })
    const long = `sha512:${'0'.repeat(128)}`
    await cast().writesNothing(async () => {
      for (const question of questions)
        for (const uid of [repo, deep.uid])
          for (const name of [digest, long])
            assertError(
              await owner.api.get(`registry/repos/${uid}/digests/${name}/${question}`),
              notFoundError(MANIFEST, name),
            )
      for (const architecture of [
        '',
        'amd64',
        'arm64',
        'arm/v7',
        'x86_64',
        'a'.repeat(limits.architectureCharsMax),
      ])
        assertError(
          await owner.api.get(`registry/repos/${repo}/digests/${digest}/size`, { architecture }),
          notFoundError(MANIFEST, digest),
        )
    })
  })

  test('the same over gRPC', async () => {
    const { owner, uid: root } = await cast().organization()
    const { uid: repoUid } = await owner.api.create(`registry/repos/${root}`, { name: 'nginx' })
    const { token } = owner.api
    const { getArchitectures, getSize } = ImagesService.method
    const { grpc } = cast()
    for (const [request, code] of [
      [{ repoUid, digest }, 5],
      [{ repoUid, digest: 'latest' }, 3],
      [{ repoUid }, 3],
      [{ digest }, 3],
    ] as const) {
      await assert.rejects(grpc.call(getArchitectures, request, { token }), { code })
      await assert.rejects(grpc.call(getSize, request, { token }), { code })
    }
    await assert.rejects(grpc.call(getSize, { repoUid, digest, architecture: '-' }, { token }), { code: 3 })
  })

  test('invalid requests are rejected, field by field (architectureCharsMax)', async () => {
    const { owner, uid: root } = await cast().organization()
    const { api } = owner
    const { uid: repo } = await api.create(`registry/repos/${root}`, { name: 'nginx' })
    for (const bad of ['latest', digest.slice(0, -1), `${digest}0`, digest.toUpperCase(), 'sha256:'])
      for (const question of questions)
        assertError(
          await api.get(`registry/repos/${repo}/digests/${bad}/${question}`),
          invalidFieldError('digest'),
        )
    const size = `registry/repos/${repo}/digests/${digest}/size`
    for (const architecture of [
      'a'.repeat(limits.architectureCharsMax + 1),
      'AMD64',
      'arm-v7',
      'arm/',
      '/v7',
      'arm/v7/x',
      'amd64 ',
      'amd64\u0000',
    ])
      assertError(await api.get(size, { architecture }), invalidFieldError('architecture'))
    assertError(
      await api.get(`registry/repos/${repo}/digests/latest/size`, { architecture: '-' }),
      invalidFieldError('digest', 'architecture'),
    )
    // A missing repo is reported before other violations.
    const gone = `${root}/0123456789abcdef`
    for (const question of questions)
      for (const name of [digest, 'latest'])
        assertError(
          await api.get(`registry/repos/${gone}/digests/${name}/${question}`),
          notFoundError(REPO, gone),
        )
    for (const question of questions)
      assertError(
        await api.get(`registry/repos/x/digests/${digest}/${question}`),
        invalidFieldError('repoUid'),
      )
  })

  test('R17: only callers who may read repos and manifests there get a response', async () => {
    const { owner, uid: root, member } = await cast().organization()
    const { uid: repo } = await owner.api.create(`registry/repos/${root}`, { name: 'nginx' })
    const stranger = await cast().organization()
    const half = await createRole(cast().berth, root, ['repo.list'], 'half')
    const other = await createRole(cast().berth, root, ['manifest.metadata.list'], 'other')
    for (const question of questions) {
      const path = `registry/repos/${repo}/digests/${digest}/${question}`
      for (const role of ['viewer', 'registry.pull']) {
        const { api } = await member(role)
        assertError(await api.get(path), notFoundError(MANIFEST, digest))
      }
      for (const role of [half, other])
        assertError(await (await member(role)).api.get(path), permissionDeniedError)
      assertError(await stranger.owner.api.get(path), permissionDeniedError)
      assertError(
        await stranger.owner.api.get(`registry/repos/${root}/0123456789abcdef/digests/x/${question}`),
        permissionDeniedError,
      )
    }
  })
})
