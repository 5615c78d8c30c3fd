import { managedRoleByName } from '@berth/server/iam/managed-roles.ts'
import type { Bench, Result } from '../bench.ts'
import { noCachedLists } from '../configuration.ts'
import { everyGroup, ORGANIZATION } from '../dataset.ts'
import { createResource, httpLoad, request } from '../http-load.ts'
import { inTurn, type Measured, type Side } from '../rounds.ts'

/**
 * A caller with roles in very many groups against a caller with a role in one of them: the same list, of a group without children; and a page of
 * all groups that each can see.
 */

const CONCURRENT = 4
const CONCURRENT_CREATES = 16

export async function measureScopes(bench: Bench): Promise<Result[]> {
  const set = bench.sizes.usual
  const place = bench.copyOf(await bench.dataSet(set))
  const berth = await bench.startBerth({ ...place, limits: noCachedLists })
  const { port, token } = berth.ready
  const groups = everyGroup(set).slice(0, bench.options.quick ? 500 : 5000)
  const create = (path: string, resource: object) =>
    createResource(port, token, `/iam/v2beta1/${path}`, resource)
  const callerIn = async (scopes: readonly string[]) => {
    const subject = `member of ${scopes.length}`
    const claimMatch = { issuer: 'https://issuer.example', subject }
    const identityUid = await create(`identities/${ORGANIZATION}`, { name: subject, claimMatch })
    const roleUid = managedRoleByName.get('viewer')?.uid
    for (let at = 0; at < scopes.length; at += CONCURRENT_CREATES) {
      const some = scopes.slice(at, at + CONCURRENT_CREATES)
      await Promise.all(some.map((scope) => create(`roleBindings/${scope}`, { identityUid, roleUid })))
    }
    const [bearer] = await berth.ask<string[]>('tokensOf', [identityUid])
    return bearer
  }
  const [one] = groups as [string]
  const callers = [
    { name: `roles in ${groups.length} groups`, token: await callerIn(groups) },
    { name: 'a role in one group', token: await callerIn([one]) },
  ]
  const sides = ['?page_size=50', `?uidp.children_of=${one}`].flatMap((query) =>
    callers.map(({ name, token: caller }): Side => {
      const bytes = request('GET', `/iam/v2beta1/groups${query}`, { token: caller })
      return {
        name: `${name}, ${query}`,
        child: berth,
        load: (seconds) => httpLoad({ port, next: () => bytes }, CONCURRENT, seconds),
      }
    }),
  )
  const [page, small, ours, theirs] = (await inTurn(bench, sides)) as [Measured, Measured, Measured, Measured]
  const result = (title: string, many: Measured, few: Measured): Result => ({
    work: 'scopes',
    title: `${title}, caller with roles in ${groups.length} groups : in one`,
    value: many.cpuUs / few.cpuUs,
    unit: 'times',
    ours: many,
    theirs: few,
  })
  return [result('authorize (an empty List)', ours, theirs), result('a page of 50', page, small)]
}
