import { databaseFile } from '@berth/server/installation/installation.ts'
import type { Bench, Result } from '../bench.ts'
import { httpClient, type Load, medianOf, request } from '../http-load.ts'
import { inTurn, type Measured } from '../rounds.ts'

const CONCURRENT = 16

/**
 * Exchange of refresh tokens, each used once for the next one, against the statements of the rotation alone with one signature. Both
 * wait for the disk, so what counts is how many get done in a second.
 */
export async function measureRefresh(bench: Bench): Promise<Result[]> {
  const set = await bench.dataSet(bench.sizes.usual)
  const berth = await bench.startBerth(bench.copyOf(set))
  const { port, url } = berth.ready
  const rotate = await bench.start<undefined>('rotate', { file: databaseFile(bench.copyOf(set).dataDir) })
  const [ours, base] = (await inTurn(bench, [
    {
      name: 'Berth',
      child: berth,
      load: async (seconds) =>
        refreshLoad({ port, aud: url, tokens: await berth.ask('refreshTokens', CONCURRENT), seconds }),
    },
    {
      name: 'rotate and sign alone',
      child: rotate,
      load: (seconds) => rotate.ask<Load>('run', { seconds, concurrency: 1 }),
    },
  ])) as [Measured, Measured]
  return [
    {
      work: 'refresh',
      title: `Exchange, refresh token, ${CONCURRENT} at a time`,
      value: ours.perSecond / base.perSecond,
      unit: 'share',
      ours,
      theirs: base,
      note: `by rate; by CPU ${(base.cpuUs / ours.cpuUs).toFixed(2)}`,
    },
  ]
}

/** One connection for each token, which is replaced again and again. */
async function refreshLoad({
  port,
  aud,
  tokens,
  seconds,
}: {
  readonly port: number
  readonly aud: string
  readonly tokens: readonly string[]
  readonly seconds: number
}): Promise<Load> {
  const path = `/sts/exchange_refresh_token?aud=${encodeURIComponent(aud)}`
  const latencies: number[] = []
  let count = 0
  const startMs = performance.now()
  const endMs = startMs + seconds * 1000
  await Promise.all(
    tokens.map(async (first) => {
      const client = await httpClient(port)
      try {
        for (let token = first; performance.now() < endMs; count++) {
          const sentMs = performance.now()
          const { status, body } = await client.send(request('POST', path, { token, body: '' }))
          if (status !== 200) throw new Error(`the server answered ${status}: ${body}`)
          token = (JSON.parse(body) as { refreshToken: { token: string } }).refreshToken.token
          latencies.push(performance.now() - sentMs)
        }
      } finally {
        client.close()
      }
    }),
  )
  return { count, seconds: (performance.now() - startMs) / 1000, latencyMs: medianOf(latencies) }
}
