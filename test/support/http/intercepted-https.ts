import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type Cleanup, temporaryDirectory } from '../server/process.ts'
import { selfSignedCertificate } from './certificate.ts'

/** What a program sees that asks another server than it knows: a proxy leads a host name to a server here. */
export interface InterceptedHost {
  /** For the program: its proxy, and the certificate that it trusts. */
  readonly env: Readonly<Record<string, string>>
  /** Requests that were forwarded, each `METHOD path`. */
  readonly requests: readonly string[]
}

interface Target {
  /** The path of a request is appended. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Forwards HTTPS requests for a host to a server. Connections to other hosts are closed. */
export async function interceptHost(t: Cleanup, host: string, target: Target): Promise<InterceptedHost> {
  const { cert, key } = selfSignedCertificate({ names: [host] })
  const requests: string[] = []
  const server = createHttpsServer({ cert, key }, async (request, response) => {
    const { method = '', url = '', headers } = request
    requests.push(`${method} ${url}`)
    const body = await buffer(request)
    const reply = await fetch(`${target.url}${url}`, {
      method,
      headers: {
        ...(headers['content-type'] && { 'content-type': headers['content-type'] }),
        ...target.headers,
      },
      ...(body.length > 0 && { body }),
    })
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? '' })
    response.end(Buffer.from(await reply.arrayBuffer()))
  })
  const proxy = createHttpServer()
  proxy.on('connect', (request, client, head) => {
    if (request.url !== `${host}:443`) {
      client.destroy()
      return
    }
    const { port } = server.address() as AddressInfo
    const tunnel = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      tunnel.write(head)
      tunnel.pipe(client).pipe(tunnel)
    })
    for (const socket of [tunnel, client])
      socket.on('error', () => [tunnel, client].map((one) => one.destroy()))
  })
  for (const one of [server, proxy]) {
    one.listen(0, '127.0.0.1')
    await once(one, 'listening')
    t.after(() => void one.close())
  }
  t.after(() => {
    server.closeAllConnections()
    proxy.closeAllConnections()
  })
  const file = join(temporaryDirectory(t), 'certificate.pem')
  writeFileSync(file, cert)
  return {
    requests,
    env: { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, SSL_CERT_FILE: file },
  }
}
