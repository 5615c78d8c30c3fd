import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReposService } from '@berth/contract/gen/chainguard/platform/registry/v2beta1/repos_pb.js'
import { limits } from '@berth/server/config/limits.ts'
import { checkReadme } from '@berth/server/registry/readmes/readme-check.ts'
import {
  type Api,
  assertError,
  invalidFieldError,
  newName,
  notFoundError,
  onEveryDatabase,
  permissionDeniedError,
} from '../support/api/api-fixture.ts'
import { call } from '../support/api/rest.ts'

const TYPE = 'registry.chainguard.dev/Repo'
const content = '# nginx\n\nA *web* server.\n'

onEveryDatabase('READMEs of repos', (cast, { testOnce }) => {
  const makeRepo = async (group: string, body: object = {}): Promise<string> =>
    (await cast().admin.create(`registry/repos/${group}`, { name: newName('repo'), ...body })).uid
  const pathOf = (uid: string) => `registry/repos/${uid}/readme`
  const write = async (uid: string, text: string) => {
    const reply = await cast().admin.patch(pathOf(uid), { content: text })
    assert.equal(reply.status, 200, reply.text)
    return reply
  }
  const shown = async (uid: string, api: Api = cast().admin) => (await api.get(pathOf(uid))).body.content
  const stored = () =>
    cast().berth.berth.installation.store.db.kysely.selectFrom('repo_readmes').select('uid').execute()

  test('a new repo has none, gets one, and is deleted with it', async () => {
    const { owner, uid: root } = await cast().organization()
    const { admin } = cast()
    const uid = await makeRepo(root)
    const path = pathOf(uid)
    assert.deepEqual((await owner.api.get(path)).body, { uid, content: '' })
    assert.deepEqual((await write(uid, content)).body, { uid, content })
    assert.deepEqual((await owner.api.get(path)).body, { uid, content })
    await cast().writesNothing(async () => {
      for (const mask of [undefined, 'content', '*']) {
        assert.deepEqual((await admin.patch(path, { content }, mask)).body, { uid, content })
      }
      assert.deepEqual((await admin.patch(path, {})).body, { uid, content })
      // Whose page it is cannot be changed.
      const moved = await admin.patch(path, { uid: `${root}/0123456789abcdef` }, 'uid')
      assert.deepEqual(moved.body, { uid, content })
      assertError(await admin.patch(path, { content: 'x' }, 'text'), invalidFieldError('updateMask'))
    })
    assert.deepEqual((await write(uid, '')).body, { uid, content: '' })
    assert.deepEqual(await stored(), [])
    await write(uid, content)
    await admin.delete(`registry/repos/${uid}`)
    assert.deepEqual(await stored(), [])
    for (const gone of [uid, `${root}/0123456789abcdef`]) {
      assertError(await owner.api.get(pathOf(gone)), notFoundError(TYPE, gone))
      assertError(await admin.patch(pathOf(gone), { content: '<script>' }), notFoundError(TYPE, gone))
    }
  })

  testOnce(
    'READMEs are checked one by one beside other requests, with a bounded queue (readmesQueuedMax)',
    async () => {
      const { owner, uid: root } = await cast().organization()
      const uid = await makeRepo(root)
      // Takes some ten milliseconds to check, each time.
      const slow = '**a*'.repeat(4000)
      const order: string[] = []
      const sent = limits.readmesQueuedMax * 2
      const replies = Array.from({ length: sent }, async (_, n) => {
        const reply = await cast().admin.patch(pathOf(uid), { content: `${slow} ${n}` })
        order.push('readme')
        return reply
      })
      await owner.api.get(`registry/repos/${uid}`)
      order.push('other')
      const settled = await Promise.all(replies)
      assert.ok(order.indexOf('other') < order.length - 1, 'answered before the last README')
      const refused = settled.filter(({ status }) => status !== 200)
      assert.ok(refused.length > 0 && refused.length < sent, String(refused.length))
      for (const { status, text, headers } of refused) {
        assert.equal(status, 503, text)
        assert.match(text, /readmesQueuedMax/)
        assert.ok(Number(headers.get('retry-after')) > 0)
      }
      await write(uid, content)
    },
  )

  test('the same over gRPC', async () => {
    const { owner, uid: root } = await cast().organization()
    const uid = await makeRepo(root)
    const { grpc, admin } = cast()
    const { getRepoReadme, updateRepoReadme } = ReposService.method
    const { token } = admin
    const updated = await grpc.call(updateRepoReadme, { repoReadme: { uid, content } }, { token })
    assert.deepEqual([updated.uid, updated.content], [uid, content])
    assert.deepEqual(await grpc.call(getRepoReadme, { uid }, { token: owner.api.token }), updated)
    const cleared = await grpc.call(
      updateRepoReadme,
      { repoReadme: { uid }, updateMask: { paths: ['content'] } },
      { token },
    )
    assert.equal(cleared.content, '')
    await assert.rejects(
      grpc.call(updateRepoReadme, { repoReadme: { uid, content: '<script>' } }, { token }),
      { code: 3 },
    )
  })

  test('callers who may read the repo may read it, only the operator writes it', async () => {
    const { owner, member, uid: root } = await cast().organization()
    const stranger = (await cast().organization()).owner
    const uid = await makeRepo(root)
    await write(uid, content)
    const viewer = await member('viewer')
    const unprivileged = await member(
      (
        await owner.api.create(`iam/roles/${root}`, {
          name: 'tags',
          capabilities: ['CAP_TAG_LIST'],
        })
      ).uid,
    )
    for (const api of [owner.api, viewer.api]) assert.equal(await shown(uid, api), content)
    await cast().writesNothing(async () => {
      for (const api of [stranger.api, unprivileged.api])
        assertError(await api.get(pathOf(uid)), permissionDeniedError)
      for (const { api } of [owner, viewer, unprivileged, stranger])
        for (const text of ['mine', content])
          assertError(await api.patch(pathOf(uid), { content: text }), permissionDeniedError)
      for (const bad of ['x', root.slice(1)])
        assertError(await owner.api.get(pathOf(bad)), invalidFieldError('uid'))
    })
  })

  test('a copy shows the README of its source, and cannot have its own', async () => {
    const { owner, uid: root } = await cast().organization()
    const { admin } = cast()
    // A source that the readers of the copy may not read themselves.
    const source = await makeRepo((await cast().organization()).uid)
    const uid = await makeRepo(root, { sync_config: { source } })
    assert.equal(await shown(uid, owner.api), '')
    await write(source, content)
    assert.deepEqual((await owner.api.get(pathOf(uid))).body, { uid, content })
    await cast().writesNothing(async () => {
      for (const text of ['mine', '', '<script>'])
        assertError(await admin.patch(pathOf(uid), { content: text }), invalidFieldError('content'))
      assert.equal((await admin.patch(pathOf(uid), { content })).status, 200)
    })
    await admin.delete(`registry/repos/${source}`)
    assert.equal(await shown(uid, owner.api), '')
    // One that had a page before it became a copy keeps it.
    const own = await makeRepo(root)
    await write(own, 'mine')
    await admin.patch(`registry/repos/${own}`, { sync_config: { source: uid } })
    assert.equal(await shown(own), 'mine')
  })

  test('a README is searched in at most readmeSourcesMax sources, also in a cycle', async () => {
    const { uid: root } = await cast().organization()
    const first = await makeRepo(root)
    await write(first, content)
    const chain = [first]
    while (chain.length <= limits.readmeSourcesMax + 1)
      chain.push(await makeRepo(root, { sync_config: { source: chain.at(-1) ?? '' } }))
    assert.deepEqual([await shown(chain.at(-2) ?? ''), await shown(chain.at(-1) ?? '')], [content, ''])
    const one = await makeRepo(root)
    const two = await makeRepo(root, { sync_config: { source: one } })
    await cast().admin.patch(`registry/repos/${one}`, { sync_config: { source: two } })
    assert.equal(await shown(one), '')
  })

  test('content that would render to unsafe HTML is rejected and not stored, up to readmeBytesMax', async () => {
    const { uid: root } = await cast().organization()
    const { admin } = cast()
    const uid = await makeRepo(root)
    const tooLong = 'é'.repeat(limits.readmeBytesMax / 2 + 1)
    await cast().writesNothing(async () => {
      for (const text of ['<script>alert(1)</script>', '[x](javascript:alert(1))', 'a\u0000b', tooLong])
        assertError(await admin.patch(pathOf(uid), { content: text }), invalidFieldError('content'))
    })
    // Few bytes that would become many (readmeLinkCharsMax).
    const longAddress = `[a]: https://example.com/${'x'.repeat(30_000)}\n\n`
    const longTitle = `[a]: / "${'a line of it\n'.repeat(2000)}"\n\n`
    for (const links of [longAddress, longTitle]) {
      assertError(
        await admin.patch(pathOf(uid), { content: links + '[a]\n'.repeat(5000) }),
        invalidFieldError('content'),
      )
      assert.equal((await write(uid, `${links}[a] and [a]`)).status, 200)
    }
    const longest = 'é'.repeat(limits.readmeBytesMax / 2)
    assert.equal((await write(uid, longest)).body.content, longest)
  })

  test('its etag changes with it, and a write creates an audit record about the repo', async () => {
    const { uid: root } = await cast().organization()
    const uid = await makeRepo(root)
    const tag = (await cast().admin.get(pathOf(uid))).headers.get('etag') ?? ''
    const address = `${cast().berth.url}/registry/v2beta1/repos/${uid}/readme`
    const { token } = cast().admin
    const patch = (text: string, seen: string) =>
      call('PATCH', address, { token, headers: { 'if-match': seen }, body: { content: text } })
    const written = await patch(content, tag)
    assert.equal(written.status, 200, written.text)
    await cast().writesNothing(async () =>
      assertError(await patch('other', tag), { status: 412, code: 9, violation: 'ETAG_MISMATCH' }),
    )
    assert.equal((await patch('other', written.headers.get('etag') ?? '')).status, 200)
    assert.deepEqual(
      (await cast().auditEventsOf(uid)).map(({ method }) => method.split('/')[1]),
      ['CreateRepo', 'UpdateRepoReadme', 'UpdateRepoReadme'],
    )
  })
})

test('usual READMEs are safe', async () => {
  for (const text of [
    '',
    '# Title\n\nText "quoted" & <https://a.example> `a<b>`\n\n```go\nfunc main() {}\n```\n',
    '| a | b | c |\n|:--|--:|:-:|\n| 1 | ~~2~~ | 3 |\n',
    '<!-- BEGIN: <b> -->\n<p align="center"><img src="https://a.example/b.svg" alt="" width="100" height=50></p>\n<!-- END -->',
    'one<br>two &copy; &lt;script&gt; <kbd>Ctrl</kbd>',
    '<details open><summary>More</summary>\n\ntext\n\n</details>',
    '3. three\n4. four\n\n- [ ] task\n\n***\n',
    '[mail](mailto:a@b.example) [file](../docs/x.md) ![image](a.png "title")',
    '<IMG SRC="https://a.example/c.png"> <a href="https://a.example/?a=1&b=2">q</a>',
    'a < b and 1 <2 </3 <- x --> <',
    '    <script>shown as code</script>\n',
    '\u2603 \ufeff',
  ]) {
    assert.equal(await checkReadme(text), undefined, text)
  }
})

test('a README that could run code in a browser, or that hides the rest of its page, is unsafe', async () => {
  for (const text of [
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<img src="https://a.example/b.png" srcset="//b.example/c.png 1x">',
    '![x](data:image/svg+xml,<svg onload=alert(1)>)',
    '<a href="&#106;avascript:alert(1)">x</a>',
    '[x](JaVaScRiPt:alert(1))',
    '[x]: vbscript:x\n\n[x]',
    '<svg><set attributeName=href to=javascript:alert(1)></svg>',
    '<set attributeName=href to=javascript:alert(1)>',
    '<math><mi xlink:href="data:x,y">',
    '<style>a { color: red }</style>',
    '<p style="position: fixed">x</p>',
    '<td style="text-align:left; background: url(//a.example)">x</td>',
    '<div class="login">x</div>',
    '<code class="evil">x</code>',
    '<iframe src="https://a.example"></iframe>',
    '<form><input></form>',
    '<base href="//a.example">',
    '<meta http-equiv=refresh content="0;url=//a.example">',
    '<textarea>',
    '<!DOCTYPE html>',
    // Comments and the like, which browsers and parsers may end at different places.
    '<![CDATA[ > <script>alert(1)</script> ]]>',
    '<?x > <script>alert(1)</script> ?>',
    '<!-- x --!> <script>alert(1)</script> -->',
    '<!--> <script>alert(1)</script> -->',
    '<!---> <script>alert(1)</script> -->',
    '<!-- open',
    '<div>\n</ a="><script>alert(1)</script>',
    '<title><!--</title><img src=x onerror=alert(1)>-->',
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    '<a title="<!--"> <script>alert(1)</script> <a title="-->">',
    '<div onclick=alert(1) ',
    '<div title="open',
  ]) {
    assert.equal((await checkReadme(text))?.field, 'content', text)
  }
})

test('a README has at most readmeTableCellsMax cells in tables, counted before it is parsed', async () => {
  const { readmeBytesMax, readmeTableCellsMax: max } = limits
  const line = (cell: string, columns: number) => `${cell.repeat(columns)}\n`
  const table = (columns: number, rows: number, before = '', end = '\n') =>
    [line('|a', columns), line('|-', columns), line('|x', 1).repeat(rows)]
      .join('')
      .replace(/^/gm, before)
      .replaceAll('\n', end)
  assert.equal(await checkReadme(table(100, max / 100 - 5)), undefined)
  assert.equal(await checkReadme(`${table(100, 40)}\n${'a line of text\n'.repeat(1000)}`), undefined)
  await checkReadme('x')
  for (const text of [
    table(200, (readmeBytesMax - 1000) / 3),
    table(200, max / 200),
    table(200, max / 200, '> '),
    table(200, max / 200, '> > '),
    `- b\n\n${table(200, max / 200, '  ')}`,
    table(200, max / 200, '', '\r'),
    table(200, max / 200, '', '\r\n'),
    `${table(100, max / 200)}\n`.repeat(3),
  ]) {
    const start = process.cpuUsage()
    assert.match((await checkReadme(text))?.description ?? '', /cells in tables/)
    assert.ok(process.cpuUsage(start).user < 100_000)
  }
})
