import { createServer, type Server } from 'node:net'
import { SMTPServer } from 'smtp-server'

/**
 * A mail server in a process of its own, on a free port of loopback. Its argument is the JSON of `MailServerOptions`. It sends its port and
 * every message that it accepts to the parent; the parent sends it further answers to recipients.
 */

export interface MailServerOptions {
  /** `starttls`: offered; `implicit`: from the start; `none`: not offered. */
  readonly tls: 'starttls' | 'implicit' | 'none'
  readonly cert?: string
  readonly key?: string
  readonly login?: { readonly user: string; readonly password: string }
  /** Sends one byte of its greeting at a time, and never ends it. */
  readonly drips?: boolean
  /** Answers to messages only after the parent has released them. */
  readonly holds?: boolean
}

/** What it answers to the next recipients, in this order; afterwards it accepts them. */
export interface Answers {
  readonly answers: readonly { readonly code: number; readonly text: string }[]
}

/** Ends the holding of messages: of those that wait, and of all later ones. */
export interface Release {
  readonly release: true
}

const options = JSON.parse(process.argv[2] ?? '{}') as MailServerOptions
const answers: Answers['answers'][number][] = []
const held: (() => void)[] = []
let holds = options.holds === true
process.on('message', (message: Answers | Release) => {
  if ('answers' in message) answers.push(...message.answers)
  else {
    holds = false
    for (const finish of held.splice(0)) finish()
  }
})
process.on('disconnect', () => process.exit())

const listening: SMTPServer | Server = options.drips ? drippingServer() : mailServer()
const port: Server = listening instanceof SMTPServer ? listening.server : listening
port.on('listening', () => process.send?.({ port: (port.address() as { port: number }).port }))
if (listening instanceof SMTPServer) listening.listen(0, '127.0.0.1')
else listening.listen(0, '127.0.0.1')

function mailServer(): SMTPServer {
  const { tls, cert, key, login } = options
  return new SMTPServer({
    secure: tls === 'implicit',
    hideSTARTTLS: tls === 'none',
    disabledCommands: tls === 'none' ? ['STARTTLS'] : [],
    allowInsecureAuth: tls === 'none',
    authOptional: login === undefined,
    ...(cert !== undefined && key !== undefined && { cert, key }),
    logger: false,
    onAuth({ username = '', password = '' }, _session, done) {
      const isRight = username === login?.user && password === login.password
      if (isRight) return done(null, { user: username })
      // Some servers repeat what they received.
      return done(new Error(`authentication of ${username} with ${password} failed`))
    },
    onRcptTo(_address, _session, done) {
      const answer = answers.shift()
      if (answer === undefined) return done()
      process.send?.({ refused: answer.code })
      return done(Object.assign(new Error(answer.text), { responseCode: answer.code }))
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        const to = rcptTo.map(({ address }) => address)
        const finish = () => {
          process.send?.({
            from: mailFrom === false ? '' : mailFrom.address,
            to,
            secure: session.secure,
            user: session.user ?? '',
            raw: Buffer.concat(chunks).toString('utf8'),
          })
          done()
        }
        if (!holds) return finish()
        held.push(finish)
        process.send?.({ held: to })
      })
    },
  })
}

function drippingServer(): Server {
  return createServer((socket) => {
    socket.write('220 ')
    const timer = setInterval(() => socket.write('x'), 50)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearInterval(timer)
      process.send?.({ closed: true })
    })
  })
}
