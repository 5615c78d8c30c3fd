import { type CryptoKey, compactVerify, generateKeyPair, SignJWT } from 'jose'
import { serveParent } from './control.ts'
import { type LoopRequest, loop } from './loop.ts'

/** Baseline: one signature verified and one token signed, nothing around it. */

const { alg } = JSON.parse(process.argv[2] ?? '') as { alg: string }
const subject = await generateKeyPair(alg)
const ours = await generateKeyPair('ES256')

function sign(key: CryptoKey, algorithm: string): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  return new SignJWT({
    iss: 'http://127.0.0.1:8080',
    sub: 'repository:acme/app:ref:refs/heads/main',
    aud: 'http://127.0.0.1:8080',
    iat: now,
    exp: now + 3600,
  })
    .setProtectedHeader({ alg: algorithm, kid: 'key-1', typ: 'JWT' })
    .sign(key)
}

const token = await sign(subject.privateKey, alg)

serveParent(undefined, {
  run: (request: LoopRequest) =>
    loop(request, async () => {
      await compactVerify(token, subject.publicKey, { algorithms: [alg] })
      await sign(ours.privateKey, 'ES256')
    }),
})
