import { readFileSync } from 'node:fs'
import type { NodemailerError } from 'nodemailer/lib/errors'
import { limits } from '../config/limits.ts'
import { SetupError } from '../config/setup-errors.ts'
import { withTimeout } from '../runtime/timeout.ts'
import type { SmtpSettings } from './settings.ts'

/**
 * Sends email through the mail server of the operator. The rules for outbound requests (runtime/outbound) do not apply: the operator
 * chooses this host, no tenant does, and it is often on a private network.
 */

/** An email to one address. */
export interface Message {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

export interface Smtp {
  /** Resolves when the mail server has accepted the message. Rejects with a MailError. */
  send(message: Message, signal?: AbortSignal): Promise<void>
  /** Connects and authenticates without sending anything. Rejects with a MailError. */
  verify(): Promise<void>
}

/** Why a message was not accepted, without secrets. */
export class MailError extends Error {
  override readonly name = 'MailError'
  /** Whether another attempt would fail too: the server rejected this sender, recipient or message. */
  readonly isPermanent: boolean

  constructor(message: string, isPermanent: boolean) {
    super(message)
    this.isPermanent = isPermanent
  }
}

/** Waits for the steps of an attempt. */
export interface SmtpTimes {
  readonly sendMs: number
  readonly connectMs: number
  readonly idleMs: number
}

const defaultTimes: SmtpTimes = {
  sendMs: limits.mailSendMs,
  connectMs: limits.mailConnectMs,
  idleMs: limits.mailIdleMs,
}

export function createSmtp(settings: SmtpSettings, times: SmtpTimes = defaultTimes): Smtp {
  const { from, login } = settings
  const open = async () => {
    // Loaded with the first email: most commands and many installations send none.
    const { createTransport } = await import('nodemailer')
    return createTransport({
      host: settings.host,
      port: settings.port,
      secure: settings.implicitTls,
      requireTLS: settings.requireTls,
      ...(login && { auth: { user: login.user, pass: login.password } }),
      tls: {
        minVersion: 'TLSv1.2',
        ...(settings.caFile !== undefined && { ca: readAuthority(settings.caFile) }),
      },
      connectionTimeout: times.connectMs,
      dnsTimeout: times.connectMs,
      greetingTimeout: times.connectMs,
      socketTimeout: times.idleMs,
      socketCloseTimeout: 0,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
  }
  return {
    async send({ to, ...content }, signal) {
      const transport = await open()
      const deadline = AbortSignal.timeout(times.sendMs)
      try {
        await transport.sendMail({
          ...content,
          from,
          to: { name: '', address: to },
          // No automatic responses (RFC 3834).
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal: signal === undefined ? deadline : AbortSignal.any([deadline, signal]),
        })
      } catch (error) {
        throw deadline.aborted ? tooSlow(times) : toMailError(error)
      } finally {
        transport.close()
      }
    },
    async verify() {
      const transport = await open()
      try {
        await withTimeout(times.sendMs, transport.verify())
      } catch (error) {
        throw (error as Error).name === 'TimeoutError' ? tooSlow(times) : toMailError(error)
      } finally {
        transport.close({ force: true })
      }
    },
  }
}

function tooSlow({ sendMs }: SmtpTimes): MailError {
  return new MailError(`the mail server did not accept the message within ${sendMs / 1000} s`, false)
}

const rejections = new Set(['MAIL FROM', 'RCPT TO', 'DATA'])

/** A response of 5xx to the login is no reason to give up: the operator corrects the password, and the email is sent. */
function toMailError(error: unknown): MailError {
  const {
    message,
    response,
    responseCode = 'no response',
    command,
    permanent,
    code,
  } = error as NodemailerError
  const isPermanent = permanent === true && rejections.has(command ?? '')
  // Without the text of the response, because some servers repeat what they received.
  if (code === 'EAUTH')
    return new MailError(`the mail server rejected user and password (${responseCode})`, false)
  if (command === 'STARTTLS' && response !== undefined)
    return new MailError(`the mail server does not offer STARTTLS (${responseCode})`, false)
  return new MailError(
    toOneLine(response === undefined ? message : `the mail server responded: ${response}`),
    isPermanent,
  )
}

/** Responses of servers can have several lines, and any length. */
function toOneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, limits.mailProblemCharsMax)
}

function readAuthority(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new SetupError(`BERTH_SMTP_CA_FILE cannot be read: ${(error as Error).message}`)
  }
}
