import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { PATIENCE_MS } from '../eventually.ts'
import { selfSignedCertificate } from '../http/certificate.ts'
import type { Cleanup } from '../server/process.ts'
import type { Answers, MailServerOptions, Release } from './smtp-server-process.ts'

/** A mail server process, and the messages that it received. */
export interface MailServer {
  readonly port: number
  /** PEM of its certificate, which is its own authority. */
  readonly certificate: string
  /** Everything that it received so far. */
  readonly received: readonly ReceivedMail[]
  /** Codes with which it refused recipients so far. */
  readonly refused: readonly number[]
  /** Recipients of the messages that a holding server received without an answer so far. */
  readonly held: readonly string[]
  /** The next message to an address that was not returned yet. */
  next(to: string): Promise<ReceivedMail>
  /** Resolves when it has refused `count` recipients in total. */
  refusals(count: number): Promise<void>
  /** Resolves when a client of the dripping server has closed its connection. */
  closed(): Promise<void>
  /** Answers of the next recipients. */
  answer(...answers: Answers['answers']): void
  /** Answers to the messages that a holding server holds, and to all later ones. */
  release(): void
  stop(): Promise<void>
}

export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Whether it came over TLS. */
  readonly secure: boolean
  /** Who authenticated; '' without authentication. */
  readonly user: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** The first link of the text. */
  readonly link: string
  readonly raw: string
}

const script = fileURLToPath(new URL('./smtp-server-process.ts', import.meta.url))

export async function startMailServer(
  t: Cleanup,
  options: Partial<MailServerOptions> = {},
): Promise<MailServer> {
  const { cert, key } = selfSignedCertificate()
  const child = fork(script, [JSON.stringify({ tls: 'starttls', cert, key, ...options })], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const received: ReceivedMail[] = []
  const taken = new Set<ReceivedMail>()
  const refused: number[] = []
  const held: string[] = []
  let closed = 0
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill()
    await once(child, 'exit')
  }
  t.after(stop)
  const [first] = (await once(child, 'message')) as [{ readonly port: number }]
  child.on('message', (message: { refused?: number; closed?: boolean; held?: string[] } & RawMail) => {
    if (message.refused !== undefined) refused.push(message.refused)
    else if (message.closed) closed++
    else if (message.held !== undefined) held.push(...message.held)
    else received.push(readMail(message))
  })
  const until = async <T>(what: string, look: () => T | undefined): Promise<T> => {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    for (;;) {
      const found = look()
      if (found !== undefined) return found
      await once(child, 'message', { signal }).catch(() => assert.fail(`no ${what}`))
    }
  }
  return {
    port: first.port,
    certificate: cert,
    received,
    refused,
    held,
    next: (to) =>
      until(`email to ${to}`, () => {
        const found = received.find((mail) => mail.to.includes(to) && !taken.has(mail))
        if (found !== undefined) taken.add(found)
        return found
      }),
    async refusals(count) {
      await until(`${count} refusals`, () => (refused.length >= count ? true : undefined))
    },
    async closed() {
      await until('closed connection', () => (closed > 0 ? true : undefined))
    },
    answer: (...answers) => child.send({ answers } satisfies Answers),
    release: () => child.send({ release: true } satisfies Release),
    stop,
  }
}

type RawMail = Pick<ReceivedMail, 'from' | 'to' | 'secure' | 'user' | 'raw'>

function readMail(mail: RawMail): ReceivedMail {
  const text = partOf(mail.raw, 'text/plain')
  return {
    ...mail,
    subject: /^Subject: (.*)$/m.exec(mail.raw)?.[1]?.trim() ?? '',
    text,
    html: partOf(mail.raw, 'text/html'),
    link: /https?:\/\/\S+/.exec(text)?.[0] ?? '',
  }
}

/** Decodes a part of a multipart message. */
function partOf(raw: string, type: string): string {
  const part = raw.split(/\r\n--[^\r]*\r\n/).find((one) => one.includes(`Content-Type: ${type}`)) ?? ''
  const cut = part.indexOf('\r\n\r\n')
  const [head, body] = [part.slice(0, cut), part.slice(cut + 4)]
  const encoding = /Content-Transfer-Encoding: (\S+)/i.exec(head)?.[1]?.toLowerCase()
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString()
  if (encoding !== 'quoted-printable') return body
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

/** Settings of a server that sends its email there, and looks for due email often. */
export function mailEnvironment(server: Pick<MailServer, 'port'>): Record<string, string> {
  return {
    BERTH_SMTP_URL: `smtp://127.0.0.1:${server.port}`,
    BERTH_SMTP_FROM: 'Berth <berth@example.com>',
    BERTH_SMTP_TLS: 'optional',
  }
}
