import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import aws4 from 'aws4'
import type { Cleanup } from '../server/process.ts'

/** Credentials of AWS, and whose they are. */
export interface AwsKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
  readonly account: string
  readonly arn: string
  readonly userId: string
}

/** A role of one account, a user of it, and a role of the same name in another. */
export const awsKeys = {
  role: {
    accessKeyId: 'ASIAROLE',
    secretAccessKey: 'secret of the role',
    sessionToken: 'session/token+of=the-role',
    account: '123456789012',
    arn: 'arn:aws:sts::123456789012:assumed-role/deploy/build-17',
    userId: 'AROAEXAMPLE:build-17',
  },
  user: {
    accessKeyId: 'AKIAUSER',
    secretAccessKey: 'secret of the user',
    account: '123456789012',
    arn: 'arn:aws:iam::123456789012:user/ann',
    userId: 'AIDAEXAMPLE',
  },
  stranger: {
    accessKeyId: 'AKIASTRANGER',
    secretAccessKey: 'secret of the stranger',
    account: '999999999999',
    arn: 'arn:aws:sts::999999999999:assumed-role/deploy/build-17',
    userId: 'AROAEXAMPLE:build-17',
  },
} as const satisfies Record<string, AwsKey>

/** How the service answers: as it should, with a status alone, or in a way that must not let anybody in. */
export type AwsStsBehavior =
  | 'properly'
  | 'never'
  | 'broken'
  | 'endless'
  | 'no JSON'
  | 'no caller'
  | 'redirect'
  | 'throttling'
  | 400
  | 403
  | 429
  | 500
  | 503

export interface AwsSts {
  readonly url: string
  /** What it was asked, oldest first. */
  readonly requests: readonly AwsStsRequest[]
  answer(how: AwsStsBehavior): Promise<void>
}

export interface AwsStsRequest {
  readonly target: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly body: string
}

/** Starts the service (aws-sts-server.ts) in a process of its own. */
export async function startAwsSts(t: Cleanup): Promise<AwsSts> {
  const program = fileURLToPath(new URL('./aws-sts-server.ts', import.meta.url))
  const child = fork(program, [JSON.stringify(Object.values(awsKeys))])
  t.after(() => void child.kill())
  const [{ port }] = (await once(child, 'message')) as [{ readonly port: number }]
  const requests: AwsStsRequest[] = []
  child.on('message', (message) => {
    if ('target' in (message as object)) requests.push(message as AwsStsRequest)
  })
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async answer(answering) {
      child.send({ answering })
      for (;;) {
        const [message] = (await once(child, 'message')) as [object]
        if ('answering' in message) return
      }
    },
  }
}

export interface AwsTokenOptions {
  readonly key?: AwsKey
  readonly method?: string
  readonly target?: string
  readonly service?: string
  /** Beside those that such a request has; undefined leaves one of them out. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** Left out of the signature, though they are sent. */
  readonly unsigned?: readonly string[]
  /** Since it was signed, when the token is made; less than 0 for a date in the future. */
  readonly ageMs?: number
  /** What becomes of the serialized request. */
  readonly change?: (request: string) => string
  readonly encoding?: 'base64' | 'base64url'
}

/** A signed request for GetCallerIdentity as clients of the public contract show it. */
export function awsToken(
  audience: string,
  identity: string,
  {
    key = awsKeys.role,
    method = 'POST',
    target = '/?Action=GetCallerIdentity&Version=2011-06-15',
    service = 'sts',
    headers = {},
    unsigned = [],
    ageMs = 0,
    change = (request) => request,
    encoding = 'base64url',
  }: AwsTokenOptions = {},
): string {
  const given: Record<string, string | undefined> = {
    Host: '127.0.0.1',
    Accept: 'application/json',
    'Chainguard-Audience': audience,
    'Chainguard-Identity': identity,
    'X-Amz-Date': new Date(Date.now() - ageMs).toISOString().replaceAll(/[:-]|\.\d{3}/g, ''),
    ...headers,
  }
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const toSign = Object.fromEntries(Object.entries(known).filter(([name]) => !unsigned.includes(name)))
  const signed = aws4.sign(
    { method, path: target, headers: toSign as Record<string, string>, service, region: 'us-east-1' },
    key,
  )
  const lines = Object.entries({ ...known, ...signed.headers })
    .filter(([name]) => !(name in headers && headers[name] === undefined))
    .map(([name, value]) => `${name}: ${value}\r\n`)
  const request = change(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`)
  const text = Buffer.from(request, 'latin1').toString('base64')
  return encoding === 'base64' ? text : text.replaceAll('+', '-').replaceAll('/', '_')
}
