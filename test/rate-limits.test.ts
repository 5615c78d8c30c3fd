import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { GroupSchema, GroupsService } from '@berth/contract/gen/chainguard/platform/iam/v2beta1/groups_pb.js'
import {
  ErrorInfoSchema,
  QuotaFailureSchema,
  RetryInfoSchema,
} from '@berth/contract/gen/google/rpc/error_details_pb.js'
import { StatusSchema } from '@berth/contract/gen/google/rpc/status_pb.js'
import { fromBinary, toBinary } from '@bufbuild/protobuf'
import { anyUnpack } from '@bufbuild/protobuf/wkt'
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { freePort } from '../scripts/free-port.ts'
import { type ApiFixture, newName, onEveryDatabase } from './support/api/api-fixture.ts'
import { call, type RestReply } from './support/api/rest.ts'
import { createIdentity } from './support/api/tenant.ts'
import { isQueryFromAnyNodeEnabled } from './support/database/citus-databases.ts'
import { databases } from './support/database/databases.ts'
import { startPostgres, withoutPostgres } from './support/database/postgres.ts'
import { cleanups, runBerth, serveBerth, temporaryDirectory } from './support/server/process.ts'
import { startIssuer } from './support/tokens/issuer.ts'

/** Rate limits through the front door. Windows are so long that none ends in a test, except where that is what is tested. */

const limitNames = ['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'retry-after']

function limitHeaders({ headers }: RestReply): Record<string, string> {
  return Object.fromEntries(
    limitNames.flatMap((name) => {
      const value = headers.get(name)
      return value === null ? [] : [[name, value]]
    }),
  )
}

const remaining = (reply: RestReply) => Number(limitHeaders(reply)['ratelimit-remaining'])

interface GrpcAnswer {
  readonly code: number
  readonly metadata: Record<string, string>
  readonly details: Uint8Array | undefined
}

/** A Get over gRPC with the metadata of its answer, an error's too. */
function getOverGrpc(url: string, uid: string, token: string): Promise<GrpcAnswer> {
  const client = new Client(new URL(url).host, credentials.createInsecure())
  const metadata = new Metadata()
  metadata.set('authorization', `Bearer ${token}`)
  const textsOf = (answer: Metadata) =>
    Object.fromEntries(limitNames.flatMap((name) => answer.get(name).map((value) => [name, String(value)])))
  return new Promise((resolve) => {
    let initial: Record<string, string> = {}
    const answered = (error: ServiceError | null) => {
      const [details] = error?.metadata.get('grpc-status-details-bin') ?? []
      resolve({
        code: error?.code ?? 0,
        metadata: error === null ? initial : textsOf(error.metadata),
        details: details === undefined ? undefined : Buffer.from(details),
      })
      client.close()
    }
    client
      .makeUnaryRequest(
        `/${GroupsService.typeName}/GetGroup`,
        (request: { uid: string }) =>
          Buffer.from(
            toBinary(GroupsService.method.getGroup.input, {
              $typeName: 'chainguard.platform.iam.v2beta1.GetGroupRequest',
              ...request,
            }),
          ),
        (bytes: Buffer) => fromBinary(GroupSchema, bytes),
        { uid },
        metadata,
        answered,
      )
      .on('metadata', (answer: Metadata) => {
        initial = textsOf(answer)
      })
  })
}

async function metric({ berth }: ApiFixture, line: string): Promise<number> {
  const text = await (await fetch(`${berth.url}/metrics`)).text()
  return Number(
    text
      .split('\n')
      .find((one) => one.startsWith(`${line} `))
      ?.slice(line.length + 1) ?? 0,
  )
}

function perIdentity(title: string, env: Record<string, string>, only?: 'sqlite'): void {
  onEveryDatabase(
    `limits per identity, ${title}`,
    (cast) => {
      test('one budget of reads over REST and gRPC; refusals say what was counted and when to come back', async () => {
        const organization = await cast().organization()
        const { uid, api } = await organization.member('viewer')
        const path = `iam/groups/${organization.uid}`
        const replies = [
          await api.get(path),
          await api.get('iam/groups', { page_size: '1' }),
          await api.get(`iam/groups:lookupGroup`),
        ]
        assert.deepEqual(replies.map(remaining), [4, 3, 2])
        const { 'ratelimit-reset': reset, ...rest } = limitHeaders(replies[0]!)
        assert.deepEqual(rest, { 'ratelimit-limit': '5', 'ratelimit-remaining': '4' })
        assert.ok(Number(reset) > 3500 && Number(reset) <= 3600, reset)

        const { url } = cast().berth
        const granted = await getOverGrpc(url, organization.uid, api.token)
        assert.deepEqual([granted.code, granted.metadata['ratelimit-remaining']], [0, '1'])
        assert.equal(remaining(await api.get(path)), 0)

        const limitedMetric = 'berth_rate_limited_total{class="read",by="identity"}'
        const earlier = await metric(cast(), limitedMetric)
        const refused = await api.get(path)
        assert.equal(refused.status, 429)
        const { retryDelay } = refused.body.details[1]
        assert.match(retryDelay, /^3[56]\d\d(\.\d{1,3})?s$/)
        const description = 'one identity may make 5 read calls in 3600 s'
        assert.deepEqual(refused.body, {
          code: 8,
          message: `Resource exhausted: ${description}`,
          details: [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              reason: 'RATE_LIMITED',
              domain: '127.0.0.1',
            },
            { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay },
            {
              '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
              violations: [{ subject: `read/identity:${uid}`, description }],
            },
          ],
        })
        const seconds = String(Math.ceil(Number.parseFloat(retryDelay)))
        assert.deepEqual(limitHeaders(refused), {
          'ratelimit-limit': '5',
          'ratelimit-remaining': '0',
          'ratelimit-reset': seconds,
          'retry-after': seconds,
        })

        const grpc = await getOverGrpc(url, organization.uid, api.token)
        assert.deepEqual(
          [grpc.code, grpc.metadata['ratelimit-limit'], grpc.metadata['ratelimit-remaining']],
          [8, '5', '0'],
        )
        const { details } = fromBinary(StatusSchema, grpc.details ?? new Uint8Array())
        assert.equal(anyUnpack(details[0]!, ErrorInfoSchema)?.reason, 'RATE_LIMITED')
        assert.ok((anyUnpack(details[1]!, RetryInfoSchema)?.retryDelay?.seconds ?? 0n) > 3500n)
        assert.equal(
          anyUnpack(details[2]!, QuotaFailureSchema)?.violations[0]?.subject,
          `read/identity:${uid}`,
        )
        assert.equal((await metric(cast(), limitedMetric)) - earlier, 2)

        // Neither another identity nor another class is meant.
        const other = await organization.member('viewer')
        assert.equal(remaining(await other.api.get(path)), 4)
        assert.equal((await api.post('iam/groups', {})).status, 403)
      })

      test('a call counts once, whatever becomes of it', async () => {
        const organization = await cast().organization()
        const { api } = await organization.member('viewer')
        const post = (body: unknown) => api.post(`iam/groups/${organization.uid}`, body)
        assert.deepEqual([remaining(await post({ name: 'refused' })), remaining(await post('{'))], [999, 998])
        assert.equal(remaining(await api.get('iam/groups/none')), 4)
        assert.equal(remaining(await api.get(`iam/groups/${'0'.repeat(40)}`)), 3)
        const url = `${cast().berth.url}/iam/v2beta1/groups`
        assert.equal(remaining(await call('POST', url, { token: api.token, body: '' })), 997)
      })

      test('calls without a valid token count for no caller', async () => {
        const url = `${cast().berth.url}/iam/v2beta1/groups`
        for (let n = 0; n < 7; n++) {
          const reply = await call('GET', url, { token: 'bad' })
          assert.deepEqual([reply.status, limitHeaders(reply)], [401, {}])
        }
      })

      test('ping, health and metrics are never limited', async () => {
        const { berth } = cast()
        for (const path of ['/ping/v2beta1/ping', '/healthz', '/readyz', '/metrics']) {
          for (let n = 0; n < 7; n++) {
            const { status, headers } = await fetch(`${berth.url}${path}`)
            assert.deepEqual([status, headers.get('ratelimit-limit')], [200, null], path)
          }
        }
      })

      test('exchanges count for the identity that was proven, not for one that was only named', async (t) => {
        const { berth } = cast()
        const issuer = await startIssuer(t)
        const { uid } = await cast().organization()
        const identity = await createIdentity(
          berth,
          uid,
          { claimMatch: { issuer: issuer.name, subject: 'me' } },
          newName('exchange'),
        )
        const query = new URLSearchParams({ aud: berth.url, identity })
        const exchange = async (sub: string) =>
          call('GET', `${berth.url}/sts/exchange?${query}`, {
            token: await issuer.sign({ sub, aud: berth.url }),
          })
        for (let n = 0; n < 4; n++) assert.equal((await exchange('another')).status, 403)
        assert.equal(remaining(await exchange('me')), 1)
        assert.equal(remaining(await exchange('me')), 0)
        const refused = await exchange('me')
        assert.deepEqual(
          [refused.status, refused.body.details[2].violations[0].subject],
          [429, `exchange/identity:${identity}`],
        )
        assert.equal((await exchange('another')).status, 403)
      })
    },
    {
      env: { BERTH_RATE_LIMITS: 'read=5/1h,write=1000/1h,exchange=2/1h', ...env },
      ...(only === undefined ? {} : { only }),
    },
  )
}
perIdentity('in memory', {}, 'sqlite')
perIdentity('in the database', { BERTH_RATE_LIMIT_STORE: 'database' })

onEveryDatabase(
  'limits per address',
  (cast) => {
    const get = (address: string, token = 'bad') =>
      call('GET', `${cast().berth.url}/iam/v2beta1/groups`, {
        token,
        headers: { 'x-forwarded-for': address },
      })

    test('bound the guessing of tokens, before a token is looked at', async () => {
      assert.deepEqual(
        [(await get('192.0.2.1')).status, (await get('192.0.2.1')).status, (await get('192.0.2.1')).status],
        [401, 401, 401],
      )
      const refused = await get('192.0.2.1')
      const description = 'one address may make 3 read calls in 3600 s'
      assert.deepEqual(
        [refused.status, refused.body.details[2].violations],
        [429, [{ subject: 'read/address:192.0.2.1', description }]],
      )
      assert.equal(refused.headers.get('www-authenticate'), null)
      // A good token is as little looked at.
      assert.equal((await get('192.0.2.1', cast().admin.token)).status, 429)
      assert.equal((await get('192.0.2.2', cast().admin.token)).status, 200)
      assert.ok((await metric(cast(), 'berth_rate_limited_total{class="read",by="address"}')) >= 2)
    })

    test('what the client itself wrote into X-Forwarded-For does not move it', async () => {
      for (let n = 0; n < 3; n++) assert.equal((await get(`192.0.2.${100 + n}, 198.51.100.1`)).status, 401)
      assert.equal((await get('192.0.2.200, 198.51.100.1')).status, 429)
    })

    test('all addresses of an IPv6 /64 are one', async () => {
      for (let n = 0; n < 3; n++) assert.equal((await get(`2001:db8:0:1::${n}`)).status, 401)
      const refused = await get('2001:db8:0:1:ffff::1')
      assert.deepEqual(
        [refused.status, refused.body.details[2].violations[0].subject],
        [429, 'read/address:2001:db8:0:1::/64'],
      )
      assert.equal((await get('2001:db8:0:2::1')).status, 401)
    })

    test('of two limits, the one that rejects first is reported', async () => {
      const organization = await cast().organization()
      const { api } = await organization.member('viewer')
      assert.deepEqual(limitHeaders(await get('203.0.113.1', api.token))['ratelimit-limit'], '2')
      assert.equal(remaining(await get('203.0.113.2', api.token)), 0)
      const refused = await get('203.0.113.3', api.token)
      assert.deepEqual([refused.status, limitHeaders(refused)['ratelimit-limit']], [429, '2'])
    })

    test('exchanges are counted before their token is looked at', async () => {
      const exchange = () => call('POST', `${cast().berth.url}/sts/exchange`, { token: 'bad' })
      assert.deepEqual([(await exchange()).status, (await exchange()).status], [400, 429])
    })
  },
  {
    env: {
      BERTH_RATE_LIMITS: 'read=2/1h',
      BERTH_RATE_LIMITS_ADDRESS: 'read=3/1h,exchange=1/1h',
      BERTH_TRUSTED_PROXIES: '127.0.0.0/8',
    },
    only: 'sqlite',
  },
)

onEveryDatabase(
  'limits per address without trusted proxies',
  (cast) => {
    test('X-Forwarded-For is ignored over HTTP/1.1 and gRPC', async () => {
      const get = (address: string) =>
        call('GET', `${cast().berth.url}/iam/v2beta1/groups`, {
          token: cast().admin.token,
          headers: { 'x-forwarded-for': address },
        })
      assert.deepEqual(
        [
          remaining(await get('192.0.2.1')),
          remaining(await get('192.0.2.2')),
          (await get('192.0.2.3')).status,
        ],
        [1, 0, 429],
      )
      const { berth, admin } = cast()
      assert.equal((await getOverGrpc(berth.url, berth.organization, admin.token)).code, 8)
      assert.deepEqual(
        (await get('192.0.2.4')).body.details[2].violations[0].subject,
        'read/address:127.0.0.1',
      )
    })
  },
  { env: { BERTH_RATE_LIMITS_ADDRESS: 'read=2/1h' }, only: 'sqlite' },
)

onEveryDatabase(
  'no limits',
  (cast) => {
    test('is the default: no headers, no rejections', async () => {
      for (let n = 0; n < 20; n++) {
        const reply = await cast().admin.get('iam/groups')
        assert.deepEqual([reply.status, limitHeaders(reply)], [200, {}])
      }
      const { berth, admin } = cast()
      const { code, metadata } = await getOverGrpc(berth.url, berth.organization, admin.token)
      assert.deepEqual([code, metadata], [0, {}])
    })
  },
  { only: 'sqlite' },
)

for (const store of ['memory', 'database']) {
  onEveryDatabase(
    `a budget in the store ${store}`,
    (cast) => {
      test('is there again when its window has ended', async () => {
        const get = () => cast().admin.get('iam/groups')
        let refused = 0
        for (let served = 0; served < 6; ) {
          const reply = await get()
          if (reply.status === 200) {
            served++
          } else {
            assert.equal(reply.status, 429)
            refused++
            await new Promise((resolve) => setTimeout(resolve, 50))
          }
        }
        assert.ok(refused > 0)
      })
    },
    {
      env: { BERTH_RATE_LIMITS: 'read=2/1s', BERTH_RATE_LIMIT_STORE: store },
      ...(store === 'memory' ? { only: 'sqlite' as const } : {}),
    },
  )
}

describe('a database that does not count', () => {
  for (const { name } of databases) {
    const dataDir = mkdtempSync(join(tmpdir(), 'berth-test-'))
    after(() => rmSync(dataDir, { recursive: true, force: true }))
    onEveryDatabase(
      'a node counts by itself',
      (cast) => {
        test('so that no caller is rejected because of it, and none escapes its limit', {
          skip: isQueryFromAnyNodeEnabled && 'only the coordinator can drop a table',
        }, async () => {
          const { berth, admin } = cast()
          const get = () => admin.get('iam/groups')
          assert.equal(remaining(await get()), 2)
          const { db } = berth.berth.installation.store
          if (db.engine === 'postgres') await sql`drop table rate_limits`.execute(db.kysely)
          else new Database(join(dataDir, 'rate-limits.db')).exec('drop table rate_limits').close()
          assert.deepEqual([await get(), await get(), await get()].map(remaining), [2, 1, 0])
          assert.equal((await get()).status, 429)
          assert.ok((await metric(cast(), 'berth_rate_limit_store_failures_total')) >= 4)
        })
      },
      {
        env: {
          BERTH_DATA_DIR: dataDir,
          BERTH_RATE_LIMITS: 'read=3/1h',
          BERTH_RATE_LIMIT_STORE: 'database',
        },
        only: name,
      },
    )
  }
})

test('two nodes over one postgres database share a budget', { skip: withoutPostgres }, async () => {
  const t = cleanups()
  try {
    const shared = {
      BERTH_DATA_DIR: temporaryDirectory(t),
      BERTH_DATABASE_URL: (await startPostgres(t)).url,
      BERTH_BASE_URL: 'http://berth.test',
      BERTH_MASTER_KEY: randomBytes(32).toString('base64'),
      BERTH_RATE_LIMITS: 'read=6/1h',
      BERTH_RATE_LIMIT_STORE: 'database',
    }
    const start = async () => {
      const listen = `127.0.0.1:${await freePort()}`
      await serveBerth(t, { ...shared, BERTH_LISTEN: listen })
      return `http://${listen}`
    }
    const nodes = await Promise.all([start(), start()])
    const token = (await runBerth(t, ['admin', 'token'], shared)).stdout
    const replies = await Promise.all(
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => call('GET', `${nodes[n % 2]}/iam/v2beta1/groups`, { token })),
    )
    const statuses = replies.map(({ status }) => status).sort()
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 200, 429, 429, 429, 429])
  } finally {
    await t.run()
  }
})
