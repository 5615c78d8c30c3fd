import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { limits } from '@berth/server/config/limits.ts'
import { readConfig } from '@berth/server/installation/config.ts'
import { renderMail } from '@berth/server/mail/layout.ts'
import type { SmtpSettings } from '@berth/server/mail/settings.ts'
import { createSmtp, MailError } from '@berth/server/mail/smtp.ts'
import { freePort } from '../scripts/free-port.ts'
import { startMailServer } from './support/mail/mail-server.ts'
import { type Cleanup, temporaryDirectory } from './support/server/process.ts'

/** Email to a real mail server process, over real sockets. */

const PASSWORD = 'correct:horse/battery staple%'
const login = { user: 'berth@example.com', password: PASSWORD }
const from = { BERTH_SMTP_FROM: 'Berth <berth@example.com>' }
const message = renderMail({
  to: 'ada@example.com',
  subject: 'Grüße <b>',
  paragraphs: ['Hello <Ada> & "Grace", größer.'],
  link: { label: 'Open it', url: 'https://berth.example.com/x?a=1&b=2#code' },
  notes: ['Bye'],
})

function smtpOf(env: Readonly<Record<string, string>>): SmtpSettings {
  const read = readConfig({ ...from, ...env })
  assert.ok('config' in read, JSON.stringify(read))
  return read.config.smtp ?? assert.fail('no mail server')
}

function writeAuthority(t: Cleanup, certificate: string): string {
  const file = join(temporaryDirectory(t), 'ca.pem')
  writeFileSync(file, certificate)
  return file
}

const urlOf = (scheme: string, port: number, { user, password }: typeof login) =>
  `${scheme}://${encodeURIComponent(user)}:${encodeURIComponent(password)}@localhost:${port}`

for (const [scheme, tls] of [
  ['smtp', 'starttls'],
  ['smtps', 'implicit'],
] as const)
  test(`${scheme} sends text and HTML over TLS after authentication, if the authority of the server is known`, async (t) => {
    const server = await startMailServer(t, { tls, login })
    const smtp = createSmtp(
      smtpOf({
        BERTH_SMTP_URL: urlOf(scheme, server.port, login),
        BERTH_SMTP_TLS: 'required',
        BERTH_SMTP_CA_FILE: writeAuthority(t, server.certificate),
      }),
    )
    await smtp.verify()
    await smtp.send(message)
    const mail = await server.next('ada@example.com')
    assert.ok(mail.secure)
    assert.deepEqual([mail.from, mail.user], ['berth@example.com', login.user])
    assert.match(mail.raw, /^From: Berth <berth@example\.com>\r$/m)
    assert.match(mail.raw, /^Auto-Submitted: auto-generated\r$/m)
    assert.match(
      mail.text,
      /Hello <Ada> & "Grace", größer\.\s+Open it:\s+https:\/\/berth\.example\.com\/x\?a=1&b=2#code\s+Bye/,
    )
    assert.match(mail.html, /Hello &lt;Ada&gt; &amp; &quot;Grace&quot;, größer\./)
    assert.match(mail.html, /href="https:\/\/berth\.example\.com\/x\?a=1&amp;b=2#code"/)
  })

test('a server with an unknown certificate receives nothing', async (t) => {
  const server = await startMailServer(t, { login })
  const smtp = createSmtp(smtpOf({ BERTH_SMTP_URL: urlOf('smtp', server.port, login) }))
  await assert.rejects(smtp.send(message), /self-signed certificate/)
  await assert.rejects(smtp.verify(), /self-signed certificate/)
  assert.deepEqual(server.received, [])
})

test('a server without STARTTLS receives neither password nor message, unless TLS is optional', async (t) => {
  const server = await startMailServer(t, { tls: 'none', login })
  const url = urlOf('smtp', server.port, login)
  const strict = createSmtp(smtpOf({ BERTH_SMTP_URL: url, BERTH_SMTP_TLS: 'required' }))
  await assert.rejects(
    strict.send(message),
    (error: MailError) => !error.isPermanent && /does not offer STARTTLS/.test(error.message),
  )
  assert.deepEqual(server.received, [])
  await createSmtp(smtpOf({ BERTH_SMTP_URL: url, BERTH_SMTP_TLS: 'optional' })).send(message)
  assert.equal((await server.next('ada@example.com')).secure, false)
})

test('TLS is required of every server but one on this machine', () => {
  const modes = ['mail.example.com', '10.0.0.1', 'localhost', '127.0.0.1', '[::1]'].map(
    (host) => smtpOf({ BERTH_SMTP_URL: `smtp://${host}` }).requireTls,
  )
  assert.deepEqual(modes, [true, true, false, false, false])
})

test('a rejected password is a temporary failure, whose text does not repeat what the server says', async (t) => {
  const server = await startMailServer(t, { tls: 'none', login })
  const wrong = urlOf('smtp', server.port, { ...login, password: 'a wrong secret' })
  const smtp = createSmtp(smtpOf({ BERTH_SMTP_URL: wrong }))
  for (const attempt of [smtp.send(message), smtp.verify()])
    await assert.rejects(attempt, (error: MailError) => {
      assert.equal(error.isPermanent, false)
      assert.match(error.message, /rejected user and password \(535\)/)
      assert.doesNotMatch(error.message, /wrong secret/)
      return true
    })
})

for (const { code, isPermanent } of [
  { code: 451, isPermanent: false },
  { code: 550, isPermanent: true },
])
  test(`the response ${code} to a recipient is ${isPermanent ? 'permanent' : 'temporary'}`, async (t) => {
    const server = await startMailServer(t, { tls: 'none' })
    server.answer({ code, text: `not ${'now '.repeat(200)}` })
    const smtp = createSmtp(smtpOf({ BERTH_SMTP_URL: `smtp://127.0.0.1:${server.port}` }))
    await assert.rejects(smtp.send(message), (error: MailError) => {
      assert.ok(error instanceof MailError)
      assert.equal(error.isPermanent, isPermanent)
      assert.match(error.message, new RegExp(`the mail server responded: ${code} not now`))
      assert.ok(error.message.length <= limits.mailProblemCharsMax)
      return true
    })
  })

test('a dead server is a temporary failure', async () => {
  const smtp = createSmtp(smtpOf({ BERTH_SMTP_URL: `smtp://127.0.0.1:${await freePort()}` }))
  await assert.rejects(
    smtp.send(message),
    (error: MailError) => !error.isPermanent && /ECONNREFUSED/.test(error.message),
  )
})

test('a server that sends a byte at a time is given up within the time for an attempt, and its connection closed', async (t) => {
  const server = await startMailServer(t, { drips: true })
  const settings = smtpOf({ BERTH_SMTP_URL: `smtp://127.0.0.1:${server.port}` })
  // Longer waits for the single steps, so that only the time for the whole attempt ends it.
  const smtp = createSmtp(settings, { sendMs: 500, connectMs: 60_000, idleMs: 60_000 })
  await assert.rejects(smtp.send(message), /did not accept the message within 0\.5 s/)
  await server.closed()
  assert.ok(limits.mailSendMs < limits.mailLeaseMs && limits.mailConnectMs < limits.mailSendMs)
  assert.ok(limits.mailIdleMs < limits.mailSendMs)
})

for (const [name, value] of [
  ['BERTH_SMTP_URL', 'http://user:topsecret@example.com'],
  ['BERTH_SMTP_URL', 'smtp://user:topsecret@example.com/path'],
  ['BERTH_SMTP_URL', 'smtp://user:topsecret@example.com?x=1'],
  ['BERTH_SMTP_URL', 'smtp://user:top%secret@example.com'],
  ['BERTH_SMTP_URL', 'smtp://user:topsecret@'],
  ['BERTH_SMTP_URL', 'smtp://topsecret@example.com'],
  ['BERTH_SMTP_FROM', 'Berth <berth@example.com'],
  ['BERTH_SMTP_FROM', 'berth@example.com, eve@example.com'],
  ['BERTH_SMTP_FROM', 'berth'],
  ['BERTH_SMTP_TLS', 'no'],
] as const)
  test(`rejects ${name}=${value}, without repeating it`, () => {
    const read = readConfig({ ...from, BERTH_SMTP_URL: 'smtp://example.com', [name]: value })
    assert.ok('problems' in read)
    assert.match(read.problems.join(), new RegExp(`^${name} must be`))
    assert.doesNotMatch(read.problems.join(), /topsecret|top%secret/)
  })

test('a mail server without a sender is a problem of the configuration', () => {
  const read = readConfig({ BERTH_SMTP_URL: 'smtp://example.com' })
  assert.deepEqual('problems' in read && read.problems, ['BERTH_SMTP_FROM must be set if BERTH_SMTP_URL is'])
})
