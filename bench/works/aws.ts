import { awsKeys, awsToken, startAwsSts } from '../../test/support/tokens/aws-sts.ts'
import type { Bench, Result } from '../bench.ts'
import { ORGANIZATION } from '../dataset.ts'
import { createResource, cycle, httpLoad, type Load, request } from '../http-load.ts'
import { inTurn, type Measured } from '../rounds.ts'

const CONCURRENT = 16

/**
 * Exchange of a signed request to AWS, with a stand-in for AWS on the load's core, against the same request sent on by the same
 * client of HTTP, and one signature.
 */
export async function measureAws(bench: Bench): Promise<Result[]> {
  const ends: (() => unknown)[] = []
  try {
    const sts = await startAwsSts({ after: (end) => ends.push(end) })
    const place = bench.copyOf(await bench.dataSet(bench.sizes.usual))
    const berth = await bench.startBerth({ ...place, awsStsEndpoint: sts.url })
    const { port, url, token } = berth.ready
    const { account, arn, userId } = awsKeys.role
    const identity = await createResource(port, token, `/iam/v2beta1/identities/${ORGANIZATION}`, {
      name: 'build',
      awsIdentity: { awsAccount: account, arn, userId },
    })
    const path = `/sts/exchange?aud=${encodeURIComponent(url)}&identity=${encodeURIComponent(identity)}`
    const subject = awsToken(url, identity)
    const next = cycle([request('POST', path, { token: subject, body: '' })])
    const alone = await bench.start<undefined>('aws-request', { url: sts.url, subject })
    const [ours, base] = (await inTurn(bench, [
      {
        name: 'Berth',
        child: berth,
        load: (seconds) => httpLoad({ port, next }, CONCURRENT, seconds),
      },
      {
        name: 'the request to AWS and a signature',
        child: alone,
        load: (seconds) => alone.ask<Load>('run', { seconds, concurrency: CONCURRENT }),
      },
    ])) as [Measured, Measured]
    return [
      {
        work: 'aws',
        title: 'Exchange, AWS identity',
        value: base.cpuUs / ours.cpuUs,
        unit: 'share',
        ours,
        theirs: base,
      },
    ]
  } finally {
    for (const end of ends) await end()
  }
}
