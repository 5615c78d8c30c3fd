import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseDatabaseAddress, withoutPassword } from './address.ts'

const good: readonly [text: string, servers: readonly string[], attributes: string][] = [
  ['postgres://u:p@h:5433/db', ['postgres://u:p@h:5433/db'], 'any'],
  ['postgresql://h', ['postgres://h:5432'], 'any'],
  ['postgres:///db', ['postgres://localhost:5432/db'], 'any'],
  ['postgres://[::1]:5433/db', ['postgres://[::1]:5433/db'], 'any'],
  [
    'postgres://u:p@h1:5432,h2:5433/db?target_session_attrs=read-write',
    ['postgres://u:p@h1:5432/db', 'postgres://u:p@h2:5433/db'],
    'read-write',
  ],
  [
    'postgres://u@h1,h2,[::1]:7/db',
    ['postgres://u@h1:5432/db', 'postgres://u@h2:5432/db', 'postgres://u@[::1]:7/db'],
    'read-write',
  ],
  [
    'postgres://u@h1,h2/db?target_session_attrs=any',
    ['postgres://u@h1:5432/db', 'postgres://u@h2:5432/db'],
    'any',
  ],
  [
    'postgres://u@h/db?target_session_attrs=primary&sslmode=disable',
    ['postgres://u@h:5432/db?sslmode=disable'],
    'primary',
  ],
  ['postgres://h/db?sslmode=require', ['postgres://h:5432/db?sslmode=verify-full'], 'any'],
  ['postgres://h/db?sslmode=prefer', ['postgres://h:5432/db?sslmode=verify-full'], 'any'],
  ['postgres://h/db?sslmode=disable&sslmode=allow', ['postgres://h:5432/db?sslmode=verify-full'], 'any'],
  ['postgres://h/db?sslmode=no-verify', ['postgres://h:5432/db?sslmode=no-verify'], 'any'],
  [
    'postgres://h1,h2/db?sslmode=verify-ca&sslrootcert=ca.pem',
    [
      'postgres://h1:5432/db?sslmode=verify-full&sslrootcert=ca.pem',
      'postgres://h2:5432/db?sslmode=verify-full&sslrootcert=ca.pem',
    ],
    'read-write',
  ],
  [
    'postgres://h/db?uselibpqcompat=true&sslmode=require',
    ['postgres://h:5432/db?uselibpqcompat=true&sslmode=require'],
    'any',
  ],
  ['postgres://u@/db?host=h1,h2&port=1,2', ['postgres://u@h1:1/db', 'postgres://u@h2:2/db'], 'read-write'],
  ['postgres://u@/db?host=h1,::1&port=7', ['postgres://u@h1:7/db', 'postgres://u@[::1]:7/db'], 'read-write'],
  ['postgres:///db?host=/run/pg', ['postgres:///db?host=%2Frun%2Fpg&port=5432'], 'any'],
  ['postgres://%2Frun%2Fpg/db', ['postgres:///db?host=%2Frun%2Fpg&port=5432'], 'any'],
]

for (const [text, servers, attributes] of good)
  test(`${text} names ${servers.length} of kind ${attributes}`, () => {
    const read = parseDatabaseAddress(text)
    assert.ok('address' in read, JSON.stringify(read))
    assert.deepEqual(
      [read.address.servers.map(({ url }) => url), read.address.attributes],
      [servers, attributes],
    )
  })

test('connect_timeout is in seconds, and application_name is kept apart', () => {
  const read = parseDatabaseAddress('postgres://h/db?connect_timeout=7&application_name=berth-eu')
  assert.ok('address' in read)
  const { connectMs, applicationName, servers } = read.address
  assert.deepEqual([connectMs, applicationName], [7000, 'berth-eu'])
  assert.deepEqual(servers, [{ name: 'h:5432', url: 'postgres://h:5432/db' }])
})

const bad: readonly [text: string, problem: RegExp][] = [
  ['postgres://h/d?sslmode=Require', /^has sslmode=Require, which must be one of disable, no-verify, allow,/],
  ['mysql://h/d', /^must be an address such as postgres:/],
  ['postgres://h:port/d', /^has the port "port", which must be a number from 1 to 65535/],
  ['postgres://h1:0,h2/d', /^has the port "0"/],
  ['postgres://h1:65536/d', /^has the port "65536"/],
  ['postgres://h1,,h2/d', /^has no name for host 2 of 3/],
  ['postgres://::1/d', /^has the host "::1", which must be a name or an address/],
  ['postgres://%zz/d', /^has the host "%zz", whose percent-encoding is invalid/],
  ['postgres://u:se/cret@h/d', /^has a \/ or \? before the @; write them as %2F and %3F in the password$/],
  ['postgres://u:se?cret@h/d', /^has a \/ or \? before the @; write them as %2F and %3F in the password$/],
  ['postgres://a/d?host=b', /^names hosts twice/],
  ['postgres:///d?host=a,b&port=1,2,3', /^names 2 hosts and 3 ports/],
  [
    'postgres://a,b/d?target_session_attrs=standby',
    /^has target_session_attrs=standby, but Berth needs a server that accepts writes/,
  ],
  ['postgres://a,b/d?target_session_attrs=prefer-standby', /use read-write, primary or any/],
  ['postgres://a,b/d?target_session_attrs=read-only', /accepts writes/],
  ['postgres://a/d?target_session_attrs=master', /which must be one of read-write, primary, any/],
  ['postgres://a/d?connect_timeout=soon', /^has connect_timeout=soon, which must be a number of seconds/],
]

for (const [text, problem] of bad)
  test(`${text} is invalid, and the problem says why`, () => {
    const read = parseDatabaseAddress(text)
    assert.ok('problem' in read)
    assert.match(read.problem, problem)
  })

test('a URL is printed without its password', () => {
  assert.equal(withoutPassword('postgres://u:p@ss@h1:1,h2:2/d?x=y'), 'postgres://u:...@h1:1,h2:2/d?x=y')
  assert.equal(withoutPassword('postgres://u@h/d?password=secret&a=b'), 'postgres://u@h/d?password=...&a=b')
  assert.equal(withoutPassword('postgres://h/d'), 'postgres://h/d')
})
