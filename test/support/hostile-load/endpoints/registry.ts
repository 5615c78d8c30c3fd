import { randomBytes } from 'node:crypto'
import { basicAuth, types } from '../../registry/registry.ts'
import { filledBody, jsonListBody, jwt, KIB, MIB, nestedBody, repeatedBody, textBody } from '../bytes.ts'
import { type HostileCase, processBudgetMib } from '../hostile-case.ts'
import { form, http, oci, replies } from '../requests.ts'

/** The registry's protocol below /v2/, and its token endpoint. */

const image = (members: string) => `{"schemaVersion":2,"mediaType":"${types.image}",${members}`
const layer = `{"mediaType":"a/b","digest":"sha256:${'0'.repeat(64)}","size":1}`
const config = `"config":{"mediaType":"${types.config}","digest":"sha256:${'0'.repeat(64)}","size":2}`
const push = { headers: { 'content-type': types.image }, budgetMib: 32, waitMs: 20_000 }
const pushIndex = { ...push, headers: { 'content-type': types.index } }
const members = jsonListBody(300_000, (at) => `"m${at}":1`, image(''), '}')
const half = 4 * MIB - 100

const manifests: readonly HostileCase[] = Object.entries({
  '4 MiB of nested arrays': nestedBody('[', 2 * MIB - 100, ']', image('"a":'), '}'),
  '4 MiB of arrays that are not closed': repeatedBody('[', half),
  '700,000 nested objects': nestedBody('{"a":', 690_000, '}', image('"a":'), '}'),
  '300,000 members': members,
  '300,000 times the same member': repeatedBody('"layers":[],', 300_000, image(''), '"x":1}'),
  '30,000 layers': repeatedBody(`${layer},`, 29_000, image(`${config},"layers":[`), `${layer}]}`),
  '1,300,000 empty layers': repeatedBody('{},', 1_300_000, image(`${config},"layers":[`), '{}]}'),
  '200,000 annotations': jsonListBody(
    200_000,
    (at) => `"a${at}":"v"`,
    image(`${config},"layers":[],"annotations":{`),
    '}}',
  ),
  'annotations of 4 MiB in one': repeatedBody(
    'a',
    half - 300,
    image(`${config},"layers":[],"annotations":{"a":"`),
    '"}}',
  ),
  'a number of 4 MiB': repeatedBody('9', half - 200, image('"size":'), '}'),
  'a text of escapes': repeatedBody('\\u0041', 690_000, image('"a":"'), '"}'),
  'member names of escapes': jsonListBody(300_000, (at) => `"\\u0${String(at % 10)}61":1`, image(''), '}'),
  'blanks of 4 MiB': filledBody([32], half),
  'bytes that are not UTF-8': filledBody([255], half),
  'a media type of 4 MiB': repeatedBody('a', half - 100, '{"schemaVersion":2,"mediaType":"', '"}'),
}).map(([name, body]) =>
  oci(`a manifest of ${name}`, 'PUT', 'manifests/hostile', body, {
    ...push,
    quick: /^(4 MiB of nested|30,000)/.test(name),
  }),
)

const indexes: readonly HostileCase[] = [
  oci(
    'an index of 25,000 manifests',
    'PUT',
    'manifests/hostile',
    jsonListBody(
      25_000,
      (at) => `{"mediaType":"${types.image}","digest":"sha256:${String(at).padStart(64, '0')}","size":1}`,
      '{"schemaVersion":2,"manifests":[',
      ']}',
    ),
    pushIndex,
  ),
  oci(
    'an index of 1,300,000 empty entries',
    'PUT',
    'manifests/hostile',
    repeatedBody('{},', 1_300_000, '{"schemaVersion":2,"manifests":[', '{}]}'),
    pushIndex,
  ),
  oci('20 manifests of 300,000 members at a time', 'PUT', 'manifests/hostile', members, {
    ...push,
    budgetMib: 96,
    times: 20,
    parallel: 20,
    waitMs: 40_000,
    quick: true,
  }),
  oci('40 manifests of 4 MiB, half sent', 'PUT', 'manifests/hostile', filledBody([32], half), {
    ...push,
    times: 40,
    parallel: 40,
    missingBytes: 10,
    waitMs: 3000,
    budgetMib: processBudgetMib,
    quick: true,
    replies: { anonymous: ['401'], 'no role': ['403'], pusher: ['no reply', '408'] },
  }),
  oci('a manifest of 4 MiB and one byte', 'PUT', 'manifests/hostile', filledBody([32], 4 * MIB + 1), push),
  oci(
    'a manifest for another digest',
    'PUT',
    `manifests/sha256:${'0'.repeat(64)}`,
    filledBody([32], half),
    push,
  ),
]

const sha = (hex: string) => `sha256:${hex}`
const names: readonly HostileCase[] = [
  oci('a tag of 30 KiB', 'GET', `manifests/${'a'.repeat(30 * KIB)}`, undefined, { times: 20, replies: {} }),
  oci('a digest of 30 KiB', 'GET', `blobs/${sha('0'.repeat(30 * KIB))}`, undefined, {
    times: 20,
    replies: {},
  }),
  oci('a digest of an unknown algorithm', 'GET', `blobs/${'a+'.repeat(10_000)}:00`, undefined, {
    times: 20,
    replies: {},
  }),
  oci('a digest of escapes', 'GET', `blobs/sha256%3a${'%30'.repeat(9000)}`, undefined, {
    times: 20,
    replies: {},
  }),
  http(
    'a name of 15,000 parts',
    `GET /v2/${'a/'.repeat(15_000)}manifests/latest`,
    undefined,
    {},
    { times: 20 },
  ),
  http(
    'a name of words of the protocol',
    `GET /v2/${'blobs/uploads/'.repeat(2000)}`,
    undefined,
    {},
    { times: 20 },
  ),
  http('a name of manifests', `GET /v2/${'a/manifests/'.repeat(2500)}x`, undefined, {}, { times: 20 }),
  oci(
    'referrers of any type',
    'GET',
    `referrers/${sha('0'.repeat(64))}?artifactType=${'a'.repeat(30_000)}`,
    undefined,
    { times: 20 },
  ),
  oci(
    'a list of tags from 30 KiB',
    'GET',
    `tags/list?n=99999999999999999999&last=${'z'.repeat(30_000)}`,
    undefined,
    { times: 20 },
  ),
  oci('500 lists of tags at a time', 'GET', 'tags/list', undefined, {
    times: 500,
    parallel: 50,
    waitMs: 20_000,
  }),
  oci('500 manifests at a time', 'GET', 'manifests/latest', undefined, {
    times: 500,
    parallel: 50,
    waitMs: 20_000,
  }),
  http(
    '100 catalogs',
    'GET /v2/_catalog?n=10000',
    undefined,
    (target, caller) => ({ authorization: target.bearer(caller, 'registry') }),
    { times: 100, parallel: 20, replies: { anonymous: ['401'] }, waitMs: 20_000 },
  ),
  oci('5,000 ranges of a blob', 'GET', ({ configDigest }) => `blobs/${configDigest}`, undefined, {
    headers: { range: `bytes=${'0-0,'.repeat(5000)}1-1` },
    times: 20,
  }),
]

const uploads: readonly HostileCase[] = [
  oci('200 uploads that are started', 'POST', 'blobs/uploads/', undefined, {
    times: 200,
    parallel: 20,
    waitMs: 20_000,
  }),
  oci(
    'a blob of 64 MiB for another digest',
    'POST',
    `blobs/uploads/?digest=${sha('0'.repeat(64))}`,
    filledBody([0], 64 * MIB),
    { budgetMib: 32, waitMs: 20_000 },
  ),
  oci(
    '50 blobs of 1 MiB, half sent',
    'POST',
    `blobs/uploads/?digest=${sha('0'.repeat(64))}`,
    filledBody([0], MIB),
    {
      times: 50,
      parallel: 50,
      missingBytes: 10,
      waitMs: 3000,
      budgetMib: 32,

      replies: { anonymous: ['401'], 'no role': ['403'], pusher: ['no reply', '408'] },
    },
  ),
  oci(
    '200 mounts of unknown blobs',
    'POST',
    ({ repoPath }) => `blobs/uploads/?mount=${sha('1'.repeat(64))}&from=${repoPath}`,
    undefined,
    { times: 200, parallel: 20, waitMs: 20_000 },
  ),
  oci(
    'a mount from 5,000 sources',
    'POST',
    `blobs/uploads/?mount=${sha('1'.repeat(64))}${'&from=a/b'.repeat(3000)}`,
    undefined,
    { times: 20 },
  ),
  oci('an upload that is not there', 'PATCH', `blobs/uploads/${'a'.repeat(20_000)}`, filledBody([0], MIB), {
    times: 5,
    replies: replies(['401'], ['403']),
  }),
  oci('an upload with a range of 20 KiB', 'PATCH', 'blobs/uploads/x', textBody('a'), {
    headers: { 'content-range': `${'9'.repeat(20_000)}-1` },
    times: 20,
  }),
]

const registryToken = (target: { readonly url: string }) => `/token?service=${new URL(target.url).host}`
const flood = { callers: ['anonymous'], times: 500, parallel: 50, waitMs: 20_000 } as const
const shown = (name: string, password: () => string, quick = false): HostileCase =>
  http(
    name,
    (target) => `GET ${registryToken(target)}&scope=repository:a/b:pull`,
    undefined,
    () => ({ authorization: basicAuth('_token', password()) }),
    { ...flood, quick, replies: { anonymous: ['401'] } },
  )

const tokens: readonly HostileCase[] = [
  shown('500 wrong tokens as passwords', () => 'a.b.c', true),
  shown('500 tokens of 15 KiB as passwords', () => jwt('{"alg":"ES256"}', '['.repeat(10_000))),
  shown('500 tokens of nested headers as passwords', () =>
    jwt(`${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`, '{}'),
  ),
  http(
    '500 wrong passwords of users',
    (target) => `GET ${registryToken(target)}`,
    undefined,
    { authorization: basicAuth('a'.repeat(1000), 'b'.repeat(20_000)) },
    { ...flood, replies: { anonymous: ['401'] } },
  ),
  http(
    '500 Basic credentials at the registry',
    ({ repoPath }) => `GET /v2/${repoPath}/manifests/latest`,
    undefined,
    { authorization: basicAuth('_token', randomBytes(500).toString('hex')) },
    { ...flood, quick: true, replies: { anonymous: ['401'] } },
  ),
  http(
    'Basic credentials that are no base64',
    ({ repoPath }) => `GET /v2/${repoPath}/manifests/latest`,
    undefined,
    { authorization: `Basic ${'='.repeat(25_000)}` },
    { ...flood, times: 50, replies: { anonymous: ['401'] } },
  ),
  http(
    'a manifest with Basic credentials that are wrong',
    ({ repoPath }) => `PUT /v2/${repoPath}/manifests/hostile`,
    members,
    { authorization: basicAuth('_token', 'x'), 'content-type': types.image },
    { callers: ['anonymous'], replies: { anonymous: ['401'] } },
  ),
  http(
    '1,000 scopes of a token',
    (target) => `GET ${registryToken(target)}${'&scope=repository:a/b:pull'.repeat(1000)}`,
    undefined,
    {},
    { callers: ['anonymous'], times: 50, parallel: 10 },
  ),
  http(
    'a scope of 5,000 names',
    (target) => `GET ${registryToken(target)}&scope=${'repository:a/b:pull,push%20'.repeat(1000)}`,
    undefined,
    {},
    { callers: ['anonymous'], times: 50, parallel: 10 },
  ),
  form('a token request of 20,000 fields', '/token', repeatedBody('a=b&', 16_000), {
    times: 50,
    parallel: 10,
  }),
  form('a token request of 64 KiB of escapes', '/token', repeatedBody('%41', 21_000, 'password='), {
    times: 50,
    parallel: 10,
  }),
  form('a token request of 1 MiB', '/token', repeatedBody('a', MIB), { times: 10 }),
]

export const registryCases: readonly HostileCase[] = [...manifests, ...indexes, ...names, ...uploads]
export const registryTokenCases: readonly HostileCase[] = tokens
