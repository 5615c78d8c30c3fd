import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../config/limits.ts'
import { readParameters } from './parameters.ts'

const read = (query: string) => readParameters(new URLSearchParams(query), { repeatable: ['audience'] })

test('parameters are read by name, empty ones count as omitted, unknown ones are ignored', () => {
  const parameters = read('client_id=berth-cli&state=&audience=a&audience=b&else=x')
  assert.equal(parameters.get('client_id'), 'berth-cli')
  assert.equal(parameters.get('state'), '')
  assert.deepEqual(parameters.all('audience'), ['a', 'b'])
  assert.deepEqual(parameters.all('nothing'), [])
  assert.equal(parameters.problem, undefined)
})

for (const [query, problem] of [
  ['state=a&state=b', 'a parameter is repeated'],
  ['state=a&state=a', 'a parameter is repeated'],
  ['state=a&st%61te=b', 'a parameter is repeated'],
  ['else=1&else=2', 'a parameter is repeated'],
  ['state=a%00', 'a parameter contains control characters'],
  ['state=a%0Ab', 'a parameter contains control characters'],
  ['st%09ate=a', 'a parameter contains control characters'],
  [`state=${'a'.repeat(limits.oauthParameterCharsMax + 1)}`, 'a parameter is too long'],
] as const)
  test(`rejects ${query.slice(0, 30)}: ${problem}`, () => assert.equal(read(query).problem, problem))

test('names of object properties are not parameters', () => {
  assert.equal(read('').get('constructor'), '')
  assert.equal(read('__proto__=x').get('__proto__'), 'x')
})
