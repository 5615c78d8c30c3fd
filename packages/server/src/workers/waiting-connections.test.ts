import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWaitingConnections } from './waiting-connections.ts'

function setUp(max = 6) {
  const waiting = createWaitingConnections<string>(max)
  const all = () => {
    const found: string[] = []
    for (let one = waiting.next(); one !== undefined; one = waiting.next()) found.push(one)
    return found
  }
  return { waiting, all }
}

test('addresses take turns', () => {
  const { waiting, all } = setUp()
  for (const one of ['a1', 'a2', 'a3']) waiting.add(one, 'a')
  for (const one of ['b1', 'b2']) waiting.add(one, 'b')
  assert.equal(waiting.next(), 'a1')
  waiting.add('c1', 'c')
  assert.equal(waiting.size, 5)
  assert.deepEqual(all(), ['b1', 'a2', 'c1', 'b2', 'a3'])
  assert.equal(waiting.size, 0)
})

test('beyond the maximum, the address that has the most loses its last one', () => {
  const { waiting, all } = setUp()
  for (const one of ['a1', 'a2', 'b1', 'b2', 'b3', 'c1'])
    assert.equal(waiting.add(one, one[0] as string), undefined)
  assert.equal(waiting.add('a3', 'a'), 'b3')
  assert.equal(waiting.add('d1', 'd'), 'a3')
  assert.equal(waiting.add('b4', 'b'), 'b4')
  assert.deepEqual(all(), ['a1', 'b1', 'c1', 'd1', 'a2', 'b2'])
})

test('connections without an address count one by one: the last of all is lost, unless an address has more', () => {
  const { waiting, all } = setUp(3)
  for (const one of ['p1', 'p2', 'p3']) waiting.add(one, undefined)
  assert.equal(waiting.add('p4', undefined), 'p4')
  assert.equal(waiting.next(), 'p1')
  waiting.add('a1', 'a')
  assert.equal(waiting.add('a2', 'a'), 'a2')
  assert.deepEqual(all(), ['p2', 'p3', 'a1'])
})

test('those that are put back are the next ones, and displace no others', () => {
  const { waiting, all } = setUp(2)
  waiting.add('a1', 'a')
  waiting.add('a2', 'a')
  waiting.putBack('b1')
  waiting.putBack('b2')
  assert.equal(waiting.size, 4)
  assert.deepEqual(all(), ['b1', 'b2', 'a1', 'a2'])
})
