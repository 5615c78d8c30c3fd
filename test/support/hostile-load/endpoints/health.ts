import { concatBodies, field, filledBody, grpcFrame, gzippedBody, MIB, textBody, times } from '../bytes.ts'
import { type Body, connectionBudgetMib, type HostileCase } from '../hostile-case.ts'
import { type GrpcOptions, grpc } from '../requests.ts'

/** Health and reflection, which anyone may call. What the other client cannot check any more fails the case. */

const CHECK = 'grpc.health.v1.Health/Check'
const WATCH = 'grpc.health.v1.Health/Watch'
const LIST = 'grpc.health.v1.Health/List'
const REFLECTION = 'grpc.reflection.v1.ServerReflection/ServerReflectionInfo'
const OLD_REFLECTION = 'grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo'

const open: GrpcOptions = { callers: ['anonymous'], replies: {} }
const streams: GrpcOptions = { ...open, staysOpen: true, waitMs: 2000 }
const empty = grpcFrame(textBody(''))

const health: readonly HostileCase[] = [
  grpc('1,000 watches on four connections', WATCH, empty, {
    ...streams,
    stream: true,
    times: 1000,
    parallel: 250,
    connections: 4,
    quick: true,
  }),
  grpc('1,000 watches on one connection', WATCH, empty, {
    ...streams,
    stream: true,
    times: 1000,
    parallel: 1000,
  }),
  grpc('2,000 watches on 100 connections', WATCH, empty, {
    ...streams,
    stream: true,
    times: 2000,
    parallel: 20,
    connections: 100,
  }),
  grpc('1,000 watches that send nothing', WATCH, textBody(''), {
    ...streams,
    stream: true,
    times: 1000,
    parallel: 250,
    connections: 4,
  }),
  grpc('500 watches of unknown services', WATCH, grpcFrame(field(1, textBody('x'))), {
    ...streams,
    stream: true,
    times: 500,
    parallel: 125,
    connections: 4,
  }),
  grpc('a watch of a name of 1 MiB', WATCH, grpcFrame(field(1, filledBody([97], MIB - 20))), {
    ...streams,
    stream: true,
    times: 10,
    parallel: 10,
  }),
  grpc('5,000 checks', CHECK, textBody(''), {
    ...open,
    times: 5000,
    parallel: 100,
    waitMs: 20_000,
    quick: true,
  }),
  grpc('1,000 checks that send nothing', CHECK, textBody(''), {
    ...streams,
    stream: true,
    times: 1000,
    parallel: 250,
    connections: 4,
  }),
  grpc(
    '200 checks of 1 MiB, half sent',
    CHECK,
    grpcFrame(filledBody([0], MIB - 1000), { length: MIB - 10 }),
    {
      ...streams,
      stream: true,
      times: 200,
      parallel: 200,
      budgetMib: connectionBudgetMib,
    },
  ),
  grpc('a check with 500,000 unknown fields', CHECK, filledBody([0x12, 0], MIB - 10), open),
  grpc('20 checks of 1 KB that unpack to 1 MiB', CHECK, gzippedBody(filledBody([0x12, 0], MIB - 10)), {
    ...open,
    gzip: true,
    times: 20,
    parallel: 20,
  }),
  grpc('a check of a name of 1 MiB', CHECK, field(1, filledBody([97], MIB - 20)), open),
  grpc('2,000 lists', LIST, textBody(''), { ...open, times: 2000, parallel: 100, waitMs: 20_000 }),
]

const ask = (request: Body, count: number): Body => times(count, grpcFrame(request))
const listServices = field(7, textBody('*'))
const symbolOf = (name: string) => field(4, textBody(name))

const reflection: readonly HostileCase[] = [
  grpc('10,000 lists of services in one stream', REFLECTION, ask(listServices, 10_000), {
    ...open,
    stream: true,
    waitMs: 20_000,
    budgetMib: 32,
    quick: true,
  }),
  grpc(
    '1,000 files in one stream',
    REFLECTION,
    ask(symbolOf('chainguard.platform.iam.v2beta1.GroupsService'), 1000),
    { ...open, stream: true, waitMs: 20_000, budgetMib: 32, quick: true },
  ),
  grpc(
    '1,000 files in one stream of v1alpha',
    OLD_REFLECTION,
    ask(symbolOf('chainguard.platform.registry.Registry'), 1000),
    { ...open, stream: true, waitMs: 20_000, budgetMib: 32 },
  ),
  grpc('100,000 unknown symbols in one stream', REFLECTION, ask(symbolOf('x.y'), 100_000), {
    ...open,
    stream: true,
    waitMs: 20_000,
    budgetMib: 32,
  }),
  grpc('a symbol of 1 MiB', REFLECTION, ask(symbolOf('a'.repeat(MIB - 20)), 1), { ...open, stream: true }),
  grpc('a symbol of 500,000 dots', REFLECTION, ask(symbolOf('.'.repeat(MIB - 20)), 1), {
    ...open,
    stream: true,
  }),
  grpc('a file name of 1 MiB', REFLECTION, ask(field(3, filledBody([97], MIB - 20)), 1), {
    ...open,
    stream: true,
  }),
  grpc('500,000 empty frames', REFLECTION, times(500_000, empty), {
    ...open,
    stream: true,
    waitMs: 20_000,
    budgetMib: 32,
  }),
  grpc(
    'numbers of extensions of all types',
    REFLECTION,
    ask(field(6, textBody('google.protobuf.MethodOptions')), 10_000),
    { ...open, stream: true, waitMs: 20_000, budgetMib: 32 },
  ),
  grpc('1,000 streams that stay', REFLECTION, grpcFrame(listServices), {
    ...streams,
    stream: true,
    times: 1000,
    parallel: 250,
    connections: 4,
  }),
  grpc(
    'streams and watches with unknown fields',
    REFLECTION,
    concatBodies(grpcFrame(filledBody([0x9a, 0x3e, 0], MIB - 10))),
    { ...open, stream: true },
  ),
]

export const healthCases: readonly HostileCase[] = health
export const reflectionCases: readonly HostileCase[] = reflection
