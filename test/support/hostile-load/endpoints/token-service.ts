import { filledBody, jsonListBody, jwt, KIB, MIB, nestedBody, repeatedBody, textBody } from '../bytes.ts'
import { type HostileCase, processBudgetMib } from '../hostile-case.ts'
import { form, type HttpOptions, http } from '../requests.ts'

/** The token service, which anyone may ask, and the OAuth endpoints of clients. */

const JSON_TYPE = { 'content-type': 'application/json' }
const open: HttpOptions = { callers: ['anonymous'] }
const flood: HttpOptions = { ...open, times: 200, parallel: 20, waitMs: 20_000 }
const EXCHANGE = 'POST /sts/exchange'
const exchange = 'POST /sts/exchange?aud=https://example.com&identity=a'

const header = '{"alg":"RS256","kid":"a","typ":"JWT"}'
const claims = '{"iss":"https://issuer.example","sub":"a","aud":"b","exp":99999999999}'
const subjectTokens = {
  'nested claims': jwt(header, `{"a":${'['.repeat(4000)}${']'.repeat(4000)}}`),
  'a nested header': jwt(`{"a":${'['.repeat(4000)}${']'.repeat(4000)}}`, claims),
  '800 members': jwt(header, `{${Array.from({ length: 800 }, (_, at) => `"m${at}":1`).join(',')}}`),
  'duplicate members': jwt(header, `{${'"iss":"https://issuer.example",'.repeat(300)}"sub":"a"}`),
  '3,000 audiences': jwt(
    header,
    `{"iss":"https://issuer.example","sub":"a","aud":[${'"a",'.repeat(2000)}"b"]}`,
  ),
  'numbers of 8,000 digits': jwt(header, `{"exp":${'9'.repeat(8000)}}`),
  'an issuer of 10,000 characters': jwt(header, `{"iss":"https://${'a.'.repeat(4000)}example","sub":"a"}`),
  '10,000 dots': '.'.repeat(15_000),
  'an issuer on this machine': jwt(
    header,
    '{"iss":"http://127.0.0.1:1","sub":"a","aud":"b","exp":99999999999}',
  ),
  'no signature': jwt('{"alg":"none"}', claims),
  'an unknown issuer': jwt(header, claims),
}

const exchanges: readonly HostileCase[] = [
  ...Object.entries(subjectTokens).map(([name, token]) =>
    http(
      `200 tokens with ${name}`,
      exchange,
      undefined,
      { authorization: `Bearer ${token}` },
      { ...flood, quick: name === 'duplicate members' },
    ),
  ),
  http('a token of 30 KiB', exchange, undefined, { authorization: `Bearer ${'a'.repeat(30 * KIB)}` }, flood),
  http('500,000 nested arrays', EXCHANGE, nestedBody('[', 500_000, ']'), JSON_TYPE, { ...open, quick: true }),
  http('500,000 audiences', EXCHANGE, repeatedBody('"a",', 250_000, '{"aud":[', '"a"]}'), JSON_TYPE, {
    ...open,
    quick: true,
  }),
  http(
    '100,000 different members',
    EXCHANGE,
    jsonListBody(80_000, (at) => `"m${at}":1`, '{', '}'),
    JSON_TYPE,
    open,
  ),
  http(
    '100,000 times the same member',
    EXCHANGE,
    repeatedBody('"identity":"a",', 65_000, '{', '"identity":"a"}'),
    JSON_TYPE,
    open,
  ),
  http(
    'an identity of 1 MiB',
    EXCHANGE,
    repeatedBody('a', MIB - 100, '{"identity":"', '"}'),
    JSON_TYPE,
    open,
  ),
  http(
    '10 bodies of 1 MiB at a time',
    EXCHANGE,
    repeatedBody('{},', 340_000, '{"scopes":[', '{}]}'),
    JSON_TYPE,
    {
      ...open,
      times: 10,
      parallel: 10,
    },
  ),
  http('50 bodies of 1 MiB, half sent', EXCHANGE, filledBody([32], MIB), JSON_TYPE, {
    ...open,
    times: 50,
    parallel: 50,
    missingBytes: 10,
    waitMs: 3000,
    budgetMib: processBudgetMib,
    replies: { anonymous: ['no reply', '408', '401'] },
  }),
  http('15,000 parameters', `${EXCHANGE}?${'aud=a&'.repeat(5000)}`, undefined, {}, flood),
  http(
    'a refresh token of 1 MiB',
    'POST /sts/exchange_refresh_token',
    repeatedBody('a', MIB - 100, '{"scope":"', '"}'),
    JSON_TYPE,
    open,
  ),
  http(
    'a headless code of 30 KiB',
    `GET /sts/headless_sessions?code=${'a'.repeat(30_000)}`,
    undefined,
    {},
    flood,
  ),
  http(
    'a registration of 1 MiB',
    'POST /auth/v1/register',
    repeatedBody('a', MIB - 100, '{"code":"', '"}'),
    JSON_TYPE,
    open,
  ),
]

const fields64 = repeatedBody('a=b&', 16_000)
const oauth: readonly HostileCase[] = [
  ...['/oauth/token', '/oauth/revoke', '/oauth/device_authorization'].flatMap((path) => [
    form(`${path}: 16,000 fields`, path, fields64, {
      times: 20,
      parallel: 5,
      quick: path === '/oauth/token',
    }),
    form(`${path}: 64 KiB of escapes`, path, repeatedBody('%41', 21_000, 'client_id='), {
      times: 20,
      parallel: 5,
    }),
    form(`${path}: 10 MiB`, path, filledBody([97], 10 * MIB), { times: 2 }),
    form(`${path}: 100 bodies of 64 KiB, half sent`, path, filledBody([97], 64 * KIB), {
      times: 100,
      parallel: 100,
      missingBytes: 10,
      waitMs: 2000,
      replies: { anonymous: ['no reply', '408'] },
    }),
  ]),
  form(
    '500 wrong codes',
    '/oauth/token',
    textBody(
      'grant_type=authorization_code&client_id=berth-cli&redirect_uri=http://127.0.0.1:1/callback&code_verifier=a&code=b',
    ),
    { ...flood, times: 500 },
  ),
  form(
    '500 wrong refresh tokens',
    '/oauth/token',
    textBody(`grant_type=refresh_token&client_id=berth-cli&refresh_token=${'a'.repeat(4000)}`),
    { ...flood, times: 500, quick: true },
  ),
  form(
    '500 wrong device codes',
    '/oauth/token',
    textBody('grant_type=urn:ietf:params:oauth:grant-type:device_code&client_id=berth-cli&device_code=a'),
    { ...flood, times: 500 },
  ),
  form('500 devices that wait', '/oauth/device_authorization', textBody('client_id=berth-cli'), {
    ...flood,
    times: 500,
  }),
  form('500 revocations', '/oauth/revoke', textBody(`client_id=berth-cli&token=${'a'.repeat(4000)}`), {
    ...flood,
    times: 500,
  }),
  http(
    '200 authorization requests of 30 KiB',
    `GET /oauth/authorize?${'state=a&'.repeat(3500)}`,
    undefined,
    {},
    flood,
  ),
  http(
    '200 authorization requests with a long state',
    `GET /oauth/authorize?client_id=berth-cli&state=${'a'.repeat(25_000)}`,
    undefined,
    {},
    flood,
  ),
  http(
    '200 redirects to nested addresses',
    `GET /oauth/authorize?client_id=berth-cli&redirect_uri=http://127.0.0.1:1/${'%2e%2e/'.repeat(3000)}`,
    undefined,
    {},
    flood,
  ),
]

export const tokenServiceCases: readonly HostileCase[] = exchanges
export const oauthCases: readonly HostileCase[] = oauth
