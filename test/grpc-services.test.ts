import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthListRequestSchema,
  HealthListResponseSchema,
} from '@berth/contract/gen/grpc/health/v1/health_pb.js'
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '@berth/contract/gen/grpc/reflection/v1/reflection_pb.js'
import { contractFiles } from '@berth/contract/schema-files.ts'
import { createGrpcHandler } from '@berth/server/gateway/grpc/handler.ts'
import { createHealthService } from '@berth/server/gateway/grpc/health.ts'
import { createReflectionMethods } from '@berth/server/gateway/grpc/reflection.ts'
import {
  create,
  createFileRegistry,
  type DescMessage,
  fromBinary,
  type Message,
  toBinary,
} from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { Client, credentials, type ServiceError, status as Status } from '@grpc/grpc-js'
import { startPort } from './support/http/port.ts'

const groups = 'chainguard.platform.iam.v2beta1.GroupsService'
const [serving, notServing, serviceUnknown] = [1, 2, 3]

async function start(t: TestContext) {
  const health = createHealthService([groups])
  const grpc = createGrpcHandler({
    authorizeHeaders: () => Promise.reject(new Error('no unary method')),
    services: [],
    streaming: [...health.methods, ...createReflectionMethods(contractFiles, [groups])],
    errorDomain: 'test.example',
    log: { error: () => assert.fail('nothing to log'), debug() {} },
  })
  const server = await startPort(t, { grpc, limits: { stopGraceMs: 5000 } })
  const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure())
  t.after(() => client.close())
  return { health, client, server }
}

const encoder = (desc: DescMessage) => (message: Message) => Buffer.from(toBinary(desc, message))

function unary<O>(
  client: Client,
  path: string,
  input: DescMessage,
  output: DescMessage,
  request: Message,
): Promise<O> {
  return new Promise((resolve, reject) => {
    const decode = (bytes: Buffer) => fromBinary(output, bytes) as O
    client.makeUnaryRequest(path, encoder(input), decode, request, (error, reply) => {
      if (error !== null || reply === undefined) reject(error)
      else resolve(reply)
    })
  })
}

const check = (client: Client, service: string) =>
  unary<HealthCheckResponse>(
    client,
    '/grpc.health.v1.Health/Check',
    HealthCheckRequestSchema,
    HealthCheckResponseSchema,
    create(HealthCheckRequestSchema, { service }),
  )

function watch(client: Client, service: string) {
  const decode = (bytes: Buffer) => fromBinary(HealthCheckResponseSchema, bytes)
  const call = client.makeServerStreamRequest(
    '/grpc.health.v1.Health/Watch',
    encoder(HealthCheckRequestSchema),
    decode,
    create(HealthCheckRequestSchema, { service }),
  )
  const failed = new Promise<ServiceError>((resolve) => call.on('error', resolve))
  const next = () => new Promise<number>((resolve) => call.once('data', ({ status }) => resolve(status)))
  return { call, failed, next }
}

describe('health', () => {
  test('Check returns the status of the server and its services', async (t) => {
    const { health, client } = await start(t)
    assert.equal((await check(client, '')).status, notServing)
    health.setServing(true)
    assert.equal((await check(client, '')).status, serving)
    assert.equal((await check(client, groups)).status, serving)
    await assert.rejects(check(client, 'no.Such'), { code: Status.NOT_FOUND })
  })

  test('List returns all of them', async (t) => {
    const { client } = await start(t)
    const { statuses } = await unary<{ statuses: object }>(
      client,
      '/grpc.health.v1.Health/List',
      HealthListRequestSchema,
      HealthListResponseSchema,
      create(HealthListRequestSchema),
    )
    assert.deepEqual(Object.keys(statuses).sort(), ['', groups])
  })

  test('Watch returns the current status and every change', async (t) => {
    const { health, client } = await start(t)
    const { call, failed, next } = watch(client, groups)
    assert.equal(await next(), notServing)
    const changed = next()
    health.setServing(true)
    assert.equal(await changed, serving)
    call.cancel()
    assert.equal((await failed).code, Status.CANCELLED)
    health.setServing(false)
  })

  test('Watch of an unknown service says so and stays open', async (t) => {
    const { client } = await start(t)
    const { next, call } = watch(client, 'no.Such')
    call.on('end', () => assert.fail('ended'))
    assert.equal(await next(), serviceUnknown)
    call.removeAllListeners('end')
    call.cancel()
  })

  test('watchers are sent away when the server stops', async (t) => {
    const { client, server } = await start(t)
    const { failed, next } = watch(client, '')
    await next()
    await server.stop()
    assert.equal((await failed).code, Status.UNAVAILABLE)
  })
})

function reflection(client: Client, version: string) {
  const call = client.makeBidiStreamRequest(
    `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    encoder(ServerReflectionRequestSchema),
    (bytes) => fromBinary(ServerReflectionResponseSchema, bytes),
  )
  const ended = new Promise((resolve) => call.on('status', resolve))
  call.on('error', () => undefined) // `status` has it too
  const ask = (messageRequest: ServerReflectionRequest['messageRequest']) =>
    new Promise<ServerReflectionResponse>((resolve) => {
      call.once('data', resolve)
      call.write(create(ServerReflectionRequestSchema, { host: 'h', messageRequest }))
    })
  return { call, ask, ended }
}

describe('reflection', () => {
  for (const version of ['v1', 'v1alpha']) {
    test(`${version} lists services and sends a complete set of files`, async (t) => {
      const { client } = await start(t)
      const { call, ask, ended } = reflection(client, version)
      const listed = await ask({ case: 'listServices', value: '' })
      assert.ok(listed.messageResponse.case === 'listServicesResponse')
      assert.deepEqual(
        listed.messageResponse.value.service.map(({ name }) => name),
        [groups],
      )
      assert.equal(listed.validHost, 'h')
      assert.equal(listed.originalRequest?.messageRequest.case, 'listServices')
      const { messageResponse } = await ask({ case: 'fileContainingSymbol', value: groups })
      assert.ok(messageResponse.case === 'fileDescriptorResponse')
      const file = messageResponse.value.fileDescriptorProto.map((bytes) =>
        fromBinary(FileDescriptorProtoSchema, bytes),
      )
      const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: importsFirst(file) }))
      assert.ok((registry.getService(groups)?.methods.length ?? 0) > 4)
      call.end()
      assert.equal(((await ended) as { code: number }).code, Status.OK)
    })
  }

  test('finds the file of every kind of symbol, by name and by extension', async (t) => {
    const { client } = await start(t)
    const { call, ask, ended } = reflection(client, 'v1')
    const iam = 'chainguard.platform.iam.v2beta1'
    const groupsFile = 'chainguard/platform/iam/v2beta1/groups.proto'
    for (const [request, expected] of [
      [{ case: 'fileByFilename', value: groupsFile }, groupsFile],
      [
        { case: 'fileByFilename', value: 'google/protobuf/timestamp.proto' },
        'google/protobuf/timestamp.proto',
      ],
      [{ case: 'fileContainingSymbol', value: `${iam}.GroupsService.GetGroup` }, groupsFile],
      [{ case: 'fileContainingSymbol', value: `${iam}.Group` }, groupsFile],
      [{ case: 'fileContainingSymbol', value: `${iam}.Group.name` }, groupsFile],
      [{ case: 'fileContainingSymbol', value: `${iam}.OrgKind` }, groupsFile],
      [{ case: 'fileContainingSymbol', value: `${iam}.ORG_KIND_UNSPECIFIED` }, groupsFile],
      [{ case: 'fileContainingSymbol', value: 'google.api.http' }, 'google/api/annotations.proto'],
    ] as const) {
      const { messageResponse } = await ask(request)
      assert.ok(messageResponse.case === 'fileDescriptorResponse', request.value)
      const [first] = messageResponse.value.fileDescriptorProto
      assert.ok(first !== undefined)
      assert.equal(fromBinary(FileDescriptorProtoSchema, first).name, expected)
    }
    const methodOptions = 'google.protobuf.MethodOptions'
    const byNumber = await ask({
      case: 'fileContainingExtension',
      value: {
        $typeName: 'grpc.reflection.v1.ExtensionRequest',
        containingType: methodOptions,
        extensionNumber: 72295728,
      },
    })
    assert.equal(byNumber.messageResponse.case, 'fileDescriptorResponse')
    const numbers = await ask({ case: 'allExtensionNumbersOfType', value: methodOptions })
    assert.ok(numbers.messageResponse.case === 'allExtensionNumbersResponse')
    assert.ok(numbers.messageResponse.value.extensionNumber.includes(72295728))
    call.end()
    await ended
  })

  test('reports what it does not find, and continues', async (t) => {
    const { client } = await start(t)
    const { call, ask, ended } = reflection(client, 'v1')
    for (const request of [
      { case: 'fileByFilename', value: 'no.proto' },
      { case: 'fileContainingSymbol', value: 'no.Such' },
      { case: 'allExtensionNumbersOfType', value: 'no.Such' },
    ] as const) {
      const { messageResponse } = await ask(request)
      assert.ok(messageResponse.case === 'errorResponse')
      assert.equal(messageResponse.value.errorCode, Status.NOT_FOUND)
    }
    const empty = await ask({ case: undefined })
    assert.ok(empty.messageResponse.case === 'errorResponse')
    assert.equal(empty.messageResponse.value.errorCode, Status.INVALID_ARGUMENT)
    call.end()
    await ended
  })
})

/** A registry wants each file after those it imports. */
function importsFirst<F extends { name: string; dependency: string[] }>(files: readonly F[]): F[] {
  const sorted: F[] = []
  const add = (file: F | undefined) => {
    if (file === undefined || sorted.includes(file)) return
    for (const name of file.dependency) add(files.find((other) => other.name === name))
    sorted.push(file)
  }
  files.forEach(add)
  return sorted
}
