import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { decodeJwt } from 'jose'
import { call } from './support/api/rest.ts'
import { bindRole, createResource } from './support/api/tenant.ts'
import { databases } from './support/database/databases.ts'
import { cleanups } from './support/server/process.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { awsKeys, awsToken, startAwsSts } from './support/tokens/aws-sts.ts'
import { exchange, statusOf } from './support/tokens/exchange.ts'
import { startWorkloadProvider, type WorkloadProvider } from './support/tokens/workload-provider.ts'

/** The recipes of docs/workloads.md: the identity of each, as it stands there, against tokens in the shape of its issuer. */

const page = readFileSync(new URL('../docs/workloads.md', import.meta.url), 'utf8')

/** The identity of the recipe with this heading. */
function recipe(heading: string) {
  const [, section = ''] = page.split(`\n## ${heading}\n`)
  const [, json] = /```json\n(.*?)```/s.exec(section.split('\n## ')[0] ?? '') ?? []
  return JSON.parse(json ?? assert.fail(`no identity under ${heading}`))
}

type Claims = Readonly<Record<string, unknown>>

interface Shape {
  readonly claims: Claims
  /** What must not get in, as changed claims. */
  readonly refused: Readonly<Record<string, Claims>>
}

const commit = '9f3182061f1e2cca4702c368cbc039b7dc9d4485'

/** As their documentation shows them, with the times and the issuer of our provider. */
const shapes: Readonly<Record<string, Shape>> = {
  'GitHub Actions': {
    claims: {
      sub: 'repo:octo-org/octo-repo:ref:refs/heads/main',
      ref: 'refs/heads/main',
      sha: commit,
      repository: 'octo-org/octo-repo',
      repository_owner: 'octo-org',
      actor_id: '12',
      repository_visibility: 'private',
      repository_id: '74',
      repository_owner_id: '65',
      run_id: '1234567890',
      run_number: '10',
      run_attempt: '2',
      runner_environment: 'github-hosted',
      actor: 'octocat',
      workflow: 'deploy',
      head_ref: '',
      base_ref: '',
      event_name: 'push',
      ref_protected: 'true',
      ref_type: 'branch',
      workflow_ref: 'octo-org/octo-repo/.github/workflows/deploy.yml@refs/heads/main',
      workflow_sha: commit,
      job_workflow_ref: 'octo-org/octo-repo/.github/workflows/deploy.yml@refs/heads/main',
      job_workflow_sha: commit,
    },
    refused: {
      'another repository': { sub: 'repo:octo-org/other:ref:refs/heads/main', repository: 'octo-org/other' },
      'a repository whose name goes on': { sub: 'repo:octo-org/octo-repo2:ref:refs/heads/main' },
      'another owner': { sub: 'repo:evil/octo-repo:ref:refs/heads/main', repository_owner: 'evil' },
      'another branch': { sub: 'repo:octo-org/octo-repo:ref:refs/heads/feature', ref: 'refs/heads/feature' },
      'a branch whose name goes on': { sub: 'repo:octo-org/octo-repo:ref:refs/heads/main2' },
      'a tag': { sub: 'repo:octo-org/octo-repo:ref:refs/tags/main', ref_type: 'tag' },
      'a pull request': { sub: 'repo:octo-org/octo-repo:pull_request', event_name: 'pull_request' },
      'an environment': { sub: 'repo:octo-org/octo-repo:environment:production', environment: 'production' },
      capitals: { sub: 'repo:Octo-Org/octo-repo:ref:refs/heads/main' },
    },
  },
  'GitLab CI': {
    claims: {
      sub: 'project_path:my-group/my-project:ref_type:branch:ref:main',
      namespace_id: '72',
      namespace_path: 'my-group',
      project_id: '20',
      project_path: 'my-group/my-project',
      user_id: '1',
      user_login: 'sample-user',
      user_email: 'sample-user@example.com',
      user_access_level: 'developer',
      user_identities: [{ provider: 'github', extern_uid: '2435223452345' }],
      pipeline_id: '574',
      pipeline_source: 'push',
      job_id: '302',
      ref: 'main',
      ref_type: 'branch',
      ref_path: 'refs/heads/main',
      ref_protected: 'true',
      groups_direct: ['mygroup/mysubgroup'],
      environment: 'test-environment2',
      environment_protected: 'false',
      deployment_tier: 'testing',
      environment_action: 'start',
      runner_id: 1,
      runner_environment: 'self-hosted',
      sha: commit,
      project_visibility: 'public',
      ci_config_ref_uri: 'gitlab.example.com/my-group/my-project//.gitlab-ci.yml@refs/heads/main',
      ci_config_sha: commit,
    },
    refused: {
      'another project': { sub: 'project_path:my-group/other:ref_type:branch:ref:main' },
      'another group': { sub: 'project_path:evil/my-project:ref_type:branch:ref:main' },
      'another branch': { sub: 'project_path:my-group/my-project:ref_type:branch:ref:feature' },
      'a tag of that name': {
        sub: 'project_path:my-group/my-project:ref_type:tag:ref:main',
        ref_type: 'tag',
      },
      'a branch that is not protected': { ref_protected: 'false' },
      'nothing about protection': { ref_protected: undefined },
      'protection as true instead of text': { ref_protected: ['true'] },
    },
  },
  Kubernetes: {
    claims: {
      sub: 'system:serviceaccount:production:controller',
      'kubernetes.io': {
        namespace: 'production',
        node: { name: 'node-1', uid: '646e7c5e-32d6-4d42-9dbd-e504e6cbe6b1' },
        pod: { name: 'controller-5c8f', uid: '5e0bd49b-f040-43b0-99b7-22765a53f7f3' },
        serviceaccount: { name: 'controller', uid: '14ee3fa4-a7e2-420f-9f9a-dbc4507c3798' },
      },
    },
    refused: {
      'another account': { sub: 'system:serviceaccount:production:default' },
      'another namespace': { sub: 'system:serviceaccount:staging:controller' },
      'an account whose name goes on': { sub: 'system:serviceaccount:production:controller2' },
      'a user': { sub: 'controller' },
    },
  },
  Buildkite: {
    claims: {
      sub: `organization:acme-inc:pipeline:super-duper-app:ref:refs/heads/main:commit:${commit}:step:release`,
      organization_slug: 'acme-inc',
      pipeline_slug: 'super-duper-app',
      build_number: 1,
      build_branch: 'main',
      build_commit: commit,
      step_key: 'release',
      job_id: '0184990a-477b-4fa8-9968-496074483cee',
      agent_id: '0184990a-4782-42b5-afc1-16715b10b8ff',
      build_source: 'ui',
      runner_environment: 'buildkite-hosted',
    },
    refused: {
      'another organization': {
        sub: `organization:evil:pipeline:super-duper-app:ref:refs/heads/main:commit:${commit}:step:release`,
      },
      'another pipeline': {
        sub: `organization:acme-inc:pipeline:other:ref:refs/heads/main:commit:${commit}:step:release`,
      },
      'another branch': {
        sub: `organization:acme-inc:pipeline:super-duper-app:ref:refs/heads/x:commit:${commit}:step:release`,
      },
      'another step': {
        sub: `organization:acme-inc:pipeline:super-duper-app:ref:refs/heads/main:commit:${commit}:step:test`,
      },
      'a step in the place of a commit': {
        sub: 'organization:acme-inc:pipeline:super-duper-app:ref:refs/heads/main:commit:x:step:release',
      },
      'something before': {
        sub: `x:organization:acme-inc:pipeline:super-duper-app:ref:refs/heads/main:commit:${commit}:step:release`,
      },
      'another claim': { organization_slug: 'evil' },
    },
  },
}
const refusedCount = Object.values(shapes).reduce((sum, { refused }) => sum + Object.keys(refused).length, 0)

for (const database of databases) {
  describe(`workloads on ${database.name}`, () => {
    const suite = cleanups()
    let provider: WorkloadProvider
    let berth: TestBerth
    const identities: Record<string, string> = {}

    before(async () => {
      provider = await startWorkloadProvider(suite)
      berth = await startTestBerth(database)
      for (const name of Object.keys(shapes)) {
        const body = recipe(name)
        body.claimMatch.issuer = provider.issuer
        const { uid } = await createResource(berth, `/iam/v2beta1/identities/${berth.organization}`, body)
        await bindRole(berth, berth.organization, uid, 'viewer')
        identities[name] = uid
      }
    })
    after(async () => {
      await berth.stop()
      await suite.run()
    })

    /** `aud` as each of them has it: Kubernetes a list, the others a text. */
    const audienceOf = (name: string) => (name === 'Kubernetes' ? [berth.url] : berth.url)
    const shown = async (name: string, claims: Claims) =>
      exchange(berth.url, await provider.token(claims), { aud: berth.url, identity: identities[name] ?? '' })

    for (const [name, { claims }] of Object.entries(shapes)) {
      test(`${name}: a job gets a token for the API with its own`, async () => {
        const reply = await shown(name, { ...claims, aud: audienceOf(name) })
        assert.equal(reply.status, 200, reply.text)
        const act = { iss: provider.issuer, sub: claims['sub'], aud: berth.url }
        assert.deepEqual(decodeJwt(reply.body.token)['act'], act)
        const groups = await call('GET', `${berth.url}/iam/v2beta1/groups`, { token: reply.body.token })
        assert.equal(groups.body.groups.length, 1)
      })
    }

    test(`${refusedCount} other jobs, and tokens for other audiences, are rejected`, async () => {
      for (const [name, { claims, refused }] of Object.entries(shapes)) {
        const audiences = {
          'the audience of their default': { aud: 'https://github.com/octo-org' },
          'no audience': { aud: [] },
        }
        for (const [what, changed] of Object.entries({ ...refused, ...audiences })) {
          const made: Claims = { ...claims, aud: audienceOf(name) }
          const reply = await shown(name, { ...made, ...changed })
          assert.equal(statusOf(reply), '403/7', `${name}: ${what}`)
        }
        const expired = await shown(name, {
          ...claims,
          aud: audienceOf(name),
          exp: Math.floor(Date.now() / 1000) - 1,
        })
        assert.equal(statusOf(expired), '401/16', `${name}: expired`)
      }
    })

    test('a job of one kind opens no identity of another', async () => {
      for (const [name, { claims }] of Object.entries(shapes)) {
        for (const other of Object.keys(shapes).filter((one) => one !== name))
          assert.equal(
            statusOf(await shown(other, { ...claims, aud: berth.url })),
            '403/7',
            `${name} as ${other}`,
          )
      }
    })
  })
}

test('AWS: a role gets a token for the API with a request that it signed', async (t) => {
  const sts = await startAwsSts(t)
  const berth = await startTestBerth(
    { name: 'sqlite', open: undefined },
    { env: { BERTH_AWS_STS_ENDPOINT: sts.url } },
  )
  t.after(() => berth.stop())
  const { uid } = await createResource(berth, `/iam/v2beta1/identities/${berth.organization}`, recipe('AWS'))
  const as = async (key: (typeof awsKeys)[keyof typeof awsKeys]) =>
    statusOf(await exchange(berth.url, awsToken(berth.url, uid, { key }), { aud: berth.url, identity: uid }))
  assert.equal(await as(awsKeys.role), 'ok')
  assert.equal(await as(awsKeys.user), '403/7')
  assert.equal(await as(awsKeys.stranger), '403/7')
})
