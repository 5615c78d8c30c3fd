import {
  type Group,
  GroupSchema,
  ListGroupsResponseSchema,
} from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import { createJsonWriter } from '@berth/server/gateway/json/writer.ts'
import { create, toJsonString } from '@bufbuild/protobuf'
import { timestampFromMs } from '@bufbuild/protobuf/wkt'
import type { Bench, Result } from '../bench.ts'
import { goals } from '../goals.ts'
import { medianOf } from '../http-load.ts'

const GROUPS = 50
const ROUNDS = 9
const REPEATS = 2000

/** The JSON writer of the API against that of protobuf-es, on a list of 50 groups, in this process. */
export async function measureJson(bench: Bench): Promise<Result[]> {
  const message = create(ListGroupsResponseSchema, {
    groups: Array.from({ length: GROUPS }, (_, at) => groupAt(at)),
    totalCount: BigInt(GROUPS),
  })
  const write = createJsonWriter(ListGroupsResponseSchema)
  const sides = { ours: () => write(message), theirs: () => toJsonString(ListGroupsResponseSchema, message) }
  const rounds = { ours: [] as number[], theirs: [] as number[] }
  for (let round = 0; round < ROUNDS; round++)
    for (const side of ['ours', 'theirs'] as const) rounds[side].push(cpuUsOf(sides[side]))
  const [ours, theirs] = [medianOf(rounds.ours), medianOf(rounds.theirs)]
  bench.say(`  Berth ${ours.toFixed(1)} us, protobuf-es ${theirs.toFixed(1)} us`)
  return [
    {
      work: 'json',
      title: `JSON of ${GROUPS} groups, to protobuf-es`,
      value: theirs / ours,
      unit: 'share',
      goal: goals.json,
    },
  ]
}

function cpuUsOf(work: () => string): number {
  const before = process.cpuUsage()
  for (let n = 0; n < REPEATS; n++) work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / REPEATS
}

function groupAt(at: number): Group {
  const time = timestampFromMs(Date.UTC(2026, 0, 1) + at)
  return create(GroupSchema, {
    uid: `${'a'.repeat(40)}/${String(at).padStart(16, '0')}`,
    name: `group-${at}`,
    description: 'A group of the benchmark',
    createTime: time,
    updateTime: time,
  })
}
