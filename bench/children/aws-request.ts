import { generateKeyPairSync } from 'node:crypto'
import { signJwt } from '@berth/server/tokens/jwt/sign-jwt.ts'
import { Agent, request } from 'undici'
import { serveParent } from './control.ts'
import { type LoopRequest, loop } from './loop.ts'

/** Baseline: a signed request to AWS sent on, its answer read, and one token signed. */

const { url, subject } = JSON.parse(process.argv[2] ?? '') as { url: string; subject: string }
const [head = '', ...lines] = Buffer.from(subject, 'base64url').toString('latin1').trimEnd().split('\r\n')
const path = head.split(' ')[1] ?? ''
const headers = Object.fromEntries(
  lines.map((line): [string, string] => [
    line.slice(0, line.indexOf(':')),
    line.slice(line.indexOf(':') + 2),
  ]),
)
const agent = new Agent({ connections: 32 })
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

serveParent(undefined, {
  run: (load: LoopRequest) =>
    loop(load, async () => {
      const { statusCode, body } = await request(`${url}${path}`, {
        method: 'POST',
        headers,
        dispatcher: agent,
      })
      const { GetCallerIdentityResponse: answer } = (await body.json()) as {
        GetCallerIdentityResponse: object
      }
      if (statusCode !== 200 || answer === undefined) throw new Error(`AWS answered ${statusCode}`)
      await signJwt({ kid: 'key', algorithm: 'ES256', key: privateKey }, 'at+jwt', { sub: 'workload' })
    }),
})
