import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GroupPathsService } from '@berth/contract/gen/berth/iam/v1/group_paths_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  type Api,
  assertError,
  invalidFieldError,
  newName,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'

/** Members of a folder know its path, and nothing else above or beside it. */

onEveryDatabase('paths of groups', (cast) => {
  /** `acme/team/images` and siblings of each, with a viewer of `acme/team` alone. */
  const newTree = async () => {
    const organization = await cast().organization()
    const { uid: root, name } = organization
    const create = async (parent: string, group: string): Promise<string> =>
      (await cast().admin.create(`iam/groups/${parent}`, { name: group })).uid
    const team = await create(root, 'team')
    const sibling = await create(root, 'secret')
    const images = await create(team, 'images')
    const member = await organization.member('editor', team)
    return { organization, root, name, team, sibling, images, member: member.api }
  }
  const find = async (api: Api, query: Record<string, string>) => {
    const { status, body, text } = await api.get('iam/groups:findPaths', query)
    assert.equal(status, 200, text)
    return body.groups.map(({ uid, path }: { uid: string; path: string }) => [uid, path])
  }

  test('a member of a folder finds it by its whole path and by its own name, with all below it', async () => {
    const { name, team, images, member } = await newTree()
    for (const [paths, expected] of [
      [`${name}/team`, [[team, `${name}/team`]]],
      ['team', [[team, `${name}/team`]]],
      [`${name}/team/images`, [[images, `${name}/team/images`]]],
      ['team/images', [[images, `${name}/team/images`]]],
    ] as const)
      assert.deepEqual(await find(member, { paths }), expected, paths)
    assert.deepEqual(await find(member, { uids: images }), [[images, `${name}/team/images`]])
    const { groups } = await cast().grpc.call(
      GroupPathsService.method.findGroupPaths,
      { uids: [team], paths: ['team/images'] },
      { token: member.token },
    )
    assert.deepEqual(
      groups.map(({ path }) => path),
      [`${name}/team`, `${name}/team/images`],
    )
  })

  test('groups above, beside and elsewhere are not found, as if they did not exist', async () => {
    const { name, root, sibling, member } = await newTree()
    const other = await newTree()
    for (const paths of [
      name,
      'secret',
      `${name}/secret`,
      `${name}/none`,
      `${name}/team/none`,
      'images',
      other.name,
      `${other.name}/team`,
      'none',
      '',
      '/',
      `${name}//team`,
      `${name}/team/`,
      `${name}/team/..`,
    ])
      assert.deepEqual(await find(member, { paths }), [], paths)
    for (const uids of [root, sibling, other.root, other.team, `${root}/0123456789abcdef`])
      assert.deepEqual(await find(member, { uids }), [], uids)
    const stranger = (await cast().organization()).owner.api
    assert.deepEqual(await find(stranger, { paths: `${name}/team` }), [])
    const list = await member.get('iam/groups', {})
    assert.ok(!list.text.includes(name), 'the list has no more than before')
    assert.equal((await member.get(`iam/groups/${root}`)).status, 403)
  })

  test('a name that several groups have is returned for each, and a renamed ancestor is seen', async () => {
    const { organization, name, root, team, sibling, member } = await newTree()
    const owner = organization.owner.api
    assert.deepEqual(await find(owner, { paths: name }), [[root, name]])
    assert.deepEqual(await find(owner, { paths: 'team' }), [], 'only topmost groups start a path')
    const { uid: nested } = await owner.create(`iam/groups/${sibling}`, { name: 'team' })
    const { uid: identity } = await cast().admin.create(`iam/identities/${root}`, {
      name: 'two',
      claimMatch: { issuer: 'https://a.example', subject: newName('s') },
    })
    const { body: roles } = await owner.get('iam/roles', { name: 'viewer' })
    for (const group of [team, nested])
      await owner.create(`iam/roleBindings/${group}`, { identityUid: identity, roleUid: roles.roles[0].uid })
    const { berth } = cast()
    const reply = await fetch(`${berth.url}/iam/v2beta1/groups:findPaths?paths=team`, {
      headers: { authorization: `Bearer ${await berth.tokenOf(identity)}` },
    })
    const { groups } = (await reply.json()) as { groups: { path: string }[] }
    assert.deepEqual(groups.map(({ path }) => path).sort(), [`${name}/secret/team`, `${name}/team`])
    await cast().admin.patch(`iam/groups/${team}`, { name: 'crew' })
    assert.deepEqual(await find(member, { uids: team }), [[team, `${name}/crew`]])
  })

  test('the platform administrator finds every path; a narrowed token only those in its groups', async () => {
    const { name, root, team, organization } = await newTree()
    assert.deepEqual(await find(cast().admin, { paths: `${name}/team` }), [[team, `${name}/team`]])
    const { berth } = cast()
    const token = await berth.tokenOf(organization.owner.uid, { scopes: [team] })
    const narrowed = { ...organization.owner.api, token }
    const reply = await cast().grpc.call(
      GroupPathsService.method.findGroupPaths,
      { uids: [root, team], paths: [name, 'team'] },
      { token: narrowed.token },
    )
    assert.deepEqual(
      reply.groups.map(({ path }) => path),
      [`${name}/team`],
    )
  })

  test('many paths that share folders are found level by level, each once, and too many segments are rejected', async () => {
    const { organization, root, name, team, sibling, images } = await newTree()
    const ask = (paths: string[]) =>
      cast().grpc.call(
        GroupPathsService.method.findGroupPaths,
        { paths },
        { token: organization.owner.api.token },
      )
    const missing = Array.from({ length: 190 }, (_, at) => `${name}/team/images/none-${at}`)
    const some = [name, `${name}/team`, `${name}/secret`, `${name}/team/images`, `${name}/team/images`]
    const { groups } = await ask([...missing, ...some])
    assert.deepEqual(groups.map(({ uid }) => uid).sort(), [root, team, sibling, images].sort())
    const deep = Array(limits.groupDepthMax).fill('a').join('/')
    const count = limits.groupPathSegmentsMax / limits.groupDepthMax
    const paths = Array.from({ length: count }, (_, at) => `${name}${at}/${deep.slice(2)}`)
    assert.deepEqual((await ask([...paths, ...paths])).groups, [])
    await assert.rejects(ask([...paths, 'one']), /groupPathSegmentsMax/)
  })

  test('too many groups, and invalid UIDs, are rejected', async () => {
    const { member } = await newTree()
    const many = await cast()
      .grpc.call(
        GroupPathsService.method.findGroupPaths,
        { paths: Array.from({ length: limits.groupPathsMax + 1 }, () => 'team') },
        { token: member.token },
      )
      .then(
        () => 0,
        ({ code }: { code: number }) => code,
      )
    assert.equal(many, 3, 'groupPathsMax')
    assertError(await member.get('iam/groups:findPaths', { uids: 'team' }), invalidFieldError('uids[0]'))
  })
})
