import type { Bench, Result } from '../bench.ts'
import { ORGANIZATION } from '../dataset.ts'
import { goals } from '../goals.ts'
import { createResource, cycle, httpLoad, type Load, request } from '../http-load.ts'
import { shareOfCpu } from './share.ts'

const CONCURRENT = 16
const ALGORITHMS = [
  ['RS256', goals.exchangeRs256],
  ['ES256', goals.exchangeEs256],
] as const
const SUBJECT = 'repository:acme/app:ref:refs/heads/main'

/** Exchange of a subject token whose issuer's keys are known, against one verification and one signature. */
export async function measureExchange(bench: Bench): Promise<Result[]> {
  const berth = await bench.startBerth(bench.copyOf(await bench.dataSet(bench.sizes.usual)))
  const { port, url, token } = berth.ready
  const issuer = await bench.start<{ issuer: string }>('issuer', {}, 'load')
  const identity = await createResource(port, token, `/iam/v2beta1/identities/${ORGANIZATION}`, {
    name: 'workload',
    claimMatch: { issuer: issuer.ready.issuer, subject: SUBJECT },
  })
  const path = `/sts/exchange?aud=${encodeURIComponent(url)}&identity=${encodeURIComponent(identity)}`

  const results: Result[] = []
  for (const [alg, goal] of ALGORITHMS) {
    const subjectToken = await issuer.ask<string>('mint', { alg, sub: SUBJECT, aud: url })
    const next = cycle([request('POST', path, { token: subjectToken, body: '' })])
    const jose = await bench.start<undefined>('jose', { alg })
    results.push(
      await shareOfCpu(
        bench,
        { work: 'exchange', title: `Exchange, ${alg} subject token`, goal },
        {
          name: `Berth ${alg}`,
          child: berth,
          load: (seconds) => httpLoad({ port, next }, CONCURRENT, seconds),
        },
        {
          name: `verify and sign ${alg}`,
          child: jose,
          load: (seconds) => jose.ask<Load>('run', { seconds, concurrency: CONCURRENT }),
        },
      ),
    )
  }
  return results
}
