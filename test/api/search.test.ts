import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { SearchService } from '@berth/contract/gen/berth/search/v1/search_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import {
  type Api,
  apiOf,
  assertError,
  invalidFieldError,
  managedRole,
  newName,
  onEveryDatabase,
} from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'
import { createRole } from '../support/api/tenant.ts'
import { bearerOf, ociClient, pushImage, testImage } from '../support/registry/registry.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** Search shows what the caller may list, and nothing else has an effect on it. */

/** biome-ignore lint/suspicious/noExplicitAny: JSON of the API. */
type Json = any

onEveryDatabase('search', (cast) => {
  const search = async (api: Api, text: string, query: Record<string, string> = {}) => {
    const { url } = cast().berth
    const parameters = new URLSearchParams({ text, ...query })
    return call('GET', `${url}/search/v1/resources:search?${parameters}`, { token: api.token })
  }
  const found = async (api: Api, text: string, query: Record<string, string> = {}): Promise<Json[]> => {
    const { status, body, text: reply } = await search(api, text, query)
    assert.equal(status, 200, reply)
    return body.resources.map((one: Json) => ({ ...one, kind: one.kind.replace('RESOURCE_KIND_', '') }))
  }
  const shown = async (api: Api, text: string, query: Record<string, string> = {}) =>
    (await found(api, text, query)).map(({ kind, path }) => `${kind} ${path}`)
  const lookUp = async (api: Api, uids: readonly string[]) =>
    call('POST', `${cast().berth.url}/search/v1/resources:lookup`, { token: api.token, body: { uids } })

  /** An organization with a folder, and in it a repo with an image, an identity and a role. */
  const newTree = async (mark = newName('x').replace('-', '')) => {
    const organization = await cast().organization()
    const { uid: root, name } = organization
    const { api } = organization.owner
    const folder = (await api.create(`iam/groups/${root}`, { name: `${mark}-team` })).uid
    const repo = (await api.create(`registry/repos/${folder}`, { name: `web-${mark}.app` })).uid
    const claimMatch = { issuer: 'https://a.example', subject: mark }
    const identity = (await api.create(`iam/identities/${folder}`, { name: `ci_${mark}`, claimMatch })).uid
    const role = (
      await api.create(`iam/roles/${root}`, { name: `${mark}`, capabilities: ['CAP_IAM_GROUPS_LIST'] })
    ).uid
    const client = ociClient(cast().berth, await bearerOf(cast().berth, organization.owner.uid))
    const image = testImage()
    const path = `${name}/${mark}-team/web-${mark}.app`
    await pushImage(client, path, image, `v1.${mark}`)
    return { organization, root, name, mark, folder, repo, identity, role, image, path, api }
  }

  /** Creates repos whose times of creation differ, by which the server orders them. */
  const createReposInOrder = async (api: Api, root: string, names: readonly string[]) => {
    for (const name of names) {
      await api.create(`registry/repos/${root}`, { name })
      const createdMs = Date.now()
      while (Date.now() === createdMs) await pause(1)
    }
  }

  test('names are found by a prefix of a word: whole names first, then prefixes, then words', async () => {
    const { api, mark, name, path } = await newTree()
    assert.deepEqual(await shown(api, mark), [
      `ROLE ${name}/${mark}`,
      `FOLDER ${name}/${mark}-team`,
      `IDENTITY ${name}/${mark}-team/ci_${mark}`,
      `REPOSITORY ${path}`,
    ])
    assert.deepEqual(
      await shown(api, mark.toUpperCase().slice(0, -1), { kinds: 'RESOURCE_KIND_REPOSITORY' }),
      [`REPOSITORY ${path}`],
    )
    assert.deepEqual(await shown(api, mark.slice(1)), [], 'not inside a word')
    assert.deepEqual(await shown(api, `web ${mark}`), [`REPOSITORY ${path}`], 'separators are equal')
    assert.deepEqual(await shown(api, `${mark}-team/web`), [`REPOSITORY ${path}`], 'a part of the path')
    assert.deepEqual(await shown(api, name), [`ORGANIZATION ${name}`])
  })

  test('whole names are first, and the latest of equal matches', async () => {
    const { organization, root } = await newTree()
    const { api } = organization.owner
    const mark = newName('y').replace('-', '')
    await createReposInOrder(api, root, [`a-${mark}`, `${mark}-a`, `${mark}-b`, mark, `b-${mark}`])
    const names = (await found(api, mark)).map(({ name }) => name)
    assert.deepEqual(names, [mark, `${mark}-b`, `${mark}-a`, `b-${mark}`, `a-${mark}`])
  })

  test('tags, digests and uids are found', async () => {
    const { api, mark, path, image, repo, folder, identity } = await newTree()
    const tag = `TAG ${path}:v1.${mark}`
    assert.deepEqual(await shown(api, `v1.${mark}`), [tag])
    assert.deepEqual(await shown(api, `web-${mark}:v1`), [tag])
    assert.deepEqual(await shown(api, `${path}:v1`), [tag])
    assert.deepEqual(await shown(api, `${new URL(cast().berth.url).host}/${path}:v1`), [tag])
    assert.deepEqual(await shown(api, `other/web-${mark}:v1`), [])
    const manifest = `MANIFEST ${path}@${image.digest}`
    assert.deepEqual(await shown(api, image.digest), [manifest, tag])
    assert.deepEqual((await shown(api, image.digest.slice(0, 20))).sort(), [manifest, tag])
    assert.deepEqual((await shown(api, image.digest.slice(7, 20))).sort(), [manifest, tag])
    assert.deepEqual((await shown(api, `${path}@${image.digest.slice(0, 20)}`)).sort(), [manifest, tag])
    assert.deepEqual(await shown(api, repo), [`REPOSITORY ${path}`])
    assert.deepEqual(
      (await found(api, identity)).map(({ uid, parent, name }) => [uid, parent, name]),
      [[identity, folder, `ci_${mark}`]],
    )
  })

  test('advisories are found by their IDs and packages', async () => {
    const { api, root, name } = await newTree()
    const number = String(Math.floor(Math.random() * 1e9))
    const letters = [...number.padEnd(4, '0')].map((digit) => 'cfghjmpqrv'[Number(digit)]).join('')
    const osv = {
      id: `GHSA-${letters.slice(0, 4)}-${letters.slice(-4)}-cfgh`,
      modified: '2025-01-02T03:04:05Z',
      aliases: [`CVE-2025-${number}`],
      affected: [{ package: { ecosystem: 'npm', name: `pack${number}` } }],
    }
    const content = Buffer.from(JSON.stringify(osv)).toString('base64')
    await cast().admin.create(`vulnerabilities/advisories/${root}:importDocuments`, {
      documents: [{ name: 'a.json', content }],
    })
    for (const text of [
      `CVE-2025-${number}`,
      `cve-2025-${number}`,
      osv.id,
      `pack${number}`,
      `2025-${number}`,
    ]) {
      const [first] = await found(api, text, { kinds: 'RESOURCE_KIND_ADVISORY' })
      assert.deepEqual([first?.kind, first?.path.startsWith(name)], ['ADVISORY', true], text)
      const [again] = await found(api, first.uid)
      assert.equal(again.uid, first.uid)
      const stranger = (await cast().organization()).owner.api
      assert.deepEqual(await found(stranger, text), [], text)
    }
  })

  test('users are found where they have roles, by name and address', async () => {
    const { api, organization, folder, name, mark } = await newTree()
    const email = `${newName('grace')}@example.com`
    const user = await createPerson(cast().berth, { email })
    assert.deepEqual(await found(api, email), [])
    await cast().admin.create(`iam/roleBindings/${folder}`, {
      identityUid: user,
      roleUid: managedRole('viewer'),
    })
    for (const text of [email, email.toUpperCase(), email.slice(0, 10)]) {
      const [one] = await found(api, text)
      assert.deepEqual(
        [one?.kind, one?.uid, one?.parent, one?.path],
        ['USER', user, folder, `${name}/${mark}-team`],
      )
    }
    const puller = await organization.member('registry.pull')
    assert.deepEqual(await found(puller.api, email), [], 'without the list of role bindings')
  })

  test('what the caller cannot list is never found, and does not change what is', async () => {
    const mine = await newTree()
    const mark = mine.mark
    const before = await found(mine.api, mark)
    const other = await newTree(mark)
    assert.deepEqual(await found(mine.api, mark), before)
    for (const text of [other.name, other.repo, other.folder, other.identity, other.role, other.image.digest])
      assert.deepEqual(await found(mine.api, text), [], text)
    assert.deepEqual(await shown(mine.api, `${other.name}/`.slice(0, -1)), [])
    assert.deepEqual(await found(mine.api, mark, { organization: other.root }), [])
    // A member of a folder finds nothing beside it.
    const sibling = (await mine.api.create(`iam/groups/${mine.root}`, { name: `${mark}-secret` })).uid
    await mine.api.create(`registry/repos/${sibling}`, { name: `${mark}-secret` })
    const member = await mine.organization.member('viewer', mine.folder)
    const paths = (await found(member.api, mark)).map(({ path }) => path)
    assert.ok(
      paths.length >= 3 && paths.every((path) => path.startsWith(`${mine.name}/${mark}-team`)),
      String(paths),
    )
    assert.deepEqual(await found(member.api, `${mark}-secret`), [])
    assert.deepEqual(await found(member.api, mine.role), [])
    // A kind without its capability is omitted.
    const puller = await mine.organization.member('registry.pull')
    const kinds = new Set((await found(puller.api, mark)).map(({ kind }) => kind))
    assert.deepEqual([...kinds].sort(), ['FOLDER', 'REPOSITORY'])
    // The administrator finds both.
    const all = (await found(cast().admin, `web-${mark}`)).map(({ uid }) => uid).sort()
    assert.deepEqual(all, [mine.repo, other.repo].sort())
    const within = await found(cast().admin, `web-${mark}`, { organization: other.root })
    assert.deepEqual(
      within.map(({ uid }) => uid),
      [other.repo],
    )
  })

  test('tags and manifests are found without the name of a repo that the caller cannot list', async () => {
    const { organization, root, mark, image } = await newTree()
    const role = await createRole(cast().berth, root, ['tag.list', 'manifest.list', 'groups.list'], 'blind')
    const { api } = await organization.member(role)
    assert.deepEqual(await shown(api, `v1.${mark}`), [`TAG v1.${mark}`])
    assert.deepEqual(await shown(api, image.digest), [`MANIFEST ${image.digest}`, `TAG v1.${mark}`])
    assert.deepEqual(await shown(api, `web-${mark}:v`), [], 'not by the name of the repo')
    assert.deepEqual(await shown(api, `web-${mark}.app@${image.digest}`), [])
  })

  test('results of each kind are limited, and incomplete kinds named', async () => {
    const { api, root } = await newTree()
    const mark = newName('z').replace('-', '')
    await createReposInOrder(api, root, [`${mark}-1`, `${mark}-2`, `${mark}-3`])
    await api.create(`iam/groups/${root}`, { name: mark })
    const { body } = await search(api, mark, { max_results: '2' })
    assert.deepEqual(
      body.resources.map(({ name }: Json) => name),
      [mark, `${mark}-3`, `${mark}-2`],
    )
    assert.deepEqual(body.incompleteKinds, ['RESOURCE_KIND_REPOSITORY'])
    const whole = await search(api, mark)
    assert.deepEqual([whole.body.resources.length, whole.body.incompleteKinds], [4, []])
  })

  test('invalid fields are rejected', async () => {
    const { api } = await newTree()
    for (const text of ['', 'x', '  x  ', 'x'.repeat(limits.searchCharsMax + 1)])
      assertError(await search(api, text), invalidFieldError('text'))
    assertError(await search(api, 'web', { max_results: '-1' }), invalidFieldError('max_results'))
    assertError(await search(api, 'web', { organization: 'acme' }), invalidFieldError('organization'))
    for (const kinds of ['RESOURCE_KIND_UNSPECIFIED', 'RESOURCE_KIND_ROLE_BINDING'])
      assertError(await search(api, 'web', { kinds }), invalidFieldError('kinds[0]'))
    assertError(await lookUp(api, []), invalidFieldError('uids'))
    assertError(await lookUp(api, ['acme']), invalidFieldError('uids[0]'))
    const many = Array.from({ length: limits.lookupUidsMax + 1 }, (_, n) => n.toString(16).padStart(40, '0'))
    assertError(await lookUp(api, many), invalidFieldError('uids'))
    for (const text of [
      "'",
      '%',
      '_%',
      '\\',
      '{}',
      '[]',
      'a:b:c',
      '@@',
      ':x',
      'sha256:',
      'web@sha256:abc',
      '\u202e‮',
      '𝕏𝕏',
    ])
      assert.deepEqual(await found(api, text.padEnd(2, '%')), [], text)
  })

  test('gRPC returns the same', async () => {
    const { api, mark, repo } = await newTree()
    const { resources } = await cast().grpc.call(
      SearchService.method.searchResources,
      { text: `web-${mark}` },
      { token: api.token },
    )
    assert.deepEqual(
      resources.map(({ uid }) => uid),
      [repo],
    )
  })

  test('names are looked up for what the caller can list', async () => {
    const tree = await newTree()
    const { api, root, folder, repo, identity, role, mark, name, path, organization } = tree
    const other = await newTree()
    const binding = (await api.create(`iam/roleBindings/${folder}`, { identityUid: identity, roleUid: role }))
      .uid
    const invite = (
      await api.create(`iam/groupInvites/${root}`, {
        roleUid: managedRole('viewer'),
        email: 'bob@example.com',
        ttl: '3600s',
      })
    ).uid
    const uids = [root, folder, repo, identity, role, binding, invite, managedRole('owner')]
    const secret = [other.root, other.repo, other.identity, other.role, `${root}/0123456789abcdef`]
    const { body } = await lookUp(api, [...uids, ...secret])
    const rows = Object.fromEntries(
      body.resources.map((one: Json) => [
        one.uid,
        `${one.kind.slice(14)} ${one.name} | ${one.path} | ${one.detail}`,
      ]),
    )
    assert.deepEqual(rows, {
      [root]: `ORGANIZATION ${name} | ${name} | `,
      [folder]: `FOLDER ${mark}-team | ${name}/${mark}-team | `,
      [repo]: `REPOSITORY web-${mark}.app | ${path} | `,
      [identity]: `IDENTITY ci_${mark} | ${name}/${mark}-team/ci_${mark} | `,
      [role]: `ROLE ${mark} | ${name}/${mark} | `,
      [binding]: `ROLE_BINDING ${mark} | ${name}/${mark}-team | ci_${mark}`,
      [invite]: `GROUP_INVITE viewer | ${name} | bob@example.com`,
      [managedRole('owner')]: rows[managedRole('owner')],
    })
    const puller = await organization.member('registry.pull', folder)
    const few = await lookUp(puller.api, [...uids, puller.uid])
    assert.deepEqual(
      few.body.resources.map(({ uid }: Json) => uid),
      [managedRole('owner'), folder, repo].sort(),
    )
    const person = await createPerson(cast().berth, { email: `${newName('p')}@example.com` })
    assert.deepEqual((await lookUp(api, [person])).body.resources, [])
    await cast().admin.create(`iam/roleBindings/${folder}`, {
      identityUid: person,
      roleUid: managedRole('viewer'),
    })
    const [user] = (await lookUp(api, [person])).body.resources
    assert.deepEqual([user.kind, user.parent], ['RESOURCE_KIND_USER', folder])
    assert.deepEqual((await lookUp(other.api, [person])).body.resources, [])
    // A role elsewhere does not show, and does not hide the one here.
    const roleUid = managedRole('viewer')
    await cast().admin.create(`iam/roleBindings/${other.folder}`, { identityUid: person, roleUid })
    const parents = async (by: Api) =>
      (await lookUp(by, [person])).body.resources.map(({ parent }: Json) => parent)
    assert.deepEqual(await parents(api), [folder])
    assert.deepEqual(await parents(other.api), [other.folder])
    const own = apiOf(cast().berth, await cast().berth.tokenOf(person))
    assert.deepEqual(await parents(own), [[folder, other.folder].sort()[0]])
    assert.deepEqual(await parents((await organization.member('registry.pull')).api), [])
  })
})

onEveryDatabase(
  'search in more folders than a statement has parts for',
  (cast) => {
    test('advisories in all of them are found', async () => {
      const { uid: root, member, owner } = await cast().organization()
      const mark = newName('pack')
      const names = ['a', 'b', 'c']
      const folders = []
      for (const name of names) folders.push((await owner.api.create(`iam/groups/${root}`, { name })).uid)
      const { uid, api } = await member('viewer', folders[0])
      for (const folder of folders.slice(1))
        await owner.api.create(`iam/roleBindings/${folder}`, {
          identityUid: uid,
          roleUid: managedRole('viewer'),
        })
      for (const [at, folder] of folders.entries()) {
        const osv = {
          id: `GHSA-cfgh-jmpq-cfg${'hjm'[at]}`,
          modified: '2025-01-02T03:04:05Z',
          affected: [{ package: { ecosystem: 'npm', name: mark } }],
        }
        const content = Buffer.from(JSON.stringify(osv)).toString('base64')
        await cast().admin.create(`vulnerabilities/advisories/${folder}:importDocuments`, {
          documents: [{ name: 'a.json', content }],
        })
      }
      const parameters = new URLSearchParams({ text: mark, kinds: 'RESOURCE_KIND_ADVISORY' })
      const path = `${cast().berth.url}/search/v1/resources:search?${parameters}`
      const { body } = await call('GET', path, { token: api.token })
      assert.deepEqual(
        body.resources.map(({ path: found }: Json) => found.split('/')[1]).toSorted(),
        names,
        JSON.stringify(body),
      )
      assert.deepEqual(body.incompleteKinds, [])
    })
  },
  { sizes: { bucketRowsMax: 2048, rowsInlineMax: 2000, branchesMax: 2 } },
)
