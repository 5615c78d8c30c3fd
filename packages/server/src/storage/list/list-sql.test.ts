import assert from 'node:assert/strict'
import { test } from 'node:test'
import { subtreeRange } from '../../api/uid.ts'
import { splitBranches } from './list-sql.ts'

const uid = (root: string, ...path: string[]) =>
  [root.repeat(40), ...path.map((segment) => segment.repeat(16))].join('/')
const branchesOf = (...uids: string[]) => uids.map((one) => ({ range: subtreeRange(one) }))
const sizes = { bucketRowsMax: 2048, rowsInlineMax: 2000, branchesMax: 2 }

test('the audit log of an organization is read once, for all scopes of the caller in it', () => {
  const first = branchesOf(uid('a', '1'), uid('a', '2', '3'), uid('a', '4'))
  const second = branchesOf(uid('b', '1'), uid('b', '2'))
  const third = branchesOf(uid('c'))
  assert.deepEqual(splitBranches({ sizes }, 'audit_events', [...first, ...second]), [first, second])
  const all = [...first, ...second, ...third]
  assert.deepEqual(
    splitBranches({ sizes }, 'audit_events', all),
    [all],
    'more than branchesMax organizations',
  )
})

test('a resource collection is read by an index range of each scope', () => {
  const branches = branchesOf(uid('a', '1'), uid('a', '2'))
  assert.deepEqual(
    splitBranches({ sizes }, 'groups', branches),
    branches.map((branch) => [branch]),
  )
})
