import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatImageName, isLoopback, parseImageName, trustedTokenHosts } from './image-name.ts'
import { parsePlatform, selectPlatform } from './platforms.ts'
import { parseChallenge } from './registry/challenge.ts'

const digest = `sha256:${'a'.repeat(64)}`

test('a name has a host, a repository, a tag and a digest, as container tools write them', () => {
  const names: [string, string, string, string | undefined, string | undefined][] = [
    ['my-org/team/app:1.0', '', 'my-org/team/app', '1.0', undefined],
    ['app', '', 'app', undefined, undefined],
    ['localhost/app', 'localhost', 'app', undefined, undefined],
    ['localhost:5000/app:a', 'localhost:5000', 'app', 'a', undefined],
    ['127.0.0.1:5000/a/b', '127.0.0.1:5000', 'a/b', undefined, undefined],
    ['[::1]:5000/a', '[::1]:5000', 'a', undefined, undefined],
    [`GHCR.io/acme/app:1@${digest}`, 'ghcr.io', 'acme/app', '1', digest],
    ['docker.io/nginx', 'docker.io', 'library/nginx', undefined, undefined],
    ['docker.io/grafana/grafana', 'docker.io', 'grafana/grafana', undefined, undefined],
  ]
  for (const [text, host, repository, tag, of] of names)
    assert.deepEqual(parseImageName(text), { host, repository, tag, digest: of }, text)
  assert.equal(formatImageName({ host: 'a.b', repository: 'c', tag: 'd', digest }), `a.b/c:d@${digest}`)
})

test('an invalid name is reported', () => {
  const wrong = [
    ...[
      '',
      '/',
      'a//b',
      'A/b',
      '../../etc',
      'a/../b',
      'a b',
      'app:',
      'app:-x',
      'app@sha256:1',
      `a@${digest}@x`,
    ],
    ...['a.b:99999/c', 'user@host.example/app', 'http://a.b/c', 'a.b?x/c', 'a.b#x/c', 'a.b:5x/c'],
  ]
  for (const text of wrong) assert.equal(typeof parseImageName(text), 'string', text)
})

test('a registry’s own token services are its host and well-known ones', () => {
  assert.deepEqual(trustedTokenHosts('docker.io'), ['docker.io', 'registry-1.docker.io', 'auth.docker.io'])
  assert.deepEqual(trustedTokenHosts('a.example'), ['a.example', 'a.example'])
  for (const host of ['localhost', 'localhost:1', '127.8.9.1:80', '[::1]:5', 'x.localhost'])
    assert.equal(isLoopback(host), true, host)
  for (const host of ['localhost.example', '128.0.0.1', '127.0.0.1.example', 'a.b', '[::2]'])
    assert.equal(isLoopback(host), false, host)
})

test('a challenge is parsed among others', () => {
  const bearer = { scheme: 'bearer', realm: 'https://a/t?x=1,2', service: 'a b', scope: 'repository:x:pull' }
  const parameters = 'realm="https://a/t?x=1,2",service="a b" , scope="repository:x:pull"'
  assert.deepEqual(parseChallenge(`Bearer ${parameters}`), bearer)
  assert.deepEqual(parseChallenge(`Negotiate, bearer ${parameters}`), bearer)
  assert.deepEqual(parseChallenge('Basic realm="x"'), { scheme: 'basic' })
  assert.deepEqual(parseChallenge('Basic'), { scheme: 'basic' })
  assert.deepEqual(parseChallenge(String.raw`Bearer realm="a\"b"`), {
    ...{ scheme: 'bearer', realm: 'a"b', service: '', scope: '' },
  })
  for (const text of ['', 'Digest realm="x"', 'Bearer service="x"', '"', 'Bearer realm']) {
    assert.equal(parseChallenge(text), undefined, text)
  }
})

test('a platform is selected by the requested fields only', () => {
  const manifest = (os: string, architecture: string, variant?: string) => ({
    ...{ mediaType: '', digest, size: 1 },
    platform: { os, architecture, ...(variant !== undefined && { variant }) },
  })
  const [amd, arm6, arm7, arm64] = [
    manifest('linux', 'amd64'),
    manifest('linux', 'arm', 'v6'),
    manifest('linux', 'arm', 'v7'),
    manifest('linux', 'arm64', 'v8'),
  ]
  const all = [{ mediaType: '', digest, size: 1 }, arm6, amd, arm7, arm64]
  const found = (text: string) => selectPlatform(all, parsePlatform(text) ?? { os: '', architecture: '' })
  assert.equal(found('linux/amd64'), amd)
  assert.equal(found('linux/arm'), arm6)
  assert.equal(found('linux/arm/v7'), arm7)
  assert.equal(found('linux/arm64'), arm64)
  assert.equal(found('linux/arm64/v8'), arm64)
  assert.equal(found('windows/amd64'), undefined)
  for (const text of ['linux', '', 'linux/', 'linux/a/b/c', 'Linux/amd64'])
    assert.equal(parsePlatform(text), undefined)
})
