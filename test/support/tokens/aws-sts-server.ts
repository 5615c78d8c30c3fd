import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import aws4 from 'aws4'
import type { AwsKey, AwsStsBehavior } from './aws-sts.ts'

/**
 * The Security Token Service of AWS in a process of its own, as far as GetCallerIdentity goes: it knows the secrets of some callers,
 * recomputes the signature of a request (Signature Version 4) and says who signed it.
 */

const keys = JSON.parse(process.argv[2] ?? '[]') as readonly AwsKey[]
const MARK = 'mark-of-aws'
let answering: AwsStsBehavior = 'properly'

const server = createServer(async (request, response) => {
  const body = await text(request)
  process.send?.({ target: request.url, headers: request.rawHeaders, body })
  if (answering === 'properly') return respond(request, body, response)
  if (answering === 'never') return undefined
  if (answering === 'broken') return void request.socket.destroy()
  if (answering === 'endless') {
    response.writeHead(200)
    const timer = setInterval(() => response.write(MARK.repeat(1000)), 1)
    return response.on('close', () => clearInterval(timer))
  }
  if (answering === 'no JSON') return void response.end(`<html>${MARK}`)
  if (answering === 'no caller') return void response.end(JSON.stringify({ GetCallerIdentityResponse: MARK }))
  if (answering === 'redirect')
    return void response.writeHead(302, { location: `http://127.0.0.1:1/${MARK}` }).end()
  if (answering === 'throttling') return sendError(response, 400, 'Throttling')
  return response.writeHead(answering).end(MARK)
})

function respond(request: IncomingMessage, body: string, response: ServerResponse): unknown {
  const { authorization = '' } = request.headers
  const [, accessKeyId, region, service, names, signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/\d{8}\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      authorization,
    ) ?? []
  const key = keys.find((one) => one.accessKeyId === accessKeyId)
  if (key === undefined || service !== 'sts' || region === undefined)
    return sendError(response, 403, 'InvalidClientTokenId')
  const headers: Record<string, string> = {}
  for (const name of (names ?? '').split(';')) headers[name] = String(request.headers[name] ?? '')
  const { sessionToken } = key
  if (sessionToken !== undefined && headers['x-amz-security-token'] !== sessionToken)
    return sendError(response, 403, 'InvalidClientTokenId')
  const date = String(headers['x-amz-date'])
  const atMs = Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (!(Math.abs(Date.now() - atMs) < 15 * 60 * 1000))
    return sendError(response, 403, 'SignatureDoesNotMatch')
  const expected = aws4.sign(
    {
      method: request.method ?? '',
      path: request.url ?? '',
      host: String(headers['host']),
      headers,
      body,
      service,
      region,
    },
    key,
  )
  const [, recomputed] = /Signature=([0-9a-f]{64})$/.exec(String(expected.headers?.['Authorization'])) ?? []
  if (recomputed !== signature) return sendError(response, 403, 'SignatureDoesNotMatch')
  if (
    !/^\/\?Action=GetCallerIdentity&Version=2011-06-15$|^\/\?Version=2011-06-15&Action=GetCallerIdentity$/.test(
      request.url ?? '',
    )
  )
    return sendError(response, 400, 'InvalidAction')
  if (request.headers.accept !== 'application/json')
    return void response.setHeader('content-type', 'text/xml').end('<GetCallerIdentityResponse/>')
  const { account: Account, arn: Arn, userId: UserId } = key
  return sendJson(response, 200, {
    GetCallerIdentityResponse: {
      GetCallerIdentityResult: { Account, Arn, UserId },
      ResponseMetadata: { RequestId: 'made-up' },
    },
  })
}

function sendError(response: ServerResponse, status: number, code: string): void {
  sendJson(response, status, { Error: { Code: code, Message: MARK, Type: 'Sender' }, RequestId: 'made-up' })
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

process.on('message', (message: { readonly answering: AwsStsBehavior }) => {
  answering = message.answering
  process.send?.({ answering })
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
