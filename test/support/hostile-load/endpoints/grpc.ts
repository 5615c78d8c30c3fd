import { randomBytes } from 'node:crypto'
import {
  concatBodies,
  field,
  filledBody,
  grpcFrame,
  gzippedBody,
  KIB,
  MIB,
  nestedFields,
  repeatedBody,
  textBody,
  times,
  varint,
} from '../bytes.ts'
import { type Body, connectionBudgetMib, type HostileCase, processBudgetMib } from '../hostile-case.ts'
import { type GrpcOptions, grpc, refusedByCode, replies } from '../requests.ts'

/** Unary gRPC calls. */

const IMPORT = 'berth.vulnerabilities.v1.AdvisoryDocumentsService/ImportAdvisoryDocuments'
const iam = 'chainguard.platform.iam.v2beta1'
const BATCH = `${iam}.RoleBindingsService/BatchCreateRoleBindings`
const GROUPS = `${iam}.GroupsService/ListGroups`
const IDENTITY = `${iam}.IdentitiesService/CreateIdentity`
const ROLE = `${iam}.RolesService/CreateRole`
const REPO = 'chainguard.platform.registry.v2beta1.ReposService/UpdateRepo'
const OLD_BATCH = 'chainguard.platform.iam.RoleBindings/CreateBatch'
const EXCHANGE = 'chainguard.platform.oidc.SecurityTokenService/Exchange'
const PING = 'chainguard.platform.ping.v2beta1.PingService/Ping'

/** Bytes `12 00`: an empty message in field 2, of which two bytes make one object. */
const emptyMessages = (length: number): Body => filledBody([0x12, 0], length)
/** A message whose scope is the group in which the pusher holds its roles. */
const inGroup = (rest: Body): Body =>
  concatBodies(
    field(1, ({ group }) => Buffer.from(group)),
    rest,
  )
const importing = { budgetMib: processBudgetMib, waitMs: 20_000 }

const bombs: readonly HostileCase[] = [
  grpc('16 KB that unpack to 8,000,000 empty documents', IMPORT, gzippedBody(emptyMessages(16 * MIB - 10)), {
    gzip: true,
    ...importing,
    quick: true,
  }),
  grpc('8,000,000 empty documents', IMPORT, emptyMessages(16 * MIB - 10), { ...importing }),
  grpc(
    '5,000,000 documents with an empty name',
    IMPORT,
    filledBody([0x12, 2, 10, 0], 16 * MIB - 12),
    importing,
  ),
  grpc('six times 1 KB that unpack to 500,000 empty bindings', BATCH, gzippedBody(emptyMessages(MIB - 10)), {
    gzip: true,
    times: 6,
    parallel: 6,
    waitMs: 20_000,
    quick: true,
  }),
  grpc('500,000 empty bindings', BATCH, emptyMessages(MIB - 10), {}),
  grpc('500,000 empty bindings of version 1', OLD_BATCH, emptyMessages(MIB - 10), { quick: true }),
  grpc('500,000 empty bindings for a group', BATCH, inGroup(emptyMessages(MIB - 200))),
  grpc('500,000 empty bindings of version 1 for a group', OLD_BATCH, inGroup(emptyMessages(MIB - 200))),
  grpc(
    '16 KB that unpack to 8,000,000 documents for a group',
    IMPORT,
    gzippedBody(inGroup(emptyMessages(16 * MIB - 200))),
    { gzip: true, ...importing, quick: true },
  ),
  grpc('1 MiB of gzip that unpacks to 1 GiB of zeros', ROLE, gzippedBody(filledBody([0], 1000 * MIB)), {
    gzip: true,
    waitMs: 20_000,
  }),
  grpc(
    '1 MiB of gzip that unpacks to 500 MiB for an import',
    IMPORT,
    gzippedBody(filledBody([0], 500 * MIB)),
    {
      gzip: true,
      waitMs: 20_000,
    },
  ),
  grpc('100 members of gzip', ROLE, times(100, gzippedBody(filledBody([0x12, 0], 10 * KIB))), { gzip: true }),
  grpc(
    'gzip that is cut off',
    IMPORT,
    (target) => gzippedBody(emptyMessages(8 * MIB))(target).subarray(0, -20),
    {
      gzip: true,
      ...importing,
    },
  ),
  grpc('noise that says it is gzip', IMPORT, () => randomBytes(8 * MIB), { gzip: true, ...importing }),
]

/** Messages of up to 1 MiB for a method that most callers may not use. */
const shapes: Readonly<Record<string, readonly [method: string, message: Body]>> = {
  '250,000 messages in a message': [ROLE, nestedFields(2, 200_000)],
  '200,000 unknown numbers': [
    ROLE,
    times(
      200_000,
      concatBodies(
        () => varint(1000 * 8),
        () => varint(1),
      ),
    ),
  ],
  '250,000 unknown empty texts': [
    ROLE,
    times(
      250_000,
      concatBodies(
        () => varint(1000 * 8 + 2),
        () => varint(0),
      ),
    ),
  ],
  '200,000 different unknown fields': [
    ROLE,
    () =>
      Buffer.concat(
        Array.from({ length: 200_000 }, (_, at) => Buffer.concat([varint((1000 + at) * 8), varint(1)])),
      ),
  ],
  '500,000 groups in a group': [ROLE, filledBody([0x0b], MIB - 10)],
  '500,000 groups that end immediately': [ROLE, filledBody([0x0b, 0x0c], MIB - 10)],
  '1 MiB of packed capabilities': [ROLE, field(2, field(4, filledBody([1], MIB - 20)))],
  '500,000 capabilities, one by one': [ROLE, field(2, filledBody([0x20, 1], MIB - 20))],
  '500,000 empty claims': [IDENTITY, field(2, field(20, filledBody([0x3a, 0], MIB - 30)))],
  '60,000 different claims': [
    IDENTITY,
    field(
      2,
      field(
        20,
        concatBodies(
          ...Array.from({ length: 60_000 }, (_, at) =>
            field(7, concatBodies(field(1, textBody(`c${at}`)), field(2, textBody('v')))),
          ),
        ),
      ),
    ),
  ],
  '500,000 times the same message': [ROLE, emptyMessages(MIB - 10)],
  'a name of 1 MiB': [ROLE, field(2, field(2, filledBody([97], MIB - 30)))],
  'a name that is not UTF-8': [ROLE, field(2, field(2, filledBody([255], MIB - 30)))],
  '200,000 ids of a filter': [GROUPS, field(1, filledBody([0x2a, 0], MIB - 20))],
  '500,000 names in a mask': [REPO, field(2, filledBody([0x0a, 0], MIB - 20))],
  'a number that does not end': [ROLE, filledBody([0x80], MIB - 10)],
  'field number zero': [ROLE, filledBody([0, 0], MIB - 10)],
  'a length beyond the end': [
    ROLE,
    concatBodies(() => Buffer.from([0x12, 0xff, 0xff, 0xff, 0xff, 7]), filledBody([0], MIB - 20)),
  ],
  'environment of an overlay, 250,000 empty entries': [
    REPO,
    field(1, field(10, filledBody([0x12, 0], MIB - 30))),
  ],
}
const quickShapes = ['250,000 messages in a message', '1 MiB of packed capabilities']
const decoded: readonly HostileCase[] = Object.entries(shapes).map(([name, [method, message]]) =>
  grpc(name, method, message, {
    quick: quickShapes.includes(name),
    // What the list of groups holds for a caller without a role is nothing, and it says so.
    replies:
      method === GROUPS
        ? replies(['UNAUTHENTICATED'], ['OK', 'INVALID_ARGUMENT', 'PERMISSION_DENIED'])
        : refusedByCode,
  }),
)

const open: GrpcOptions = { callers: ['anonymous'], replies: {} }

/** Methods that ask for no token, so nothing refuses a caller before its message is read. */
const openMethods: readonly HostileCase[] = [
  grpc('Exchange: 500,000 empty audiences', EXCHANGE, filledBody([0x0a, 0], MIB - 10), {
    ...open,
    quick: true,
  }),
  grpc(
    'Exchange: 1 KB that unpacks to 500,000 scopes',
    EXCHANGE,
    gzippedBody(filledBody([0x42, 0], MIB - 10)),
    {
      gzip: true,
      times: 6,
      parallel: 6,
      ...open,
    },
  ),
  grpc(
    'Exchange: unknown fields',
    EXCHANGE,
    shapes['200,000 different unknown fields']?.[1] ?? textBody(''),
    {
      ...open,
    },
  ),
  grpc('Exchange: a text of 1 MiB', EXCHANGE, field(4, filledBody([97], MIB - 20)), { ...open }),
  grpc(
    'Refresh: 500,000 empty audiences',
    'chainguard.platform.oidc.SecurityTokenService/ExchangeRefreshToken',
    filledBody([0x0a, 0], MIB - 10),
    { ...open },
  ),
  grpc(
    'Register: a code of 1 MiB',
    'chainguard.platform.auth.AuthService/Register',
    field(1, filledBody([97], MIB - 20)),
    { ...open },
  ),
  grpc(
    'Headless session: a code of 1 MiB',
    'chainguard.platform.auth.AuthService/GetHeadlessSession',
    field(1, filledBody([97], MIB - 20)),
    { ...open },
  ),
  grpc('Ping: 500,000 unknown fields', PING, filledBody([0x12, 0], MIB - 10), { ...open, quick: true }),
  grpc('Ping: 50 bombs of 1 KB at a time', PING, gzippedBody(filledBody([0x12, 0], MIB - 10)), {
    gzip: true,
    times: 50,
    parallel: 50,
    ...open,
    waitMs: 20_000,
  }),
]

/** A message of one unknown field, of which so many bytes arrive. */
const halfSent = (length: number, sent: number): Body =>
  grpcFrame(
    concatBodies(
      () => Buffer.concat([varint(100 * 8 + 2), varint(Math.max(0, length - 10))]),
      filledBody([0], sent),
    ),
    { length },
  )
const framing: readonly HostileCase[] = [
  grpc('100 messages of 16 MiB on one connection, half sent', IMPORT, halfSent(16 * MIB - 10, 15 * MIB), {
    stream: true,
    staysOpen: true,
    times: 100,
    parallel: 100,
    waitMs: 10_000,
    budgetMib: connectionBudgetMib,

    replies: { ...refusedByCode, pusher: ['open', 'DEADLINE_EXCEEDED'] },
  }),
  grpc('200 messages of 1 MiB on one connection, half sent', ROLE, halfSent(MIB - 10, MIB - 1000), {
    stream: true,
    staysOpen: true,
    times: 200,
    parallel: 200,
    waitMs: 3000,
    budgetMib: connectionBudgetMib,
    replies: { ...refusedByCode, pusher: ['open', 'DEADLINE_EXCEEDED'] },
  }),
  grpc('200 messages of 1 MiB for an open method, half sent', PING, halfSent(MIB - 10, MIB - 1000), {
    stream: true,
    staysOpen: true,
    times: 200,
    parallel: 200,
    waitMs: 1500,
    quick: true,
    budgetMib: connectionBudgetMib,
    callers: ['anonymous'],
    replies: { anonymous: ['open', 'INVALID_ARGUMENT'] },
  }),
  grpc('200 bombs of gzip for an open method at a time', EXCHANGE, gzippedBody(filledBody([0], 100 * MIB)), {
    gzip: true,
    times: 200,
    parallel: 100,
    replies: {},
    waitMs: 20_000,
  }),
  grpc('1,000 streams with a prefix only', PING, halfSent(MIB - 10, 0), {
    stream: true,
    staysOpen: true,
    times: 1000,
    parallel: 250,
    connections: 4,
    waitMs: 2000,
    callers: ['anonymous'],
    replies: { anonymous: ['open', 'INVALID_ARGUMENT'] },
  }),
  grpc('100,000 empty frames in a call', ROLE, times(100_000, grpcFrame(textBody(''))), { stream: true }),
  grpc('a frame of 4 GiB', ROLE, halfSent(0xffffffff, MIB), { stream: true }),
  grpc(
    'a compressed frame without an encoding',
    ROLE,
    concatBodies(() => Buffer.from([1, 0, 0, 0, 4]), textBody('abcd')),
    { stream: true, times: 20 },
  ),
  grpc('an encoding that is not supported', ROLE, textBody(''), {
    headers: { 'grpc-encoding': 'x'.repeat(20_000) },
    times: 20,
    replies: {},
  }),
]

const metadata: readonly HostileCase[] = [
  grpc('1,000 names of metadata', PING, textBody(''), {
    headers: Object.fromEntries(Array.from({ length: 800 }, (_, at) => [`x-${at}`, 'a'])),
    times: 20,
    replies: {},
  }),
  grpc('metadata of 30 KiB', PING, textBody(''), {
    headers: { 'x-big': 'a'.repeat(30 * KIB) },
    times: 50,
    parallel: 10,
    replies: {},
  }),
  grpc('metadata of 1 MiB', PING, textBody(''), {
    headers: { 'x-big': 'a'.repeat(MIB) },
    times: 5,
    replies: {},
  }),
  grpc('a token of 30 KiB', ROLE, textBody(''), {
    headers: { authorization: `Bearer ${'a'.repeat(30 * KIB)}` },
    times: 50,
    parallel: 10,
    callers: ['anonymous'],
  }),
  grpc('a condition of 10,000 tags', REPO, textBody(''), {
    headers: { 'if-match': 'W/"a",'.repeat(5000) },
    times: 50,
    parallel: 10,
  }),
  grpc('a key of 30 KiB', ROLE, textBody(''), {
    headers: { 'idempotency-key': 'a'.repeat(30 * KIB) },
    times: 50,
    parallel: 10,
  }),
  ...['1n', '0S', '99999999H', '-1S', 'x', '9'.repeat(20_000)].map((timeout) =>
    grpc(`the timeout ${timeout.slice(0, 20)}`, ROLE, textBody(''), {
      headers: { 'grpc-timeout': timeout },
      times: 100,
      parallel: 20,
      replies: {},
    }),
  ),
  grpc('2,000 unknown methods', 'x.y.Service/Method', repeatedBody('a', 10), {
    times: 2000,
    parallel: 100,
    replies: {},
  }),
  grpc('2,000 calls without a token that is good', ROLE, textBody(''), {
    times: 2000,
    parallel: 100,
    headers: { authorization: 'Bearer a.b.c' },
    callers: ['anonymous'],
    waitMs: 20_000,
  }),
  grpc('a method name of 20 KiB', `x/${'a'.repeat(20 * KIB)}`, textBody(''), { times: 20, replies: {} }),
]

export const grpcCases: readonly HostileCase[] = [
  ...bombs,
  ...decoded,
  ...openMethods,
  ...framing,
  ...metadata,
]
