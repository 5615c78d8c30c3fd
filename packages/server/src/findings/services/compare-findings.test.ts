import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Finding,
  Finding_State,
  FindingSchema,
} from '@berth/contract/gen/berth/vulnerabilities/v1/findings_pb.js'
import { create } from '@bufbuild/protobuf'
import { compareFindings } from './compare-findings.ts'

const { AFFECTED, NOT_AFFECTED } = Finding_State

function finding(vulnerability: string, name: string, version: string, state = AFFECTED): Finding {
  return create(FindingSchema, { vulnerability, purl: `pkg:npm/${name}@${version}`, version, state })
}

const shown = (findings: readonly Finding[]) =>
  findings.map(({ vulnerability, purl }) => `${vulnerability} ${purl}`)

describe('the difference of findings', () => {
  const cases: readonly {
    readonly name: string
    readonly before: readonly Finding[]
    readonly after: readonly Finding[]
    readonly added?: readonly string[]
    readonly removed?: readonly string[]
    readonly changed?: readonly string[]
  }[] = [
    { name: 'nothing', before: [finding('A', 'x', '1')], after: [finding('A', 'x', '1')] },
    {
      name: 'another vulnerability',
      before: [finding('A', 'x', '1')],
      after: [finding('B', 'x', '1')],
      added: ['B pkg:npm/x@1'],
      removed: ['A pkg:npm/x@1'],
    },
    {
      name: 'another version',
      before: [finding('A', 'x', '1')],
      after: [finding('A', 'x', '2')],
      changed: ['A pkg:npm/x@2'],
    },
    {
      name: 'another state',
      before: [finding('A', 'x', '1')],
      after: [finding('A', 'x', '1', NOT_AFFECTED)],
      changed: ['A pkg:npm/x@1'],
    },
    {
      name: 'another version, of which neither is affected',
      before: [finding('A', 'x', '1', NOT_AFFECTED)],
      after: [finding('A', 'x', '2', NOT_AFFECTED)],
    },
    {
      name: 'another version that is not affected',
      before: [finding('A', 'x', '1')],
      after: [finding('A', 'x', '2', NOT_AFFECTED)],
      changed: ['A pkg:npm/x@2'],
    },
    {
      name: 'another version that is affected',
      before: [finding('A', 'x', '1', NOT_AFFECTED)],
      after: [finding('A', 'x', '2')],
      changed: ['A pkg:npm/x@2'],
    },
    {
      name: 'packages that are not affected',
      before: [finding('A', 'x', '1', NOT_AFFECTED)],
      after: [finding('A', 'y', '1', NOT_AFFECTED)],
    },
    {
      name: 'one of two versions is fixed',
      before: [finding('A', 'x', '1'), finding('A', 'x', '2')],
      after: [finding('A', 'x', '2')],
      removed: ['A pkg:npm/x@1'],
    },
    {
      name: 'one more version',
      before: [finding('A', 'x', '2')],
      after: [finding('A', 'x', '1'), finding('A', 'x', '2')],
      added: ['A pkg:npm/x@1'],
    },
    {
      name: 'one of two versions is updated',
      before: [finding('A', 'x', '1'), finding('A', 'x', '2')],
      after: [finding('A', 'x', '3'), finding('A', 'x', '2')],
      changed: ['A pkg:npm/x@3'],
    },
    {
      name: 'one package twice',
      before: [finding('A', 'x', '1'), finding('A', 'x', '1')],
      after: [finding('A', 'x', '1'), finding('A', 'x', '1')],
    },
    {
      name: 'a package with a scope',
      before: [finding('A', '@s/x', '1')],
      after: [finding('A', '@s/y', '1')],
      added: ['A pkg:npm/@s/y@1'],
      removed: ['A pkg:npm/@s/x@1'],
    },
  ]
  for (const { name, before, after, added = [], removed = [], changed = [] } of cases)
    test(name, () => {
      const difference = compareFindings(before, after)
      assert.deepEqual(
        {
          added: shown(difference.added),
          removed: shown(difference.removed),
          changed: shown(difference.changed),
        },
        { added, removed, changed },
      )
    })
})
