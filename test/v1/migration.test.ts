import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { http } from '@berth/contract/gen/google/api/annotations_pb.js'
import { v1Files } from '@berth/contract/schema-files.ts'
import { getOption } from '@bufbuild/protobuf'
import { type Api, type ApiFixture, newName, onEveryDatabase } from '../support/api/api-fixture.ts'
import { createPerson } from '../support/signin/accounts.ts'

/** How callers move from version 1 to version 2: by the three steps, and call by call as docs/migration.md has it. */

type Json = Readonly<Record<string, unknown>>

/** What no server of this kind does, in neither version. */
const refused = /cim(?:Token|Enabled)"$/

async function send(url: string, token: string, method = 'GET', body?: string, status = 200): Promise<Json> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  assert.equal(response.status, status, `${method} ${url} ${body ?? ''}: ${text}`)
  return text === '' ? {} : JSON.parse(text)
}

const digest = `sha256:${'d'.repeat(64)}`
const claimMatch = { issuer: 'https://ci.example.com', subject: 'robot' }
const oidc = { issuer: 'https://login.example.com', clientId: 'berth', clientSecret: 'secret' }

/** An organization whose resources are created when a test needs them, by their names in the guide. */
class World {
  readonly #cast: ApiFixture
  readonly #api: Api
  readonly #organization: string
  readonly #domain = `${newName('works')}.example`
  readonly #made = new Map<string, Promise<string>>()

  private constructor(cast: ApiFixture, organization: string) {
    this.#cast = cast
    this.#api = cast.admin
    this.#organization = organization
  }

  static async of(cast: ApiFixture): Promise<World> {
    const { uid } = await cast.organization()
    return new World(cast, uid)
  }

  /** One in which every list has something, from the organization itself and from below it. */
  static async full(cast: ApiFixture): Promise<World> {
    const world = await World.of(cast)
    const names = ['IDENTITY', 'ROLE', 'BINDING', 'MAPPING', 'ASSOCIATED', 'INVITE', 'TAG', 'EMPLOYER']
    for (const name of names) await world.valueOf(name)
    const group = await world.valueOf('GROUP')
    const { create: made } = cast.admin
    await made(`iam/groups/${group}`, { name: 'below' })
    await made(`iam/identities/${group}`, { name: 'below', claimMatch })
    await made(`iam/groupInvites/${group}`, { roleUid: await world.valueOf('ROLE'), ttl: '3600s' })
    await made(`registry/repos/${group}`, { name: 'below' })
    return world
  }

  /** Of the platform's administrator, or of a person who has an address of the employer. */
  async token(path: string): Promise<string> {
    if (!/lookupGroup|requestGroupAccess|checkEligibility/.test(path)) return this.#api.token
    return this.#cast.berth.tokenOf(await this.valueOf('PERSON'))
  }

  valueOf(name: string): Promise<string> {
    let made = this.#made.get(name)
    if (made === undefined) {
      made = this.#make(name)
      this.#made.set(name, made)
    }
    return made
  }

  async #make(name: string): Promise<string> {
    const of = (other: string) => this.valueOf(other)
    const made = async (path: string, body: object) => (await this.#api.create(path, body)).uid as string
    const org = this.#organization
    switch (name) {
      case 'ORG':
        return org
      case 'EMPLOYER':
        return made('iam/groups', { name: this.#domain, verified: true, kind: 'ORG_KIND_CUSTOMER' })
      case 'PERSON':
        return createPerson(this.#cast.berth, { email: `ada@${this.#domain}` })
      case 'GROUP':
        return made(`iam/groups/${org}`, { name: newName('group') })
      case 'IDENTITY':
        return made(`iam/identities/${org}`, {
          name: 'robot',
          claimMatch: { ...claimMatch, subject: newName('s') },
        })
      case 'ROLE':
        return made(`iam/roles/${org}`, { name: newName('role'), capabilities: ['CAP_IAM_GROUPS_LIST'] })
      case 'BINDING': {
        const identityUid = await made(`iam/identities/${org}`, { name: 'bound', claimMatch })
        const roleUid = await made(`iam/roles/${org}`, {
          name: newName('old'),
          capabilities: ['CAP_IAM_GROUPS_LIST'],
        })
        return made(`iam/roleBindings/${await of('GROUP')}`, { identityUid, roleUid })
      }
      case 'PROVIDER':
        return made(`iam/identityProviders/${org}`, {
          name: newName('idp'),
          defaultRole: await of('ROLE'),
          oidc,
        })
      case 'MAPPING':
        return made(`iam/externalGroupRoleMappings/${await of('PROVIDER')}`, {
          externalGroupId: newName('group'),
          roleUid: await of('ROLE'),
          scope: org,
        })
      case 'ASSOCIATED': {
        const group = await made(`iam/groups/${org}`, { name: newName('linked') })
        return made(`iam/accountAssociations/${group}`, {
          name: `of ${group.slice(-16)}`,
          amazon: { account: '123456789012' },
        })
      }
      case 'ASSOCIATION_NAME':
        return encodeURIComponent(`of ${(await of('ASSOCIATED')).slice(-16)}`)
      case 'INVITE':
        return made(`iam/groupInvites/${org}`, { roleUid: await of('ROLE'), ttl: '3600s' })
      case 'REPO':
        return made(`registry/repos/${org}`, { name: newName('repo') })
      case 'TAG':
        return made(`registry/tags/${await of('REPO')}`, { name: 'latest', digest })
      case 'DIGEST':
        return digest
      case 'ISSUER':
        return claimMatch.issuer
      case 'SUBJECT': {
        const subject = newName('subject')
        await createPerson(this.#cast.berth, { issuer: claimMatch.issuer, subject })
        return subject
      }
      default:
        throw new Error(`the guide names ${name}, which nothing makes`)
    }
  }
}

const guide = readFileSync('docs/migration.md', 'utf8')
const pairs = [...guide.matchAll(/```sh\n(curl [^\n]+)\n(curl [^\n]+)\n```/g)].map(
  ([, old = '', next = '']) => ({
    old,
    next,
  }),
)

/** What a command of the guide says, as a shell would read it. */
async function run(command: string, world: World, base: string): Promise<Json> {
  const [, method = 'GET', quoted, path = ''] =
    /^curl -H "\$AUTH" (?:-X ([A-Z]+) )?(?:-H 'Content-Type: application\/json' -d '(.*)' )?"\$API(\/[^"]*)"$/.exec(
      command,
    ) ?? assert.fail(command)
  const filled = async (text: string) => {
    const values = new Map<string, string>()
    for (const [, name = ''] of text.matchAll(/\$([A-Z_]+)/g)) values.set(name, await world.valueOf(name))
    return text.replace(/'?\$([A-Z_]+)'?/g, (_, name: string) => values.get(name) ?? '')
  }
  const address = await filled(path)
  const body = quoted === undefined ? undefined : await filled(quoted)
  return send(base + address, await world.token(path), method, body, refused.test(command) ? 501 : 200)
}

/** The list in an answer, or the answer as a list of its own. */
function itemsOf(answer: Json): Json[] {
  const lists = Object.values(answer).filter((value) => Array.isArray(value)) as Json[][]
  const isList =
    'items' in answer || 'nextPageToken' in answer || (answer['id'] ?? answer['uid']) === undefined
  if (isList && lists[0] !== undefined) return lists[0]
  const { group } = answer
  return [Object.keys(answer).join() === 'group' ? (group as Json) : answer]
}

const idsOf = (answer: Json) => itemsOf(answer).map(({ id, uid }) => id ?? uid)

/** What is the same about the ids of two worlds. */
const depthsOf = (answer: Json) => idsOf(answer).map((id) => String(id).split('/').length)

/** The nine resources: where their lists are, and what the newer ones call them. */
const collections = [
  ['/iam/v1/groups', 'groups'],
  ['/iam/v1/identities', 'identities'],
  ['/iam/v1/roles', 'roles'],
  ['/iam/v1/roleBindings', 'roleBindings'],
  ['/iam/v1/identityProviders', 'identityProviders'],
  ['/iam/v1/accountAssociations', 'accountAssociations'],
  ['/iam/v1/groupInvites', 'groupInvites'],
  ['/registry/v1/repos', 'repos'],
  ['/registry/v1/tags', 'tags'],
] as const

onEveryDatabase('migrating from version 1', (cast, { rowsOf }) => {
  test('in three steps: another path, three other names, pages', async () => {
    const { uid: root, owner } = await cast().organization()
    const made = owner.api.create
    const repo = (await made(`registry/repos/${root}`, { name: 'web' })).uid
    const roleUid = (await made(`iam/roles/${root}`, { name: 'own', capabilities: ['CAP_IAM_GROUPS_LIST'] }))
      .uid
    for (const n of [1, 2, 3]) {
      const group = (await made(`iam/groups/${root}`, { name: `group ${n}` })).uid
      const { uid: identityUid } = await made(`iam/identities/${root}`, { name: `robot ${n}`, claimMatch })
      await made(`iam/roleBindings/${group}`, { identityUid, roleUid })
      await made(`iam/identityProviders/${root}`, { name: `login ${n}`, defaultRole: roleUid, oidc })
      await made(`iam/accountAssociations/${group}`, {
        name: `clouds ${n}`,
        amazon: { account: '123456789012' },
      })
      await made(`iam/groupInvites/${root}`, { roleUid, ttl: '3600s' })
      await made(`registry/repos/${root}`, { name: `repo ${n}` })
      await made(`registry/tags/${repo}`, { name: `tag-${n}`, digest })
    }
    const { url } = cast().berth
    const { token } = owner.api
    for (const [path, resources] of collections) {
      const { items } = (await send(url + path, token)) as { items: Json[] }
      assert.ok(items.length >= 3, path)

      const newer = path.replace('/v1/', '/v2beta1/')
      const found: Json[] = []
      let pageToken = ''
      do {
        const page = await send(
          `${url}${newer}?page_size=2&page_token=${encodeURIComponent(pageToken)}`,
          token,
        )
        found.push(...(page[resources] as Json[]))
        pageToken = page['nextPageToken'] as string
      } while (pageToken !== '')

      const renamed = items.map(({ id, createdAt, updatedAt, ...rest }) => ({
        ...rest,
        uid: id,
        createTime: createdAt,
        updateTime: updatedAt,
      }))
      // For some resources version 1 has only one time.
      const comparable = ['uid', 'createTime', 'updateTime'].filter((name) =>
        renamed.every((item: Json) => item[name] !== undefined),
      )
      assert.ok(comparable.length >= 2, path)
      const shown = (list: readonly Json[]) =>
        list
          .map((item) => comparable.map((name) => item[name]))
          .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
      assert.deepEqual(shown(renamed), shown(found), path)
    }
  })

  test('call by call, as in the guide', async () => {
    assert.ok(pairs.length > 53, `${pairs.length} pairs`)
    const { url } = cast().berth
    const full = await World.full(cast())
    for (const { old, next } of rowsOf(pairs)) {
      assert.match(old, /\/v1\//)
      assert.match(next, /\/v2beta1\//)
      const changes = old.includes(' -X ')
      const before = await run(old, changes ? await World.of(cast()) : full, url)
      const after = await run(next, changes ? await World.of(cast()) : full, url)
      if (refused.test(old)) assert.deepEqual([before['code'], after['code']], [12, 12], next)
      else if (old.includes(' -X DELETE')) assert.deepEqual([before, after], [{}, {}], next)
      else if (changes) assert.deepEqual(depthsOf(after), depthsOf(before), next)
      else {
        assert.notDeepEqual(idsOf(before), [], old)
        assert.deepEqual(idsOf(after).sort(), idsOf(before).sort(), next)
        assert.equal(after['eligible'], before['eligible'], next)
      }
    }
  })

  test('every method of version 1 has a counterpart, except the listed ones', () => {
    const said = pairs.map(({ old }) => old)
    const paths = v1Files.flatMap((file) => file.services).flatMap((service) => service.methods)
    for (const method of paths) {
      const { pattern } = getOption(method, http)
      if (
        pattern.case === undefined ||
        method.parent.name === 'Registry' ||
        method.parent.name === 'Vulnerabilities' ||
        method.parent.name === 'Subscriptions' ||
        method.parent.name === 'PingService'
      )
        continue
      const [before = '', after = ''] = String(pattern.value).split(/\{[^}]*\}/)
      const verb = pattern.case === 'get' ? '' : pattern.case.toUpperCase()
      const found = said.some(
        (command) =>
          (verb === '' ? !command.includes(' -X ') : command.includes(`-X ${verb} `)) &&
          command.includes(`$API${before}`) &&
          command.includes(after),
      )
      assert.ok(found, `${method.parent.name}.${method.name}`)
    }
  })
})
