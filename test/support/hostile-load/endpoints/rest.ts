import {
  concatBodies,
  filledBody,
  jsonListBody,
  KIB,
  MIB,
  nestedBody,
  repeatedBody,
  textBody,
} from '../bytes.ts'
import {
  type Body,
  connectionBudgetMib,
  type HostileCase,
  processBudgetMib,
  type Target,
} from '../hostile-case.ts'
import { rest } from '../requests.ts'

/** The REST API: v2beta1, its name v2, and version 1. */

const identities = ({ group }: Target) => `POST /iam/v2beta1/identities/${group}`
const roles = ({ group }: Target) => `POST /iam/v2beta1/roles/${group}`
const repo = ({ repo }: Target) => `PATCH /registry/v2beta1/repos/${repo}`
const readme = ({ repo }: Target) => `PATCH /registry/v2beta1/repos/${repo}/readme`
const policy = ({ repo }: Target) => `PATCH /registry/v2beta1/repos/${repo}/policy`
const imports = ({ group }: Target) => `POST /vulnerabilities/v2beta1/advisories/${group}:importDocuments`
const deletes = ({ group }: Target) => `POST /vulnerabilities/v2beta1/advisories/${group}:deleteDocuments`
const batch = 'POST /iam/v2beta1/roleBindings:batchCreate' as const
const batchInVersionOne = ({ group }: Target) => `POST /iam/v1/rolebindings/batch/${group}`
const rolesInVersionOne = ({ group }: Target) => `POST /iam/v1/roles/${group}`

/** JSON that is worth nothing, of about 1 MiB. */
const json: Readonly<Record<string, Body>> = {
  '500,000 nested arrays': nestedBody('[', 500_000, ']'),
  '500,000 arrays that are not closed': nestedBody('[', 500_000),
  '170,000 nested objects': nestedBody('{"a":', 170_000, '}'),
  '170,000 nested objects in a field': nestedBody('{"a":', 170_000, '}', '{"name":', '}'),
  '500,000 numbers in a list': repeatedBody('0,', 500_000, '[', '0]'),
  '340,000 empty objects in a field': repeatedBody('{},', 340_000, '{"name":[', '{}]}'),
  '100,000 different members': jsonListBody(80_000, (at) => `"m${at}":1`, '{', '}'),
  '100,000 times the same member': repeatedBody('"name":1,', 100_000, '{', '"name":1}'),
  '60,000 members that differ in escapes': jsonListBody(
    60_000,
    (at) => `"\\u00${(at % 95) + 32}":${at}`,
    '{',
    '}',
  ),
  'a number of a million digits': repeatedBody('9', MIB - 100, '{"name":', '}'),
  'an exponent of a million digits': repeatedBody('9', MIB - 100, '{"name":1e', '}'),
  'a text of 1 MiB': repeatedBody('a', MIB - 100, '{"name":"', '"}'),
  'a text of 170,000 escapes': repeatedBody('\\u0041', 170_000, '{"name":"', '"}'),
  'half pairs of surrogates': repeatedBody('\\ud800', 170_000, '{"name":"', '"}'),
  'a member name of 1 MiB': repeatedBody('a', MIB - 100, '{"', '":1}'),
  'blanks only': filledBody([32], MIB - 10),
  'bytes that are not UTF-8': filledBody([255, 254], MIB - 10),
  'an object that is cut off': repeatedBody('{"name":"a","x":[{},', 45_000),
  'members of the prototype': repeatedBody('"__proto__":{"constructor":{}},', 30_000, '{', '"name":"a"}'),
}

const bodies: readonly HostileCase[] = Object.entries(json).map(([name, body]) =>
  rest(name, roles, body, { quick: /^(500,000 nested|340,000)/.test(name) }),
)

const olderVersions: readonly HostileCase[] = [
  rest(
    'v2: 500,000 nested arrays',
    ({ group }) => `POST /iam/v2/roles/${group}`,
    json['500,000 nested arrays'],
  ),
  rest('v1: 500,000 nested arrays', rolesInVersionOne, json['500,000 nested arrays']),
  rest('v1: 340,000 empty objects in a field', rolesInVersionOne, json['340,000 empty objects in a field']),
  rest('v1: 100,000 different members', rolesInVersionOne, json['100,000 different members']),
  rest(
    'v1: a batch of 340,000 empty bindings',
    batchInVersionOne,
    repeatedBody('{},', 340_000, '{"roleBindings":[', '{}]}'),
    { quick: true },
  ),
  rest(
    'v1: a batch of 15,000 bindings',
    batchInVersionOne,
    jsonListBody(
      9000,
      (at) => `{"identity":"${at}","role":"${'f'.repeat(40)}","group":"x"}`,
      '{"roleBindings":[',
      ']}',
    ),
  ),
  rest('v1: a list asked for by a form of 1 MiB', 'POST /iam/v1/groups', repeatedBody('a=b&', 250_000), {
    type: 'application/x-www-form-urlencoded',
    replies: { anonymous: ['401'] },
  }),
]

const wide: readonly HostileCase[] = [
  rest('340,000 bindings in a batch', batch, repeatedBody('{},', 340_000, '{"requests":[', '{}]}'), {
    quick: true,
  }),
  rest(
    'a batch of 5,000 bindings',
    batch,
    jsonListBody(
      5000,
      (at) => `{"parent":"${'f'.repeat(40)}","roleBinding":{"identityUid":"${at}","roleUid":"x"}}`,
      '{"requests":[',
      ']}',
    ),
  ),
  rest(
    '300,000 names to delete in a batch',
    'POST /iam/v2beta1/externalGroupRoleMappings:batchDelete',
    repeatedBody('"a",', 250_000, '{"names":[', '"a"]}'),
  ),
  rest('100,000 capabilities', roles, repeatedBody('"x",', 250_000, '{"name":"a","capabilities":[', '"x"]}')),
  rest(
    '500,000 capabilities by number',
    roles,
    repeatedBody('1,', 500_000, '{"name":"a","capabilities":[', '1]}'),
  ),
  rest(
    '80,000 claims',
    identities,
    jsonListBody(
      70_000,
      (at) => `"c${at}":"v"`,
      '{"name":"a","claimMatch":{"issuer":"https://a.example","subject":"a","claims":{',
      '}}}',
    ),
  ),
  rest(
    '30,000 audiences of static keys',
    identities,
    repeatedBody('"a",', 250_000, '{"name":"a","staticKeys":{"audiences":[', '"a"]}}'),
  ),
  rest(
    'a key set of 1 MiB',
    identities,
    repeatedBody(
      '{},',
      300_000,
      '{"name":"a","staticKeys":{"issuer":"https://a.example","subject":"a","issuerKeys":"{\\"keys\\":[',
      '{}]}"}}',
    ),
  ),
  rest(
    'a token of 1 MiB to explain',
    ({ identity }) => `POST /iam/v2beta1/identities/${identity}:explainExchange`,
    repeatedBody('a', MIB - 100, '{"token":"', '.a.a"}'),
  ),
  rest('200,000 aliases of a repo', repo, repeatedBody('"a",', 250_000, '{"aliases":[', '"a"]}')),
  rest(
    '200,000 tag patterns',
    policy,
    repeatedBody('"*",', 250_000, '{"immutableTags":{"patterns":[', '"*"]}}'),
  ),
  rest(
    '100,000 rules of retention',
    policy,
    repeatedBody('{},', 340_000, '{"retention":{"rules":[', '{}]}}'),
  ),
]

const deletable = '{"id":"DSA-1-1","modified":"2024-01-01T00:00:00Z","affected":['
const documents =
  (...contents: readonly Body[]): Body =>
  (target) => {
    const base64 = contents.map((content) => ({ content: Buffer.from(content(target)).toString('base64') }))
    return Buffer.from(JSON.stringify({ documents: base64 }))
  }
const importing = { budgetMib: processBudgetMib, waitMs: 20_000 }

const imported: readonly HostileCase[] = [
  rest('15.7 MiB of empty documents', imports, repeatedBody('{},', 5_400_000, '{"documents":[', '{}]}'), {
    ...importing,
    quick: true,
  }),
  rest('15 MiB of nested arrays', imports, nestedBody('[', 7_800_000, ']', '{"documents":', '}'), importing),
  rest(
    '15 MiB of different members',
    imports,
    jsonListBody(1_200_000, (at) => `"m${at}":1`, '{', '}'),
    importing,
  ),
  rest(
    '15 MiB of one text',
    imports,
    repeatedBody('A', 15 * MIB, '{"documents":[{"content":"', '"}]}'),
    importing,
  ),
  rest(
    '15 MiB of escapes',
    imports,
    repeatedBody('\\u0041', 2_600_000, '{"documents":[{"content":"', '"}]}'),
    importing,
  ),
  rest(
    '1,000 documents of one byte',
    imports,
    documents(...Array.from({ length: 1000 }, () => textBody('a'))),
    importing,
  ),
  rest(
    '1,001 documents',
    imports,
    documents(...Array.from({ length: 1001 }, () => textBody('{}'))),
    importing,
  ),
  rest(
    'YAML that doubles itself',
    imports,
    documents(
      jsonListBody(30, (at) => `a${at + 1}: &a${at + 1} [*a${at},*a${at}]`, 'a0: &a0 [x]\n', '\n', '\n'),
    ),
    importing,
  ),
  rest('YAML of 8 MiB in nested lists', imports, documents(repeatedBody('[', 8 * MIB - 10)), importing),
  rest(
    'YAML of a million keys',
    imports,
    documents(jsonListBody(700_000, (at) => `k${at}: v`, '', '', '\n')),
    importing,
  ),
  rest(
    'JSON nested 5,000,000 deep in a document',
    imports,
    documents(nestedBody('[', 5_000_000, ']')),
    importing,
  ),
  rest(
    'a document of 11 MiB of packages',
    imports,
    documents(
      jsonListBody(150_000, (at) => `{"package":{"ecosystem":"npm","name":"p${at}"}}`, deletable, ']}'),
    ),
    { ...importing, budgetMib: 256 },
  ),
  rest(
    'a million events in a document',
    imports,
    documents(
      repeatedBody(
        '{"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"1"}]}]},',
        150_000,
        deletable,
        '{}]}',
      ),
    ),
    { ...importing, budgetMib: 256 },
  ),
  rest('16 MiB and one byte', imports, filledBody([32], 16 * MIB + 1), importing),
  rest('a million names to delete', deletes, repeatedBody('"a",', 250_000, '{"names":[', '"a"]}')),
]

const inReadme =
  (content: Body): Body =>
  (target) =>
    Buffer.from(JSON.stringify({ content: Buffer.from(content(target)).toString() }))
const readmes: readonly HostileCase[] = Object.entries({
  'open brackets': repeatedBody('[', 64 * KIB - 1),
  'open brackets of images': repeatedBody('![', 32 * KIB - 1),
  'stars that may open and close': repeatedBody('*a_', 21_000),
  'nested quotes': repeatedBody('> ', 32 * KIB - 1),
  'nested lists': jsonListBody(350, (at) => `${'  '.repeat(at % 100)}- a`, '', '', '\n'),
  'nested HTML': repeatedBody('<div>', 13_000),
  'comments that are not closed': repeatedBody('<!--', 16_000),
  'backticks of all lengths': jsonListBody(350, (at) => '`'.repeat(at), '', '', ' '),
  'references to one link': repeatedBody('[a]', 20_000, '[a]: https://example.com/\n\n'),
  'link definitions': jsonListBody(4000, (at) => `[a${at}]: /x`, '', '', '\n'),
  entities: repeatedBody('&#x3c;', 10_000),
  'a table of many cells': repeatedBody(
    `${'|a'.repeat(100)}\n`,
    300,
    `${'|a'.repeat(100)}\n${'|-'.repeat(100)}\n`,
  ),
  'addresses in angle brackets': repeatedBody('<a@b', 16_000),
}).map(([name, content]) =>
  rest(`a README of ${name}`, readme, inReadme(content), {
    callers: ['pusher', 'operator'],
    replies: { pusher: ['403'] },
  }),
)

const overlays: readonly HostileCase[] = Object.entries({
  '16,000 environment variables': jsonListBody(16_000, (at) => `"A${at}":""`, '{"environment":{', '}}'),
  '20,000 packages': repeatedBody('"a",', 30_000, '{"contents":{"packages":[', '"a"]}}'),
  '500 certificates of nonsense': jsonListBody(
    500,
    (at) =>
      `{"name":"c${at}","content":"-----BEGIN CERTIFICATE-----\\n${'A'.repeat(200)}\\n-----END CERTIFICATE-----"}`,
    '{"certificates":{"additional":[',
    ']}}',
  ),
  'one certificate of 120 KiB': repeatedBody(
    'A',
    120 * KIB,
    '{"certificates":{"additional":[{"name":"a","content":"-----BEGIN CERTIFICATE-----\\n',
    '"}]}}',
  ),
  '40,000 users': repeatedBody('{},', 40_000, '{"accounts":{"users":[', '{}]}}'),
}).map(([name, overlay]) =>
  rest(`an overlay of ${name}`, repo, concatBodies(textBody('{"custom_overlay":'), overlay, textBody('}'))),
)

const claim = (fields: string) => textBody(`{"name":"a","claimMatch":{${fields}}}`)
const patterns: readonly HostileCase[] = Object.entries({
  'repetitions of repetitions': claim(
    '"issuer":"https://a.example","subjectPattern":"((((a{30}){30}){30}){30}){30}"',
  ),
  'nested stars': claim(
    `"issuer":"https://a.example","subjectPattern":"${'('.repeat(300)}a${')*'.repeat(300)}"`,
  ),
  alternatives: claim(`"issuer":"https://a.example","subjectPattern":"${'a|'.repeat(500)}a"`),
  'classes of all letters': claim(`"issuer":"https://a.example","subjectPattern":"${'\\\\pL'.repeat(300)}"`),
  'fifty claims': claim(
    `"issuer":"https://a.example","subject":"a","claimPatterns":{${Array.from({ length: 50 }, (_, at) => `"c${at}":"(\\\\pL|\\\\pN{1,200}|a${at}){1,20}"`).join(',')}}`,
  ),
  'an issuer': claim(
    `"issuerPattern":"https://[a-z]{1,60}\\\\.${'(a|b){1,30}'.repeat(40)}\\\\.example\\\\.com","subject":"a"`,
  ),
}).map(([name, body]) => rest(`a pattern of ${name}`, identities, body, { times: 5 }))

const longest = 30 * KIB
const queries: readonly HostileCase[] = Object.entries({
  'a query of 30 KiB in one value': `name=${'a'.repeat(longest)}`,
  '15,000 parameters': 'a&'.repeat(longest / 2),
  '10,000 parameters of one name': 'name=&'.repeat(5000),
  '7,000 ids': 'uidp.ids=a&'.repeat(2800),
  escapes: `name=${'%41'.repeat(longest / 3)}`,
  'broken escapes': `name=${'%ff'.repeat(longest / 3)}`,
  'an order of 5,000 keys': `order_by=${'uid,'.repeat(7000)}`,
  'a page token of 30 KiB': `page_token=${'A'.repeat(longest)}`,
  'nested field names': `${'uidp.'.repeat(6000)}ids=a`,
  'a number of 30,000 digits': `page_size=${'9'.repeat(longest)}`,
}).map(([name, query]) =>
  rest(`${name} in a list`, `GET /iam/v2beta1/groups?${query}`, undefined, {
    replies: { anonymous: ['401'] },
    times: 20,
    parallel: 5,
    quick: name === '15,000 parameters',
  }),
)

const paths: readonly HostileCase[] = [
  rest(
    'a mask of 5,000 fields',
    ({ repo }) => `PATCH /registry/v2beta1/repos/${repo}?updateMask=${'name,'.repeat(6000)}`,
    textBody('{"name":"a"}'),
    { times: 20 },
  ),
  rest(
    'a mask of nested fields',
    ({ repo }) => `PATCH /registry/v2beta1/repos/${repo}?updateMask=${'custom_overlay.'.repeat(2000)}`,
    textBody('{"name":"a"}'),
    { times: 20 },
  ),
  rest('a uid of 15,000 segments', `GET /iam/v2beta1/groups/${'a/'.repeat(15_000)}`, undefined, {
    times: 20,
    replies: {},
  }),
  rest('a path of escapes', `GET /iam/v2beta1/groups/${'%2f'.repeat(10_000)}`, undefined, {
    times: 20,
    replies: {},
  }),
  rest('a path of slashes', `GET ${'/'.repeat(30_000)}`, undefined, { times: 20, replies: {} }),
  rest('a path of colons', `POST /iam/v2beta1/groups/${':'.repeat(30_000)}`, textBody('{}'), {
    times: 20,
    replies: {},
  }),
  rest('500 lists of 200 at a time', 'GET /iam/v2beta1/identities?page_size=200', undefined, {
    times: 500,
    parallel: 50,
    replies: { anonymous: ['401'] },
    waitMs: 20_000,
  }),
  rest('500 totals by version 1', 'GET /iam/v1/groups', undefined, {
    times: 500,
    parallel: 50,
    replies: { anonymous: ['401'] },
    waitMs: 20_000,
  }),
  rest('50 bodies of 1 MiB at a time', roles, json['340,000 empty objects in a field'], {
    times: 50,
    parallel: 50,
    waitMs: 30_000,
    budgetMib: processBudgetMib,
    quick: true,
  }),
  rest('20 imports of 15 MiB at a time, half sent', imports, filledBody([32], 15 * MIB), {
    times: 20,
    parallel: 20,
    missingBytes: 100,
    waitMs: 3000,
    budgetMib: processBudgetMib,

    replies: { anonymous: ['401'], 'no role': ['403'], pusher: ['no reply', '408'] },
  }),
  rest('100 bodies over HTTP/2, half sent', roles, filledBody([32], MIB), {
    http2: true,
    times: 100,
    parallel: 100,
    missingBytes: 100,
    waitMs: 3000,
    budgetMib: connectionBudgetMib,
    quick: true,
    replies: { anonymous: ['401'], 'no role': ['403'], pusher: ['no reply', '408'] },
  }),
]

const types: readonly HostileCase[] = [
  rest('protobuf as JSON', roles, filledBody([0x12, 0], MIB - 10)),
  rest('JSON in another encoding', roles, () => Buffer.from(`{"name":"${'a'.repeat(400_000)}"}`, 'utf16le'), {
    type: 'application/json; charset=utf-16',
  }),
]

export const restCases: readonly HostileCase[] = [
  ...bodies,
  ...olderVersions,
  ...wide,
  ...imported,
  ...readmes,
  ...overlays,
  ...patterns,
  ...queries,
  ...paths,
  ...types,
]
