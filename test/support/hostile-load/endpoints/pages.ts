import { filledBody, KIB, MIB, repeatedBody, textBody } from '../bytes.ts'
import type { HostileCase } from '../hostile-case.ts'
import { form, type HttpOptions, http, rest } from '../requests.ts'

/** The documents that are read, and the forms of the sign-in. */

const flood: HttpOptions = { callers: ['anonymous'], times: 200, parallel: 20, waitMs: 20_000 }

const documents: readonly HostileCase[] = [
  http('100 API descriptions', 'GET /openapi.json', undefined, {}, { ...flood, times: 100, budgetMib: 32 }),
  http(
    '100 API descriptions with gzip',
    'GET /openapi.json',
    undefined,
    { 'accept-encoding': 'gzip' },
    { ...flood, times: 100, budgetMib: 32 },
  ),
  http('100 pages of the reference', 'GET /docs', undefined, {}, { ...flood, times: 100, budgetMib: 32 }),
  http('200 unknown pages of the reference', `GET /docs/${'a/'.repeat(10_000)}`, undefined, {}, flood),
  http(
    '200 pages of the reference above its folder',
    `GET /docs/${'..%2f'.repeat(5000)}etc/passwd`,
    undefined,
    {},
    flood,
  ),
  http(
    '200 conditions of 30 KiB',
    'GET /openapi.json',
    undefined,
    { 'if-none-match': '"a",'.repeat(7000) },
    flood,
  ),
  http(
    '200 kinds of encodings',
    'GET /docs',
    undefined,
    { 'accept-encoding': 'gzip;q=0,'.repeat(3000) },
    flood,
  ),
  http('200 metrics', 'GET /metrics', undefined, {}, { ...flood, quick: true }),
  http('500 readiness checks', 'GET /readyz', undefined, {}, { ...flood, times: 500 }),
  http('200 key sets', 'GET /.well-known/jwks.json', undefined, {}, flood),
]

const feeds: readonly HostileCase[] = [
  http(
    '200 feeds of unknown groups',
    `GET /vulnerabilities/feeds/${'f'.repeat(40)}/osv/all.zip`,
    undefined,
    {},
    { ...flood, replies: { anonymous: ['401'] } },
  ),
  http(
    '200 feeds of a private group',
    ({ group }) => `GET /vulnerabilities/feeds/${group}/osv/all.zip`,
    undefined,
    {},
    { ...flood, replies: { anonymous: ['401'] } },
  ),
  http(
    '200 feeds of 700 segments',
    `GET /vulnerabilities/feeds/${'f'.repeat(40)}${`/${'0'.repeat(16)}`.repeat(1700)}/osv/all.zip`,
    undefined,
    {},
    flood,
  ),
  http(
    '200 feeds of long artifacts',
    ({ group }) => `GET /vulnerabilities/feeds/${group}/openvex/${'%41'.repeat(9000)}`,
    undefined,
    {},
    flood,
  ),
  http(
    '200 feeds with encodings',
    ({ group }) => `GET /vulnerabilities/feeds/${group}/security.json`,
    undefined,
    { 'accept-encoding': 'gzip;q=0.0000001,'.repeat(1700) },
    flood,
  ),
  rest('50 exports of the audit log', 'GET /audit/v1/events:export', undefined, {
    times: 50,
    parallel: 10,
    waitMs: 20_000,
    replies: { anonymous: ['401'] },
  }),
  rest(
    'an export with 7,000 filters',
    `GET /audit/v1/events:export?${'uidp.ids=a&'.repeat(2700)}`,
    undefined,
    { times: 20, replies: { anonymous: ['401'] } },
  ),
  rest(
    'an export with a filter of 30 KiB',
    `GET /audit/v1/events:export?actor=${'a'.repeat(30_000)}`,
    undefined,
    { times: 20, replies: { anonymous: ['401'] } },
  ),
]

const password = (value: string) => textBody(`email=ada@example.com&password=${value}`)
const forms: readonly HostileCase[] = [
  form('50 passwords of 60 KiB', '/sign-in/password', password('a'.repeat(60 * KIB)), {
    times: 50,
    parallel: 10,
    quick: true,
  }),
  form('100 passwords of 1,000 characters', '/sign-in/password', password('%F0%9F%90%8B'.repeat(1000)), {
    times: 100,
    parallel: 20,
    waitMs: 20_000,
  }),
  form('200 passwords without a page', '/sign-in/password', password('wrong'), { ...flood }),
  form('16,000 fields', '/sign-in/password', repeatedBody('a=b&', 16_000), {
    times: 50,
    parallel: 10,
    quick: true,
  }),
  form('a registration of 16,000 fields', '/sign-in/register', repeatedBody('a=b&', 16_000), {
    times: 50,
    parallel: 10,
  }),
  form('10 MiB', '/sign-in/password', filledBody([97], 10 * MIB), { times: 3 }),
  form('100 forms of 64 KiB, half sent', '/sign-in/password', filledBody([97], 64 * KIB), {
    times: 100,
    parallel: 100,
    missingBytes: 10,
    waitMs: 2000,
    replies: { anonymous: ['no reply', '408'] },
  }),
  form('a form with 5,000 cookies', '/sign-in/password', password('a'), {
    headers: { cookie: 'a=b; '.repeat(5000) },
    times: 50,
    parallel: 10,
  }),
  http(
    'JSON for a passkey',
    'POST /sign-in/passkey',
    filledBody([91], 60 * KIB),
    { 'content-type': 'application/json' },
    { callers: ['anonymous'], times: 20 },
  ),
  http(
    '200 questions for a passkey',
    'POST /sign-in/passkey/options',
    textBody('{}'),
    { 'content-type': 'application/json' },
    flood,
  ),
  http('200 sign-in pages', 'GET /sign-in', undefined, {}, flood),
  http(
    '200 sign-in pages with a long way back',
    `GET /sign-in?to=${'%2f'.repeat(9000)}`,
    undefined,
    {},
    flood,
  ),
  http(
    '200 providers of unknown organizations',
    `GET /sign-in/provider?organization=${'a'.repeat(20_000)}`,
    undefined,
    {},
    flood,
  ),
  http('200 invites of 20 KiB', `GET /invite?code=${'a'.repeat(20_000)}`, undefined, {}, flood),
  http('200 device codes of 20 KiB', `GET /device?user_code=${'A'.repeat(20_000)}`, undefined, {}, flood),
  http('200 setup links of 20 KiB', `GET /setup?token=${'a'.repeat(20_000)}`, undefined, {}, flood),
]

export const documentCases: readonly HostileCase[] = documents
export const feedCases: readonly HostileCase[] = feeds
export const signInCases: readonly HostileCase[] = forms
