import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { limits } from '@berth/server/config/limits.ts'
import { expiryWarning, readTlsFiles } from '@berth/server/port/tls/tls-files.ts'
import { eventually } from './support/eventually.ts'
import { selfSignedCertificate } from './support/http/certificate.ts'
import { runBerth, type Serving, serveBerth, temporaryDirectory } from './support/server/process.ts'

/** What changes while a server runs: by SIGHUP, and by files that are replaced. */

const logged = ({ output }: Serving, text: string | RegExp) =>
  eventually(() =>
    output()
      .stderr.split('\n')
      .find((line) => (typeof text === 'string' ? line.includes(text) : text.test(line))),
  )

/** The fingerprint of the certificate that a new connection gets. */
async function served(url: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { fingerprint256 } = socket.getPeerCertificate()
  socket.destroy()
  return fingerprint256
}

const printOf = ({ cert }: { readonly cert: string }) => new X509Certificate(cert).fingerprint256

function ask(
  url: string,
  agent: Agent,
): Promise<{ status: number; headers: NodeJS.Dict<unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, rejectUnauthorized: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (piece) => {
        text += piece
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    sent.on('error', reject).end()
  })
}

/** Files as Kubernetes mounts a secret: links through a directory that is swapped. */
function secretIn(directory: string) {
  let version = 0
  const swap = (files: Readonly<Record<string, string>>) => {
    const name = `..${++version}`
    mkdirSync(join(directory, name))
    for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, name, file), text)
    symlinkSync(name, join(directory, '..next'))
    renameSync(join(directory, '..next'), join(directory, '..data'))
  }
  return {
    swap,
    link: (file: string) => {
      symlinkSync(join('..data', file), join(directory, file))
      return join(directory, file)
    },
  }
}

test('a renewed certificate is used for new connections, and a pair that does not match is not', async (t) => {
  assert.equal(limits.tlsPollMs, 10_000)
  const directory = temporaryDirectory(t)
  const secret = secretIn(directory)
  const [first, second, third, fourth] = Array.from({ length: 4 }, () => selfSignedCertificate()) as [
    ReturnType<typeof selfSignedCertificate>,
    ReturnType<typeof selfSignedCertificate>,
    ReturnType<typeof selfSignedCertificate>,
    ReturnType<typeof selfSignedCertificate>,
  ]
  secret.swap({ 'tls.crt': first.cert, 'tls.key': first.key })
  const server = await serveBerth(t, {
    BERTH_DATA_DIR: temporaryDirectory(t),
    BERTH_TLS_CERT_FILE: secret.link('tls.crt'),
    BERTH_TLS_KEY_FILE: secret.link('tls.key'),
  })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const sockets = new Set<unknown>()
  agent.on('free', (socket) => sockets.add(socket))
  assert.equal((await ask(`${server.url}/healthz`, agent)).status, 200)
  assert.equal(await served(server.url), printOf(first))
  const metric = async () =>
    Number(
      /^berth_tls_certificate_expiry_timestamp_seconds (\d+)/m.exec(
        (await ask(`${server.url}/metrics`, agent)).text,
      )?.[1],
    )
  assert.equal(await metric(), new X509Certificate(first.cert).validToDate.getTime() / 1000)

  secret.swap({ 'tls.crt': second.cert, 'tls.key': second.key })
  await eventually(async () => (await served(server.url)) === printOf(second))
  // The connection from before the renewal goes on.
  assert.equal((await ask(`${server.url}/healthz`, agent)).status, 200)
  assert.equal(sockets.size, 1)

  secret.swap({ 'tls.crt': third.cert, 'tls.key': second.key })
  await logged(
    server,
    /former certificate stays in use: BERTH_TLS_KEY_FILE: .* is not the key of the certificate/,
  )
  assert.equal(await served(server.url), printOf(second))
  secret.swap({ 'tls.crt': third.cert, 'tls.key': third.key })
  await eventually(async () => (await served(server.url)) === printOf(third))

  // Without a change that the system reports in time, SIGHUP reads the files immediately.
  secret.swap({ 'tls.crt': fourth.cert, 'tls.key': fourth.key })
  server.child.kill('SIGHUP')
  await logged(server, 'the settings and files were read again')
  assert.equal(await served(server.url), printOf(fourth))
})

test('SIGHUP takes over the log level, rate limits and sign-in providers of BERTH_ENV_FILE, and names what it does not', async (t) => {
  const directory = temporaryDirectory(t)
  const [file, providers] = [join(directory, 'berth.env'), join(directory, 'providers.json')]
  const write = (settings: Readonly<Record<string, string>>) =>
    writeFileSync(
      file,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    )
  const provider = (label: string) =>
    writeFileSync(
      providers,
      JSON.stringify([{ name: 'example', label, issuer: 'https://issuer.example', clientId: 'berth' }]),
    )
  provider('Before')
  const settings = {
    BERTH_DATA_DIR: join(directory, 'data'),
    BERTH_RATE_LIMITS_ADDRESS: 'read=1000/1h,write=7/1h',
    BERTH_SIGN_IN_PROVIDERS_FILE: providers,
    BERTH_LOG_LEVEL: 'warn',
  }
  write(settings)
  const server = await serveBerth(t, { BERTH_ENV_FILE: file })
  const limit = async () => {
    const { headers } = await fetch(`${server.url}/iam/v2beta1/groups`)
    return [headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]
  }
  const page = async () => (await fetch(`${server.url}/sign-in`)).text()
  assert.deepEqual(await limit(), ['1000', '999'])
  assert.match(await page(), /Before/)

  provider('After')
  write({
    ...settings,
    BERTH_RATE_LIMITS_ADDRESS: 'read=500/1h',
    BERTH_LOG_LEVEL: 'info',
    BERTH_OPEN_ORGANIZATIONS: 'true',
  })
  server.child.kill('SIGHUP')
  await logged(server, 'the settings and files were read again')
  await logged(server, /"level":40.*"setting":"BERTH_OPEN_ORGANIZATIONS".*takes effect with a restart only/)
  assert.deepEqual(await limit(), ['500', '499'])
  assert.match(await page(), /After/)

  // A limit that stays the same keeps its counts; the page counts too.
  server.child.kill('SIGHUP')
  await eventually(() => server.output().stderr.split('were read again').length > 2)
  assert.deepEqual(await limit(), ['500', '497'])

  write({ ...settings, BERTH_RATE_LIMITS_ADDRESS: 'many', BERTH_RATE_LIMIT_STORE: 'disk' })
  server.child.kill('SIGHUP')
  await logged(server, /"level":50.*nothing changes: BERTH_RATE_LIMITS_ADDRESS must be/)
  await logged(server, /nothing changes: BERTH_RATE_LIMIT_STORE must be/)
  writeFileSync(file, 'BERTH_LISTEN 127.0.0.1:1\n')
  server.child.kill('SIGHUP')
  await logged(server, /nothing changes: BERTH_ENV_FILE \S+: line 1 must be NAME=VALUE/)
  write({ ...settings, BERTH_LOG_LEVEL: 'info', BERTH_RATE_LIMITS_ADDRESS: 'read=400/1h' })
  writeFileSync(providers, 'no JSON')
  server.child.kill('SIGHUP')
  await logged(server, /"level":50.*the former value stays in use: BERTH_SIGN_IN_PROVIDERS_FILE .*not JSON/)
  assert.match(await page(), /After/)
  assert.deepEqual(await limit(), ['400', '398'])
})

test('TLS files that cannot be used refuse the start, and the sentence names the setting', async (t) => {
  const directory = temporaryDirectory(t)
  const [one, two] = [selfSignedCertificate(), selfSignedCertificate()]
  const path = (name: string, text: string) => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const [cert, key, other] = [path('cert', one.cert), path('key', one.key), path('other', two.key)]
  const text = path('text', 'text')
  const table: readonly (readonly [string, string, RegExp])[] = [
    [text, key, /^berth: BERTH_TLS_CERT_FILE: \S+ is not a PEM certificate/],
    [cert, text, /^berth: BERTH_TLS_KEY_FILE: \S+ is not a PEM private key/],
    [
      cert,
      other,
      /^berth: BERTH_TLS_KEY_FILE: \S+ is not the key of the certificate in \S+ \(BERTH_TLS_CERT_FILE\)/,
    ],
    [cert, join(directory, 'none'), /^berth: BERTH_TLS_KEY_FILE cannot be read: ENOENT/],
  ]
  await Promise.all(
    table.map(async ([certFile, keyFile, sentence]) => {
      const { code, stderr } = await runBerth(t, ['serve'], {
        BERTH_DATA_DIR: temporaryDirectory(t),
        BERTH_LISTEN: '127.0.0.1:0',
        BERTH_TLS_CERT_FILE: certFile,
        BERTH_TLS_KEY_FILE: keyFile,
      })
      assert.equal(code, 1)
      assert.match(stderr.split('\n').find((line) => line.startsWith('berth:')) ?? '', sentence)
    }),
  )
})

test('a certificate is warned of tlsExpiryWarningMs, or a fifth of its lifetime, before it expires', (t) => {
  const DAY_MS = 24 * 3_600_000
  assert.deepEqual([limits.tlsExpiryWarningMs, limits.tlsExpiryNoticeMs], [14 * DAY_MS, DAY_MS])
  const directory = temporaryDirectory(t)
  const warning = (expiresInMs: number, lifetimeMs: number) => {
    const { cert, key } = selfSignedCertificate({ expiresInMs, lifetimeMs })
    writeFileSync(join(directory, 'cert'), cert)
    writeFileSync(join(directory, 'key'), key)
    const files = readTlsFiles({ certFile: join(directory, 'cert'), keyFile: join(directory, 'key') })
    return expiryWarning(files, Date.now())
  }
  assert.equal(warning(15 * DAY_MS, 90 * DAY_MS), undefined)
  assert.match(warning(13 * DAY_MS, 90 * DAY_MS) ?? '', /expires at .*; renew it$/)
  assert.equal(warning(DAY_MS, 3 * DAY_MS), undefined)
  assert.match(warning(DAY_MS / 2, 3 * DAY_MS) ?? '', /expires at/)
  assert.match(warning(-DAY_MS, 3 * DAY_MS) ?? '', /expired at/)
})
