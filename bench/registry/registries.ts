import { ANONYMOUS_IDENTITY } from '@berth/server/iam/identities/anonymous-uid.ts'
import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import type { Child } from '../child.ts'
import { createResource, flowLoad, httpClient, requestHead } from '../http-load.ts'
import type { Side } from '../rounds.ts'
import { type RegistryClient, registryClient } from './client.ts'

/** A registry under measurement, and the credentials for it. */
export interface Registry {
  readonly name: string
  readonly child: Child
  readonly port: number
  readonly authorization: string | undefined
}

/** Returns the value of the header that gives access to repos. As clients do it: the token of the API is a password at the token endpoint. */
export async function registryToken(port: number, token: string, repos: readonly string[]): Promise<string> {
  const scopes = repos.map((name) => `scope=repository:${name}:pull,push`).join('&')
  const credentials = Buffer.from(`_token:${token}`).toString('base64')
  const client = await httpClient(port)
  const path = `/token?service=127.0.0.1:${port}&${scopes}`
  const { body } = await client.send(requestHead('GET', path, [`authorization: Basic ${credentials}`]))
  client.close()
  const answer = JSON.parse(body) as { token?: string }
  if (answer.token === undefined) throw new Error(`no token for the registry: ${body}`)
  return `Bearer ${answer.token}`
}

/** Lets every client pull from all repos of an organization. */
export async function makePublic(port: number, token: string, organization: string): Promise<void> {
  await createResource(port, token, `/iam/v2beta1/roleBindings/${organization}`, {
    identityUid: ANONYMOUS_IDENTITY,
    roleUid: managedRoleByName.get('registry.pull')?.uid,
  })
}

/** Clients of a registry that repeat a flow of requests in a repo. */
export function registrySide(
  registry: Registry,
  {
    title,
    repo,
    connections,
    flow,
    before,
  }: {
    readonly title: string
    readonly repo: string
    readonly connections: number
    readonly flow: (client: RegistryClient, registry: Registry) => Promise<void>
    readonly before?: () => void
  },
): Side {
  return {
    name: `${title}, ${connections} at a time, ${registry.name}`,
    child: registry.child,
    load: (seconds) => {
      before?.()
      return flowLoad(registry.port, connections, seconds, (http) =>
        flow(registryClient(http, repo, registry.authorization), registry),
      )
    },
  }
}
