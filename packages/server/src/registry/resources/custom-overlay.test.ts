import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { CustomOverlaySchema } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { fromJson, type JsonValue } from '@bufbuild/protobuf'
import { selfSignedCertificate } from '../../../../../test/support/http/certificate.ts'
import { limits } from '../../config/limits.ts'
import { checkCustomOverlay } from './custom-overlay.ts'

const spki = { type: 'spki', format: 'pem' } as const
const pkcs1 = { type: 'pkcs1', format: 'pem' } as const
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const rsaPublic = rsa.publicKey.export(spki) as string
const ecPublic = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export(spki) as string
const { cert } = selfSignedCertificate()

const fieldsOf = (overlay: JsonValue) =>
  checkCustomOverlay(fromJson(CustomOverlaySchema, overlay)).map(({ field }) => field)

const key = (name: string, content = rsaPublic) => ({ contents: { runtimeKeyring: [{ name, content }] } })
const certificate = (name: string, content = cert) => ({ certificates: { additional: [{ name, content }] } })
const repository = (url: string) => ({ contents: { runtimeRepositories: [url] } })
const user = (more: object) => ({ accounts: { users: [{ username: 'app', ...more }] } })

test('a valid overlay passes', () => {
  const overlays: JsonValue[] = [
    {},
    { environment: { PATH: '/bin', _x1: '', MY_CHAINGUARD_: 'two\nlines' } },
    { annotations: { 'com.example/team': 'one', 'org.opencontainer': 'x' } },
    {
      contents: {
        packages: ['curl', 'py3.12-pip', 'libstdc++', 'curl=8.5.0-r0', 'curl~8.5', 'go~=1.22', 'a>=1', 'a<2'],
      },
    },
    repository('https://apk.example.com/v1?arch=x86_64'),
    repository('http://10.0.0.1:8080/main'),
    key('alpine-devel@lists.alpinelinux.org-4a6a0840.rsa.pub'),
    key('a', rsa.publicKey.export(pkcs1) as string),
    { accounts: { runAs: '' } },
    { accounts: { runAs: '65532' } },
    { accounts: { runAs: 'app:2147483647' } },
    user({ uid: 2 ** 31 - 1, gid: 0, groupName: 'app', shell: '/bin/sh', homeDir: '/home/my app' }),
    { accounts: { groups: [{ groupname: 'Wheel_1.x-y', gid: 10, members: ['app', 'root'] }] } },
    certificate('corp-ca.pem'),
    certificate('both.pem', `${cert}\n${cert}`),
    { certificates: { providers: ['ca-certificates-bundle'] } },
  ]
  for (const overlay of overlays) assert.deepEqual(fieldsOf(overlay), [], JSON.stringify(overlay))
})

type Case = readonly [overlay: JsonValue, ...fields: string[]]

test('each invalid value is rejected by its field', () => {
  const cases: readonly Case[] = [
    [{ environment: { CHAINGUARD_X: '1' } }, 'environment'],
    [{ environment: { '': '1' } }, 'environment'],
    [{ environment: { 'A=B': '1' } }, 'environment'],
    [{ environment: { '1A': '1' } }, 'environment'],
    [{ environment: { A: '\0' } }, 'environment'],
    [{ annotations: { 'dev.chainguard.x': '1' } }, 'annotations'],
    [{ annotations: { 'org.opencontainers.image.title': '1' } }, 'annotations'],
    [{ annotations: { '': '1' } }, 'annotations'],
    [{ annotations: { 'a b': '1' } }, 'annotations'],
    [
      { contents: { packages: ['', 'ok', '-x', 'a b', 'a=', '../a', 'a=1;rm', '!a', 'a@edge'] } },
      ...[0, 2, 3, 4, 5, 6, 7, 8].map((at) => `contents.packages[${at}]`),
    ],
    ...['', 'apk.example.com', '/srv/apk', 'ftp://a.example/x', 'file:///etc', 'https://', 'https://a b/']
      .concat(['https://user:secret@a.example/x', 'https://token@a.example/x', 'https://a.example/#x'])
      .concat(['https://a.example/\nhttps://b.example', ' https://a.example/', 'https://a.example:99999/'])
      .map((url): Case => [repository(url), 'contents.runtimeRepositories[0]']),
    ...['', '.hidden', '..', 'a/b', '/a', 'a\\b', 'a b', '-rf', 'a\n', 'x'.repeat(256)].flatMap(
      (name): Case[] => [
        [key(name), 'contents.runtimeKeyring[0].name'],
        [certificate(name), 'certificates.additional[0].name'],
      ],
    ),
    ...['', 'x', 'https://a.example/key', ecPublic, cert, rsaPublic + rsaPublic, `x\n${rsaPublic}`]
      .concat(rsaPublic.replace(/A/g, '!'), rsaPublic.slice(0, 200) + rsaPublic.slice(230))
      .concat(rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string)
      .map((content): Case => [key('a', content), 'contents.runtimeKeyring[0].content']),
    [
      {
        contents: {
          runtimeKeyring: [
            { name: 'a', content: rsaPublic },
            { name: 'a', content: rsaPublic },
          ],
        },
      },
      'contents.runtimeKeyring[1].name',
    ],
    ...['', 'x', rsaPublic, `${cert}x`, cert + rsaPublic, cert.slice(0, 200) + cert.slice(230)].map(
      (content): Case => [certificate('a', content), 'certificates.additional[0].content'],
    ),
    [
      {
        certificates: {
          additional: [
            { name: 'a', content: cert },
            { name: 'a', content: cert },
          ],
        },
      },
      'certificates.additional[1].name',
    ],
    [{ certificates: { providers: ['a b'] } }, 'certificates.providers[0]'],
    ...['a b', 'a:b:c', ':a', '2147483648', 'a:2147483648', '-1', 'x'.repeat(33)].map(
      (runAs): Case => [{ accounts: { runAs } }, 'accounts.runAs'],
    ),
    ...['', '1a', '-a', 'a b', 'a:b', 'ä', 'x'.repeat(33)].flatMap((name): Case[] => [
      [user({ username: name }), 'accounts.users[0].username'],
      [{ accounts: { groups: [{ groupname: name }] } }, 'accounts.groups[0].groupname'],
      [{ accounts: { groups: [{ groupname: 'a', members: ['b', name] }] } }, 'accounts.groups[0].members[1]'],
    ]),
    [user({ uid: -1, gid: -1 }), 'accounts.users[0].uid', 'accounts.users[0].gid'],
    [user({ groupName: 'a b', shell: 'sh' }), 'accounts.users[0].groupName', 'accounts.users[0].shell'],
    [user({ shell: '/bin/sh:x' }), 'accounts.users[0].shell'],
    [user({ homeDir: '/a\nroot' }), 'accounts.users[0].homeDir'],
    [{ accounts: { groups: [{ groupname: 'a', gid: -1 }] } }, 'accounts.groups[0].gid'],
    [{ accounts: { users: [{ username: 'a' }, { username: 'a' }] } }, 'accounts.users[1].username'],
    [{ accounts: { groups: [{ groupname: 'a' }, { groupname: 'a' }] } }, 'accounts.groups[1].groupname'],
  ]
  for (const [overlay, ...fields] of cases) {
    assert.deepEqual(
      fieldsOf(overlay),
      fields.map((field) => `customOverlay.${field}`),
      JSON.stringify(overlay),
    )
  }
})

test('lists and maps have at most overlayEntriesMax entries, a whole overlay overlayBytesMax bytes', () => {
  const names = (count: number) => Array.from({ length: count }, (_, n) => `n${n}`)
  const mapOf = (count: number) => Object.fromEntries(names(count).map((name) => [name, 'x']))
  const content = ''
  const lists: readonly [field: string, make: (count: number) => JsonValue][] = [
    ['environment', (n) => ({ environment: mapOf(n) })],
    ['annotations', (n) => ({ annotations: mapOf(n) })],
    ['contents.packages', (n) => ({ contents: { packages: names(n) } })],
    [
      'contents.runtimeRepositories',
      (n) => ({ contents: { runtimeRepositories: names(n).map((name) => `https://${name}.example`) } }),
    ],
    ['accounts.users', (n) => ({ accounts: { users: names(n).map((username) => ({ username })) } })],
    ['accounts.groups', (n) => ({ accounts: { groups: names(n).map((groupname) => ({ groupname })) } })],
    [
      'accounts.groups[0].members',
      (n) => ({ accounts: { groups: [{ groupname: 'a', members: names(n) }] } }),
    ],
    ['certificates.providers', (n) => ({ certificates: { providers: names(n) } })],
  ]
  for (const [field, make] of lists) {
    assert.deepEqual(fieldsOf(make(limits.overlayEntriesMax)), [], field)
    assert.deepEqual(fieldsOf(make(limits.overlayEntriesMax + 1)), [`customOverlay.${field}`])
  }
  const files = names(limits.overlayEntriesMax + 1).map((name) => ({ name, content }))
  assert.deepEqual(fieldsOf({ contents: { runtimeKeyring: files } }), [
    'customOverlay.contents.runtimeKeyring',
  ])
  assert.deepEqual(fieldsOf({ certificates: { additional: files } }), [
    'customOverlay.certificates.additional',
  ])

  const sized = (bytes: number) => ({ environment: { A: 'x'.repeat(bytes) } })
  /** Tags and lengths of the message around the text. */
  const around = 13
  assert.deepEqual(fieldsOf(sized(limits.overlayBytesMax - around)), [])
  assert.deepEqual(fieldsOf(sized(limits.overlayBytesMax)), ['customOverlay'])
})
