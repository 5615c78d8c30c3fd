import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Identity } from '@berth/client/berth.ts'
import { type FieldValues, type PlatformName, platformRule } from './platforms.ts'
import { secretName } from './pull-secret.ts'
import { describeTrust } from './trust.ts'

function wordsOf(platform: PlatformName, values: FieldValues): string {
  const read = platformRule(platform, values)
  assert.ok('rule' in read, JSON.stringify(read))
  const trust = describeTrust({ uid: 'a', name: 'ci', ...read.rule } as unknown as Identity)
  assert.equal(trust.platform, platform)
  return trust.words.join(', ')
}

test('the rule of each platform is described by what was typed', () => {
  assert.equal(
    wordsOf('github', { repo: 'acme/my.app', ref: 'refs/heads/main' }),
    'GitHub, acme/my.app, branch main',
  )
  assert.equal(wordsOf('github', { repo: 'acme/a', ref: 'refs/tags/v1' }), 'GitHub, acme/a, tag v1')
  assert.equal(wordsOf('github', { repo: 'acme/my.app' }), 'GitHub, acme/my.app, any branch or tag')
  assert.equal(
    wordsOf('gitlab', { project: 'acme/x.y/app', ref: 'main' }),
    'GitLab, acme/x.y/app, branch main',
  )
  assert.equal(
    wordsOf('gitlab', { project: 'acme/x.y', refType: 'tag', url: 'https://git.example.com/' }),
    'GitLab at git.example.com, acme/x.y, any tag',
  )
  assert.equal(
    wordsOf('buildkite', { pipeline: 'acme/a.b', branch: 'release-1.0' }),
    'Buildkite, acme/a.b, branch release-1.0',
  )
  assert.equal(wordsOf('buildkite', { pipeline: 'acme/app' }), 'Buildkite, acme/app, any branch')
  assert.equal(
    wordsOf('kubernetes', { serviceAccount: 'prod/web', clusterIssuer: 'https://oidc.example.com/x' }),
    'Kubernetes at oidc.example.com/x, service account prod/web',
  )
  const aws = { account: '123456789012', name: 'build.x', id: 'AROA1' }
  assert.equal(wordsOf('aws-role', aws), 'AWS account 123456789012, role build.x')
  assert.equal(wordsOf('aws-user', aws), 'AWS account 123456789012, user build.x')
})

test('other rules are described by their values', () => {
  const words = (rule: object) =>
    describeTrust({ uid: 'a', name: 'ci', ...rule } as unknown as Identity).words
  assert.deepEqual(words({ claimMatch: { issuer: 'https://issuer.example.com', subject: 'robot' } }), [
    'issuer.example.com',
    'robot',
  ])
  assert.deepEqual(words({ claimMatch: { issuerPattern: 'https://.+', subjectPattern: 'a.+' } }), [
    'issuers that match https://.+',
    'subjects that match a.+',
  ])
  assert.deepEqual(words({ servicePrincipal: 'SERVICE_PRINCIPAL_CATALOG_SYNCER' }), [
    'Service of the platform',
    'catalog syncer',
  ])
})

test('invalid values are reported by field, required ones too', () => {
  assert.deepEqual(platformRule('github', { repo: 'acme', ref: 'main' }), {
    problems: { repo: 'must be OWNER/REPO', ref: 'must be a full ref such as refs/heads/main' },
  })
  assert.deepEqual(platformRule('kubernetes', {}), {
    problems: { serviceAccount: 'is required', clusterIssuer: 'is required' },
  })
  assert.deepEqual(platformRule('gitlab', { project: 'a/b', refType: 'commit' }), {
    problems: { refType: 'must be one of branch, tag' },
  })
  assert.deepEqual(platformRule('aws-role', { account: '12', name: 'a', id: 'b' }), {
    problems: { account: 'must be the 12 digits of an AWS account' },
  })
})

test('the name of a Kubernetes secret is valid', () => {
  assert.equal(secretName('edge cluster_1.'), 'edge-cluster-1')
  assert.equal(secretName('___'), 'pull-token')
})
