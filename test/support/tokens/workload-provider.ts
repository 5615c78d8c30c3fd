import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Cleanup } from '../server/process.ts'

/** An OpenID provider of jobs (workload-provider-server.ts). */
export interface WorkloadProvider {
  readonly issuer: string
  /** A token of it with these claims, over those that every token has. */
  token(claims: Readonly<Record<string, unknown>>): Promise<string>
}

export async function startWorkloadProvider(t: Cleanup): Promise<WorkloadProvider> {
  const child = fork(fileURLToPath(new URL('./workload-provider-server.ts', import.meta.url)), {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // Keeps what is undefined, which takes a claim away.
    serialization: 'advanced',
  })
  t.after(() => void child.kill())
  const [{ issuer }] = (await once(child, 'message')) as [{ readonly issuer: string }]
  return {
    issuer,
    async token(claims) {
      const confirmed = once(child, 'message')
      child.send(claims)
      await confirmed
      const reply = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from('job:job').toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'https://job.example' }),
      })
      const { access_token: token } = (await reply.json()) as { readonly access_token?: string }
      return token ?? assert.fail(`the provider answered ${reply.status}`)
    },
  }
}
