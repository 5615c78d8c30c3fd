import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OperatorNodesService } from '@berth/contract/gen/berth/operator/v1/nodes_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { collectRecorded } from '@berth/server/registry/runs/garbage-collection-run.ts'
import { startRecordedRun } from '@berth/server/registry/runs/recorded-run.ts'
import { createStorageRunner } from '@berth/server/registry/runs/storage-runner.ts'
import { inTransaction } from '@berth/server/storage/db.ts'
import { noBallast } from '@berth/server/storage/engines/sqlite/ballast.ts'
import type { JobRunRow } from '@berth/server/storage/schema/tables.ts'
import { newName, onEveryDatabase } from '../support/api/api-fixture.ts'
import { assertFails, newAccount, operatorApi } from '../support/api/operator.ts'
import { eventually } from '../support/eventually.ts'
import { createPerson, createSession } from '../support/signin/accounts.ts'

/** What operators see and change. */

onEveryDatabase('the operator API', (cast) => {
  const asAdmin = async () => {
    const { berth } = cast()
    return operatorApi(berth, await berth.tokenOf(berth.owner, { isFromServer: true }))
  }
  const actorsOf = async (uid: string, method: string) =>
    (await cast().auditEventsOf(uid))
      .filter((event) => event.method.endsWith(method))
      .map(({ actor }) => actor)

  test('accounts: create with a link, find, suspend, activate, reset, delete', async () => {
    const api = await asAdmin()
    const email = `${newName('grace')}@example.com`
    const created = await api.post('accounts', { email: email.toUpperCase(), name: 'Grace Hopper' })
    assert.equal(created.status, 200, created.text)
    const { localAccount: account, link } = created.body
    assert.match(link, /\/sign-in\/choose-password\?code=/)
    assert.deepEqual(
      [account.email, account.name, account.kind, account.hasPassword],
      [email, 'Grace Hopper', 'ACCOUNT_KIND_LOCAL', false],
    )
    assertFails(await api.post('accounts', { email }), 409, 6, /exists/)
    assertFails(await api.post('accounts', { email: 'nobody' }), 400, 3, /email/)
    const find = async (query: string) =>
      (await api.get(`accounts?query=${encodeURIComponent(query)}`)).body.accounts.map(
        (one: { uid: string }) => one.uid,
      )
    assert.deepEqual(await find(email.slice(0, -6).toUpperCase()), [account.uid])
    assert.deepEqual(await find(account.uid), [account.uid])
    assert.deepEqual(await find('%'), [])
    await createSession(cast().berth, { identity: account.uid, method: 'password' }, { kind: 'browser' })
    const suspended = await api.post(`accounts/${account.uid}:suspend`)
    assert.deepEqual([suspended.body.suspended, suspended.body.sessionCount], [true, 0])
    const listed = await api.get('accounts?suspended=true')
    assert.ok(listed.body.accounts.some((one: { uid: string }) => one.uid === account.uid))
    assert.equal((await api.post(`accounts/${account.uid}:activate`)).body.suspended, false)
    assert.match((await api.post(`accounts/${account.uid}:resetPassword`)).body.link, /code=/)
    assert.equal((await api.delete(`accounts/${account.uid}`)).status, 200)
    assertFails(await api.delete(`accounts/${account.uid}`), 404, 5)
    assertFails(await api.post('accounts/x:suspend'), 400, 3, /uid/)
    for (const method of ['CreateAccount', 'SuspendAccount', 'ActivateAccount', 'DeleteAccount'])
      assert.deepEqual(await actorsOf(account.uid, method), [cast().berth.owner], method)
  })

  test('accounts are found by names with any letters, in any case', async () => {
    const api = await asAdmin()
    const mark = newName('o').slice(-6)
    const create = async (name: string) => {
      const { body, text } = await api.post('accounts', { email: `${newName('letters')}@example.com`, name })
      assert.ok(body.localAccount?.uid, text)
      return body.localAccount.uid
    }
    const find = async (query: string) =>
      (await api.get(`accounts?query=${encodeURIComponent(query)}`)).body.accounts.map(
        (one: { uid: string }) => one.uid,
      )
    const [odon, zoe, all] = [
      await create(`Ödön Müller ${mark}`),
      await create(`zoë ${mark}`),
      await create(`ÅSA ${mark}`),
    ]
    for (const query of [
      `Ödön Müller ${mark}`,
      `ödön müller ${mark}`,
      `ÖDÖN MÜLLER ${mark}`,
      `üller ${mark}`,
    ])
      assert.deepEqual(await find(query), [odon], query)
    for (const query of [`ZOË ${mark}`, `zoë ${mark}`, `Oë ${mark}`])
      assert.deepEqual(await find(query), [zoe], query)
    for (const query of [`åsa ${mark}`, `Åsa ${mark}`]) assert.deepEqual(await find(query), [all], query)
  })

  test('lists of accounts have pages, by address', async () => {
    const api = await asAdmin()
    const mark = newName('page')
    for (const n of [1, 2, 3]) await createPerson(cast().berth, { email: `${mark}-${n}@example.com` })
    const seen: string[] = []
    for (let token = ''; ; ) {
      const { body } = await api.get(
        `accounts?query=${mark}&kind=ACCOUNT_KIND_PROVIDER&page_size=2&page_token=${token}`,
      )
      seen.push(...body.accounts.map(({ email }: { email: string }) => email))
      token = body.nextPageToken
      if (token === '') break
    }
    assert.deepEqual(
      seen,
      [1, 2, 3].map((n) => `${mark}-${n}@example.com`),
    )
    assertFails(await api.get('accounts?page_size=-1'), 400, 3, /page_size/)
    assertFails(await api.get('accounts?page_token=abc'), 400, 3, /page_token/)
  })

  test('organizations: owners, usage, limits and suspension', async () => {
    const api = await asAdmin()
    const organization = await cast().organization()
    await organization.owner.api.create(`registry/repos/${organization.uid}`, { name: 'nginx' })
    const find = async () => (await api.get(`organizations?query=${organization.name}`)).body.organizations[0]
    const { owners, usage } = await find()
    assert.deepEqual(owners.map(({ uid }: { uid: string }) => uid).includes(organization.owner.uid), true)
    const repos = (all: { kind: string }[]) => all.find(({ kind }) => kind === 'repos')
    assert.deepEqual(repos(usage), { kind: 'repos', used: '1', own: false })
    const limited = await api.post(`organizations/${organization.uid}:setLimits`, {
      limits: [{ kind: 'repos', max: '1' }],
    })
    assert.deepEqual(repos(limited.body.usage), { kind: 'repos', used: '1', max: '1', own: true })
    assertFails(
      await organization.owner.api.post(`registry/repos/${organization.uid}`, { name: 'b' }),
      429,
      8,
    )
    const removed = await api.post(`organizations/${organization.uid}:setLimits`, {
      limits: [{ kind: 'repos' }],
    })
    assert.deepEqual(repos(removed.body.usage), { kind: 'repos', used: '1', own: false })
    const invalid = await api.post(`organizations/${organization.uid}:setLimits`, {
      limits: [
        { kind: 'cats', max: '1' },
        { kind: 'repos', max: '-1' },
        { kind: 'repos', max: '1' },
      ],
    })
    assertFails(invalid, 400, 3, /limits\[0\]\.kind/)
    for (const field of ['limits[0].kind', 'limits[1].max', 'limits[2].kind'])
      assert.ok(invalid.text.includes(field), field)
    assertFails(await api.post(`organizations/${organization.uid}:setLimits`), 400, 3, /limits/)
    assert.equal((await api.post(`organizations/${organization.uid}:suspend`)).body.suspended, true)
    assert.equal((await organization.owner.api.get(`iam/groups/${organization.uid}`)).status, 403)
    assert.equal((await api.get('organizations?suspended=true')).body.organizations.length, 1)
    assert.equal((await api.post(`organizations/${organization.uid}:activate`)).body.suspended, false)
    assertFails(await api.post(`organizations/${'0'.repeat(40)}:suspend`), 404, 5)
    assertFails(await api.post('organizations/x:suspend'), 400, 3, /uid/)
    assert.deepEqual(await actorsOf(organization.uid, 'SuspendOrganization'), [cast().berth.owner])
  })

  test('sessions: list, end one, end all of an identity', async () => {
    const { berth } = cast()
    const api = await asAdmin()
    const identity = await createPerson(berth, { email: `${newName('ada')}@example.com` })
    const ids: string[] = []
    for (const kind of ['browser', 'client', 'client'] as const)
      ids.push((await createSession(berth, { identity }, { kind })).id)
    const list = async () => (await api.get(`sessions?identity_uid=${identity}&page_size=2`)).body
    const first = await list()
    assert.equal(first.sessions.length, 2)
    assert.notEqual(first.nextPageToken, '')
    assert.equal(first.sessions[0].address, '192.0.2.7')
    assert.equal((await api.delete(`sessions/${ids[0]}`)).status, 200)
    assertFails(await api.delete(`sessions/${ids[0]}`), 404, 5)
    assert.equal((await api.post('sessions:endAll', { identityUid: identity })).body.ended, 2)
    assert.equal((await list()).sessions.length, 0)
    assertFails(await api.post('sessions:endAll', { identityUid: 'x' }), 400, 3, /identity_?uid/i)
    assertFails(await api.get('sessions?identity_uid=x'), 400, 3, /identity_?uid/i)
    assert.deepEqual(await actorsOf(identity, 'EndSession'), [berth.owner])
  })

  test('storage: a dry run, a garbage collection and a scrub, with progress and results', async () => {
    const { berth } = cast()
    const api = await asAdmin()
    const status = await api.get('storage')
    assert.equal(status.body.disks[0].name, 'data')
    const finished = async (id: string) => {
      let run = (await api.get(`storage/runs/${id}`)).body
      await eventually(async () => {
        run = (await api.get(`storage/runs/${id}`)).body
        return run.state !== 'STORAGE_RUN_STATE_RUNNING'
      })
      return run
    }
    for (const request of [
      { kind: 'STORAGE_RUN_KIND_GARBAGE_COLLECTION', dryRun: true, grace: '3600s' },
      { kind: 'STORAGE_RUN_KIND_GARBAGE_COLLECTION' },
      { kind: 'STORAGE_RUN_KIND_SCRUB', bytesPerSecondMax: '1000000' },
    ]) {
      const started = await api.post('storage/runs', request)
      assert.equal(started.status, 200, started.text)
      const run = await finished(started.body.id)
      assert.equal(run.state, 'STORAGE_RUN_STATE_SUCCEEDED', JSON.stringify(run))
      assert.equal(run.actor, berth.owner)
      assert.equal(run.dryRun, request.dryRun ?? false)
      assertFails(await api.post(`storage/runs/${run.id}:cancel`), 400, 9, /has ended/)
    }
    const { body } = await api.get('storage/runs?kind=STORAGE_RUN_KIND_GARBAGE_COLLECTION&page_size=1')
    assert.equal(body.runs.length, 1)
    assert.notEqual(body.nextPageToken, '')
    assertFails(await api.post('storage/runs'), 400, 3, /kind/)
    assertFails(await api.get('storage/runs/none'), 404, 5)
    const scrub = { kind: 'STORAGE_RUN_KIND_SCRUB' }
    const collection = { kind: 'STORAGE_RUN_KIND_GARBAGE_COLLECTION' }
    assertFails(await api.post('storage/runs', { ...scrub, dryRun: true }), 400, 3, /dryRun/)
    assertFails(await api.post('storage/runs', { ...scrub, grace: '7200s' }), 400, 3, /grace/)
    assertFails(await api.post('storage/runs', { ...collection, grace: '59s' }), 400, 3, /one hour/)
    assertFails(
      await api.post('storage/runs', { ...scrub, bytesPerSecondMax: '-1' }),
      400,
      3,
      /bytesPerSecondMax/,
    )
    assert.equal((await actorsOf(berth.organization, 'StartStorageRun')).length, 3)
  })

  test('storage: one run of a kind at a time, and a run can be cancelled', async () => {
    const { berth } = cast()
    const api = await asAdmin()
    const { store } = berth.berth.installation
    const { blobs } = berth.berth
    const errors: unknown[] = []
    // A store whose list does not end until the run is cancelled.
    const slow = {
      ...blobs,
      async *listBlobs() {
        for (;;) {
          await new Promise((resolve) => setTimeout(resolve, 20))
          for (let n = 0; n < 2000; n++) yield { location: 'x', size: 1, modifiedMs: Date.now() } as never
        }
      },
    }
    const runner = createStorageRunner({
      store,
      blobs: slow,
      ballast: noBallast,
      onError: (error) => errors.push(error),
    })
    const request = {
      kind: 'collection',
      dryRun: false,
      graceMs: limits.gcGraceMsDefault,
      bytesPerSecond: undefined,
      actor: 'system',
      with: undefined,
    } as const
    const id = await runner.start(request)
    assert.ok(id)
    assert.equal(await runner.start(request), undefined)
    const refused = await api.post('storage/runs', { kind: 'STORAGE_RUN_KIND_GARBAGE_COLLECTION' })
    assertFails(refused, 400, 9, /in progress/)
    const cancelled = await api.post(`storage/runs/${id}:cancel`)
    assert.equal(cancelled.body.cancelRequested, true)
    const hasEnded = (run: string) =>
      eventually(async () => {
        const { body } = await api.get(`storage/runs/${run}`)
        return body.state === 'STORAGE_RUN_STATE_CANCELLED'
      })
    await hasEnded(id)
    const again = await runner.start(request)
    assert.ok(again, 'a run that has ended has released its lease')
    const dryRun = await runner.start({ ...request, dryRun: true })
    assert.ok(dryRun, 'a dry run needs no lease')
    assert.equal(await runner.start({ ...request, dryRun: true }), undefined)
    await api.post(`storage/runs/${dryRun}:cancel`)
    await hasEnded(dryRun)
    assert.ok(await runner.start({ ...request, dryRun: true }), 'the next dry run can start')
    await runner.stop()
    const { body } = await api.get(`storage/runs/${again}`)
    assert.deepEqual([body.state, body.error], ['STORAGE_RUN_STATE_FAILED', 'the server stopped'])
    assert.deepEqual(errors, [])
  })

  test('storage: the rows of old runs are deleted, and not that of a run that continues', async () => {
    const { store } = cast().berth.berth.installation
    const start = () => startRecordedRun(store, { kind: 'scrub', dryRun: false, actor: 'system' }, () => {})
    const longest = await start()
    for (let n = 0; n <= limits.storageRunsMax; n++)
      await (await start()).complete(async () => ({ totals: {} }))
    await (await start()).complete(async () => ({ totals: {} }))
    const rows = await store.db.kysely
      .selectFrom('storage_runs')
      .select('id')
      .where('kind', '=', 'scrub')
      .execute()
    assert.ok(rows.some(({ id }) => id === longest.id))
    assert.ok(rows.length <= limits.storageRunsMax + 2, `${rows.length} rows`)
    await longest.complete(async () => ({ totals: {} }))
  })

  test('job runs: those of all organizations and of the installation, filtered and paged', async () => {
    const { store } = cast().berth.berth.installation
    const { uid: root, owner } = await cast().organization()
    const { uid: repo, name } = await owner.api.create(`registry/repos/${root}`, { name: newName('repo') })
    const now = store.clock()
    const row = (n: number, state: string): JobRunRow => ({
      ...{ root, uid: store.uids.child(repo), parent: repo, kind: 'retention', actor: 'system', runner: '' },
      ...{ state, started_ms: now + n, ended_ms: now + n + 5, counts: '{"tags":2,"manifests":0}', error: '' },
    })
    const rows = [row(1, 'succeeded'), row(2, 'failed'), row(3, 'interrupted')]
    await inTransaction(store.db, (tx) => tx.insertInto('job_runs').values(rows).execute())
    const gc = await startRecordedRun(store, { kind: 'collection', dryRun: true, actor: 'system' }, () => {})
    await gc.complete(async () => ({ totals: { blobs: { count: 3, bytes: 9 } } }))
    const api = await asAdmin()
    const list = async (query: string) => (await api.get(`jobRuns?${query}`)).body
    const mine = await list(`resourceUid=${root}`)
    assert.equal(mine.totalCount, '3')
    assert.deepEqual(
      mine.jobRuns.map((run: { id: string }) => run.id),
      rows.map(({ uid }) => uid).toReversed(),
    )
    const [latest] = mine.jobRuns
    assert.deepEqual(
      [latest.kind, latest.resourceUid, latest.resourceName, latest.state, latest.counts],
      ['retention', repo, name, 'interrupted', [{ name: 'tags', count: '2', bytes: '0' }]],
    )
    assert.notEqual(latest.organizationName, '')
    assert.equal((await list(`resourceUid=${repo}&state=failed`)).totalCount, '1')
    const collections = await list('kind=collection')
    const found = collections.jobRuns.find((run: { id: string }) => run.id === gc.id)
    assert.deepEqual(
      [found.state, found.dryRun, found.resourceUid, found.counts],
      ['succeeded', true, '', [{ name: 'blobs', count: '3', bytes: '9' }]],
    )
    // The clocks of rows differ by milliseconds only: all kinds are in one order.
    const uids: string[] = []
    let pageToken = ''
    do {
      const page = await list(`pageSize=2&pageToken=${encodeURIComponent(pageToken)}`)
      uids.push(...page.jobRuns.map((run: { id: string }) => run.id))
      pageToken = page.nextPageToken
      assert.ok(uids.length <= Number(page.totalCount))
    } while (pageToken !== '')
    assert.equal(new Set(uids).size, uids.length)
    for (const uid of [gc.id, ...rows.map((one) => one.uid)]) assert.ok(uids.includes(uid))
    assertFails(await api.get('jobRuns?kind=mail'), 400, 3, /kind/)
    assertFails(await api.get('jobRuns?state=odd'), 400, 3, /state/)
    assertFails(await api.get('jobRuns?resourceUid=odd'), 400, 3, /resource_uid|resourceUid/)
  })

  test('storage: runs of commands are listed, and one whose process ended has failed', async () => {
    const { berth } = cast()
    const { store } = berth.berth.installation
    await collectRecorded({
      store,
      blobs: berth.berth.blobs,
      ballast: noBallast,
      graceMs: limits.gcGraceMsDefault,
      dryRun: true,
      requireKnownStore: true,
      actor: 'system',
      onError: assert.ifError,
    })
    const lost = '0'.repeat(16)
    const [row] = await store.db.kysely.selectFrom('storage_runs').selectAll().limit(1).execute()
    assert.ok(row)
    await store.db.kysely
      .insertInto('storage_runs')
      .values({ ...row, id: lost, state: 'running', node: 'gone', updated_ms: 1, started_ms: 1, ended_ms: 0 })
      .execute()
    const api = await asAdmin()
    const { body } = await api.get(`storage/runs/${lost}`)
    assert.deepEqual(
      [body.state, body.error, body.nodeName],
      ['STORAGE_RUN_STATE_FAILED', 'its process ended', 'command'],
    )
  })

  test('jobs: every kind, with its last result; emails', async () => {
    const api = await asAdmin()
    const { body } = await api.get('jobs')
    assert.deepEqual(
      body.jobs.map(({ name }: { name: string }) => name),
      [
        ...['advisory-feed', 'backup', 'collection', 'expiry', 'finding-history', 'findings'],
        ...['image-contents', 'image-contents-backlog', 'image-contents-outdated', 'image-contents-sweep'],
        ...['image-signatures', 'mail', 'record-index', 'retention', 'scrub', 'usage'],
      ],
    )
    assert.deepEqual((await api.get('mails?state=failed')).body.mails, [])
    assertFails(await api.get('mails?state=lost'), 400, 3, /state/)
  })

  test('nodes and checks', async () => {
    const api = await asAdmin()
    const { body } = await api.get('nodes')
    assert.equal(body.nodes.length, 1)
    const [node] = body.nodes
    assert.deepEqual([node.online, node.current, node.baseUrl], [true, true, cast().berth.url])
    assert.ok(body.migrations.includes('0016-operator'))
    const checked = await cast().grpc.call(
      OperatorNodesService.method.checkInstallation,
      {},
      { token: api.token },
    )
    assert.ok(checked.results.some(({ name }) => name === 'database'))
    assert.ok(checked.results.length > 5)
  })

  test('a change needs operator.update', async () => {
    const { berth } = cast()
    const { account } = await newAccount(berth)
    const { owner } = await cast().organization()
    const denied = await operatorApi(berth, owner.api.token).delete(`accounts/${account.identity_uid}`)
    assertFails(denied, 403, 7, /operator\.update/)
  })

  test('signing keys: list, rotate, withdraw', async () => {
    const { berth } = cast()
    const api = await asAdmin()
    const states = (body: { signingKeys: { state: string }[] }) => body.signingKeys.map(({ state }) => state)
    assert.deepEqual(states((await api.get('signingKeys')).body), ['SIGNING_KEY_STATE_SIGNING'])
    assert.deepEqual(states((await api.post('signingKeys:rotate')).body), [
      'SIGNING_KEY_STATE_SIGNING',
      'SIGNING_KEY_STATE_NEXT',
    ])
    const withdrawn = await api.post('signingKeys:rotate', { withdraw: true })
    assert.deepEqual(states(withdrawn.body), ['SIGNING_KEY_STATE_SIGNING'])
    assert.equal((await api.get('signingKeys')).status, 401, 'the token was signed by a withdrawn key')
    assert.doesNotMatch(withdrawn.text, /private|"d"/)
    assert.deepEqual(await actorsOf(berth.organization, 'RotateSigningKeys'), [berth.owner, berth.owner])
  })
})
