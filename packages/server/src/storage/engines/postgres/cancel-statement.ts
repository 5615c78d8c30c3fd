import pg from 'pg'
import { limits } from '../../../config/limits.ts'
import type { ServerConnection } from './connection.ts'

/** What pg knows of a connection, beyond its types. */
interface ConnectedClient {
  readonly processID: number
  readonly secretKey: number
  readonly host: string
  readonly port: number
  readonly ssl: unknown
  readonly sslNegotiation: unknown
}

/** pg's connection below its client, which its types leave incomplete. */
interface CancelConnection {
  connect(port: number, host: string): void
  connect(socketPath: string): void
  requestSsl(): void
  cancel(processId: number, secretKey: number): void
  on(event: 'connect' | 'sslconnect' | 'end' | 'error', listener: (error?: Error) => void): void
  readonly stream: { destroy(): void }
}

let cancelled = 0

/** Statements that this process has cancelled. */
export function cancelledStatements(): number {
  return cancelled
}

/**
 * Cancels the running statement of a connection with a CancelRequest (PostgreSQL manual, "Canceling Requests in Progress"), which PgBouncer
 * passes on. Settles when the server has handled the request and `statement` has settled: a connection that is used again before could
 * lose its next statement. Destroys the connection if that fails or takes longer than `databaseCancelMsMax`. Never rejects.
 */
export async function cancelStatement(client: ServerConnection, statement: Promise<unknown>): Promise<void> {
  cancelled++
  const connected = client as unknown as ConnectedClient
  const { ssl, sslNegotiation } = connected
  const request = new (pg.Connection as unknown as new (config: object) => CancelConnection)({
    ssl,
    sslNegotiation,
  })
  const destroy = () => {
    request.stream.destroy()
    client.destroy()
  }
  const timer = setTimeout(destroy, limits.databaseCancelMsMax)
  try {
    await sendCancel(request, connected)
    await statement.catch(() => undefined)
  } catch {
    destroy()
  } finally {
    clearTimeout(timer)
  }
}

/** Fulfils when the server closes the connection, which it does after it has signalled the backend. */
function sendCancel(request: CancelConnection, client: ConnectedClient): Promise<void> {
  const { processID, secretKey, host, port, ssl, sslNegotiation } = client
  return new Promise<void>((resolve, reject) => {
    let sent = false
    const send = () => {
      sent = true
      request.cancel(processID, secretKey)
    }
    request.on('connect', () => {
      if (!ssl) send()
      else if (sslNegotiation !== 'direct') request.requestSsl()
    })
    request.on('sslconnect', send)
    // A server may reset the connection instead of closing it.
    request.on('error', (error) => (sent ? resolve() : reject(error)))
    request.on('end', () => (sent ? resolve() : reject(new Error('the server closed the connection'))))
    if (host.startsWith('/')) request.connect(`${host}/.s.PGSQL.${port}`)
    else request.connect(port, host)
  })
}
