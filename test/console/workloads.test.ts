import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { parse } from 'yaml'
import { managedRole, newName } from '../support/api/api-fixture.ts'
import { commandLine } from '../support/cli/command-line.ts'
import { chooseInCombobox } from '../support/console/combobox.ts'
import { consoleSuite } from '../support/console/console-suite.ts'
import { assertFocused } from '../support/console/keyboard.ts'
import { eventually } from '../support/eventually.ts'
import { hostOf } from '../support/registry/registry.ts'
import { temporaryDirectory } from '../support/server/process.ts'
import { SUBJECT, startIssuer } from '../support/tokens/issuer.ts'

/** What users do for workloads in the console: identities, their wizard, tests of tokens, pull tokens. */

const jwk = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
const keySet = (...kids: string[]) =>
  JSON.stringify({ keys: kids.map((kid) => ({ ...jwk(), kid, alg: 'ES256', use: 'sig' })) })

const uidIn = (page: Page) =>
  decodeURIComponent(new URL(page.url()).pathname).replace('/console/identities/', '')

consoleSuite('workloads in the console', (cast) => {
  test('the wizard creates an identity for GitHub with its role and ends with the workflow of the command line', async (t) => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/folders/${organization.uid}?tab=identities`, organization.name)
    await page.getByText('There are no identities yet').waitFor()
    await page.getByRole('button', { name: 'Create an identity' }).click()
    await page.getByRole('heading', { level: 1, name: 'Create an identity' }).waitFor()
    await page.getByRole('radio', { name: /GitHub Actions/ }).check({ force: true })
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('textbox', { name: 'Repository' }).fill('acme')
    await page.getByRole('textbox', { name: /^Ref/ }).fill('main')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('must be OWNER/REPO').waitFor()
    await page.getByText('must be a full ref such as refs/heads/main').waitFor()
    await page.getByRole('textbox', { name: 'Repository' }).fill('acme/app')
    await page.getByRole('textbox', { name: /^Ref/ }).fill('refs/heads/main')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByText('GitHub, acme/app, branch main').waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), 'app')

    // Back, forward and a reload keep what was typed.
    await page.goBack()
    assert.equal(await page.getByRole('textbox', { name: 'Repository' }).inputValue(), 'acme/app')
    await page.goForward()
    await page.getByText('GitHub, acme/app, branch main').waitFor()
    await page.getByRole('textbox', { name: 'Name' }).fill('app-ci')
    await page.waitForURL(/name=app-ci/)

    const create = page.getByRole('button', { name: 'Create the identity' })
    const command = await page.getByText(/^berth iam identities create github app-ci/).textContent()
    assert.equal(
      command,
      `berth iam identities create github app-ci --github-repo acme/app --github-ref refs/heads/main --parent ${organization.name} --role registry.push`,
    )
    await create.click()
    await page.getByRole('heading', { level: 1, name: 'app-ci' }).waitFor()
    await page.getByText('The identity is created').waitFor()
    const uid = uidIn(page)
    const shown = await page.locator('pre').textContent()
    const cli = commandLine(t, cast().berth.url, { BERTH_TOKEN: cast().berth.token })
    assert.equal(shown, await cli.ok(['iam', 'identities', 'describe', uid, '--snippet', 'github']))
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download the workflow' }).click()
    const file = await download
    assert.equal(file.suggestedFilename(), 'publish.yaml')
    assert.equal(readFileSync(await file.path(), 'utf8'), shown)

    // The command of the wizard creates the same.
    const again = JSON.parse(await cli.ok([...(command ?? '').split(' ').slice(1), '-o', 'json']))
    const { body } = await cast().admin.get(`iam/identities/${uid}`)
    assert.deepEqual(again.claimMatch, body.claimMatch)
    const bindings = (await cast().admin.get('iam/roleBindings', { identity: uid })).body.roleBindings
    assert.deepEqual(
      bindings.map(({ roleUid }: { roleUid: string }) => roleUid),
      [managedRole('registry.push')],
    )
    await page.getByRole('link', { name: 'test it' }).click()
    await page.getByRole('textbox', { name: 'Token' }).waitFor()
    await page.getByRole('link', { name: organization.name }).first().click()
    await page.getByRole('tab', { name: 'Identities' }).click()
    const row = page.getByRole('row', { name: /^app-ci/ }).first()
    await row.getByText('GitHub, acme/app, branch main').waitFor()
    await row.getByText('registry.push').waitFor()
    assert.deepEqual(problems, [])
  })

  test('Enter while the proposed role is loading creates the identity with the role as soon as it has loaded', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    const roles = Promise.withResolvers<void>()
    await page.route(/\/iam\/v2beta1\/roles/, async (route) => {
      await roles.promise
      await route.continue()
    })
    const typed = 'platform=github&f-repo=acme/app&f-ref=refs/heads/main&name=early'
    await open(`/create-identity/${organization.uid}?step=role&${typed}`, 'Create an identity')
    await page.getByText('GitHub, acme/app, branch main').waitFor()
    assert.equal(await page.getByText(/^berth iam identities create/).count(), 0)
    await page.getByRole('textbox', { name: 'Name' }).press('Enter')
    await page.getByRole('button', { name: 'Working…' }).waitFor()
    const { body } = await cast().admin.get('iam/identities', { 'uidp.descendants_of': organization.uid })
    assert.deepEqual(body.identities, [])
    roles.resolve()
    await page.getByRole('heading', { level: 1, name: 'early' }).waitFor()
    const bindings = (await cast().admin.get('iam/roleBindings', { identity: uidIn(page) })).body.roleBindings
    assert.deepEqual(
      bindings.map(({ roleUid }: { roleUid: string }) => roleUid),
      [managedRole('registry.push')],
    )
    assert.deepEqual(problems, [])
  })

  test('each platform has its rule, and an identity is created from the address with what it names', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    const aws = { 'f-account': '123456789012', 'f-name': 'build', 'f-id': 'AROAX' }
    const cases: readonly (readonly [platform: string, fields: Record<string, string>, rule: object])[] = [
      [
        'gitlab',
        { 'f-project': 'acme/my.app', 'f-refType': 'tag' },
        {
          claimMatch: {
            issuer: 'https://gitlab.com',
            subjectPattern: 'project_path:acme/my\\.app:ref_type:tag:ref:.+',
          },
        },
      ],
      [
        'buildkite',
        { 'f-pipeline': 'acme/app', 'f-branch': 'main' },
        {
          claimMatch: {
            issuer: 'https://agent.buildkite.com',
            subjectPattern: 'organization:acme:pipeline:app:ref:refs/heads/main:commit:[0-9a-f]+:step:.*',
          },
        },
      ],
      [
        'kubernetes',
        { 'f-serviceAccount': 'prod/web', 'f-clusterIssuer': 'https://oidc.example.com/c' },
        { claimMatch: { issuer: 'https://oidc.example.com/c', subject: 'system:serviceaccount:prod:web' } },
      ],
      [
        'aws-role',
        aws,
        {
          awsIdentity: {
            awsAccount: '123456789012',
            arnPattern: 'arn:aws:sts::123456789012:assumed-role/build/(.+)',
            userIdPattern: 'AROAX:(.+)',
          },
        },
      ],
      [
        'aws-user',
        { ...aws, 'f-partition': 'aws-cn' },
        {
          awsIdentity: {
            awsAccount: '123456789012',
            arn: 'arn:aws-cn:iam::123456789012:user/build',
            userId: 'AROAX',
          },
        },
      ],
      [
        'oidc',
        {
          'f-issuer': 'https://issuer.example',
          'f-subject': 'robot-.+',
          'f-subjectIs': 'pattern',
          'f-claims': 'ref: main\nenv: prod',
        },
        {
          claimMatch: {
            issuer: 'https://issuer.example',
            subjectPattern: 'robot-.+',
            claims: { ref: 'main', env: 'prod' },
          },
        },
      ],
    ]
    for (const [platform, fields, rule] of cases) {
      const query = new URLSearchParams({ step: 'role', platform, name: platform, role: 'none', ...fields })
      await open(`/create-identity/${organization.uid}?${query}`, 'Create an identity')
      await page.getByRole('button', { name: 'Create the identity' }).click()
      await page.getByRole('heading', { level: 1, name: platform }).waitFor()
      const { body } = await cast().admin.get(`iam/identities/${uidIn(page)}`)
      for (const [kind, value] of Object.entries(rule))
        for (const [field, expected] of Object.entries(value as object))
          assert.deepEqual(body[kind][field], expected, `${platform} ${field}`)
    }
    assert.deepEqual(problems, [])
  })

  test('what the server rejects is shown, and a role that cannot be granted leaves no identity', async () => {
    const organization = await cast().organization()
    const role = await cast().admin.create(`iam/roles/${organization.uid}`, {
      name: newName('maker'),
      capabilities: [
        ...[
          'CAP_IAM_GROUPS_LIST',
          'CAP_IAM_IDENTITY_LIST',
          'CAP_IAM_IDENTITY_CREATE',
          'CAP_IAM_IDENTITY_DELETE',
        ],
        ...['CAP_IAM_ROLE_BINDINGS_LIST', 'CAP_IAM_ROLE_BINDINGS_CREATE', 'CAP_IAM_ROLES_LIST'],
      ],
    })
    const { page, problems, open } = await cast().signIn(role.uid, organization.uid)
    const query = 'step=role&platform=kubernetes&f-serviceAccount=prod%2Fweb&name=web'
    await open(
      `/create-identity/${organization.uid}?${query}&role=${managedRole('owner')}&f-clusterIssuer=https%3A%2F%2Foidc.example.com`,
      'Create an identity',
    )
    await page.getByRole('button', { name: 'Create the identity' }).click()
    await page.getByRole('alert').getByText('To grant the role owner').first().waitFor()
    const { body } = await cast().admin.get('iam/identities', { 'uidp.children_of': organization.uid })
    assert.deepEqual(body.identities, [])
    await open(
      `/create-identity/${organization.uid}?${query}&role=none&f-clusterIssuer=ftp%3A%2F%2Foidc.example.com`,
      'Create an identity',
    )
    await page.getByRole('button', { name: 'Create the identity' }).click()
    await page.getByRole('alert').getByText('Issuer: must start with https://').waitFor()
    assert.deepEqual(problems, [])
  })

  test('the wizard needs no mouse', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/create-identity/${organization.uid}`, 'Create an identity')
    await page.getByRole('radio', { name: /GitHub Actions/ }).focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('textbox', { name: 'Project path' }).waitFor()
    // A step that has been rendered takes the focus a moment later.
    await assertFocused(page, 'heading', 'Workload')
    await page.keyboard.press('Tab')
    assert.equal(
      await page.getByRole('textbox', { name: 'Project path' }).evaluate('document.activeElement.id'),
      await page.getByRole('textbox', { name: 'Project path' }).getAttribute('id'),
    )
    await page.keyboard.type('acme/app')
    await page.keyboard.press('Enter')
    await page.getByText('GitLab, acme/app, any branch').waitFor()
    await assertFocused(page, 'heading', 'Name and role')
    await page.getByRole('textbox', { name: 'Name' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('.gitlab-ci.yml').first().waitFor()
    assert.deepEqual(problems, [])
  })

  test('a token is tested condition by condition, and is kept nowhere', async (t) => {
    const organization = await cast().organization()
    const issuer = await startIssuer({ after: (work) => t.after(work) })
    const { uid } = await cast().admin.create(`iam/identities/${organization.uid}`, {
      name: 'ci',
      claimMatch: { issuer: issuer.name, subject: SUBJECT },
    })
    const good = await issuer.sign({ sub: SUBJECT, aud: cast().berth.url })
    const other = await issuer.sign({ sub: 'someone-else', aud: cast().berth.url })
    const { page, problems, open } = await cast().signIn('viewer', organization.uid)
    const sent: string[] = []
    page.on('request', (request) => {
      sent.push(`${request.method()} ${request.url()}`)
      if (`${request.url()} ${JSON.stringify(request.headers())}`.includes(good))
        sent.push('token outside of a body')
    })
    await open(`/identities/${uid}?tab=explain`, 'ci')
    await page.getByRole('textbox', { name: 'Token' }).fill(other)
    await page.getByRole('button', { name: 'Test the token' }).click()
    await page.getByText('The token is not accepted').waitFor()
    const subject = page.getByRole('row', { name: /^Subject/ })
    await subject.getByText('Not met').waitFor()
    await subject.getByText(SUBJECT, { exact: true }).waitFor()
    await subject.getByText('someone-else').waitFor()

    const file = join(temporaryDirectory(t), 'token.jwt')
    writeFileSync(file, `${good}\n`)
    const chooser = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Choose a file' }).click()
    await (await chooser).setFiles(file)
    await eventually(async () => (await page.getByRole('textbox', { name: 'Token' }).inputValue()) === good)
    await page.getByRole('button', { name: 'Test the token' }).click()
    await page.getByText('The token is accepted').waitFor()
    assert.equal(await page.getByText('Not met').count(), 0)
    await page.getByRole('button', { name: /Audience to request/ }).click()
    await page.getByRole('option', { name: /The registry/ }).click()
    await page.getByRole('button', { name: 'Test the token' }).click()
    await page.getByText('The token is accepted').waitFor()

    assert.ok(!page.url().includes(good))
    assert.ok(!sent.includes('token outside of a body'))
    await page.getByRole('tab', { name: 'Trust' }).click()
    await page.getByText('A workload can assume this identity').waitFor()
    const stored = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, document.cookie, document.documentElement.outerHTML])',
    )
    assert.ok(!stored.includes(good))
    await page.getByRole('tab', { name: 'Test a token' }).click()
    assert.equal(await page.getByRole('textbox', { name: 'Token' }).inputValue(), '')
    await page.getByRole('textbox', { name: 'Token' }).fill(good)
    await page.getByRole('button', { name: 'Clear' }).click()
    assert.equal(await page.getByRole('textbox', { name: 'Token' }).inputValue(), '')
    assert.deepEqual(problems, [])
  })

  test('an identity is renamed, its rule changes without overwriting another change, and it is deleted with its roles', async () => {
    const organization = await cast().organization()
    const { admin } = cast()
    const { uid } = await admin.create(`iam/identities/${organization.uid}`, {
      name: 'ci',
      claimMatch: { issuer: 'https://issuer.example', subject: 'robot', audience: 'https://a.example' },
    })
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(`/identities/${uid}`, 'ci')
    const main = page.getByRole('main')
    assert.equal(
      await main.getByRole('link', { name: 'Audit log', exact: true }).getAttribute('href'),
      `/console/audit?resource=${encodeURIComponent(uid)}&range=all`,
    )
    await main.getByRole('link', { name: 'Access', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: `Access to ${organization.name}` }).waitFor()
    const person = page.getByRole('combobox', { name: 'Person or workload' })
    await person.and(page.locator('[value="ci"]')).waitFor()
    await open(`/identities/${uid}`, 'ci')
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('robot')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'robot' }).waitFor()

    await page.getByRole('button', { name: 'Change the rule' }).click()
    await page.getByRole('textbox', { name: 'Subject' }).fill('robot-[0-9]+')
    await page.getByRole('button', { name: /Compare subject/ }).click()
    await page.getByRole('option', { name: 'As pattern' }).click()
    await page.getByRole('textbox', { name: /^Audience/ }).fill('')
    await page.getByRole('textbox', { name: /^Other claims/ }).fill('ref: main')
    await admin.patch(`iam/identities/${uid}`, { description: 'Theirs' })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Someone else changed this in the meantime').waitFor()
    await page.getByRole('button', { name: 'Load the current version' }).click()
    await page.getByRole('textbox', { name: 'Subject' }).and(page.locator('[value="robot"]')).waitFor()
    await page.getByRole('textbox', { name: 'Subject' }).fill('robot-[0-9]+')
    await page.getByRole('button', { name: /Compare subject/ }).click()
    await page.getByRole('option', { name: 'As pattern' }).click()
    await page.getByRole('textbox', { name: /^Audience/ }).fill('')
    await page.getByRole('textbox', { name: /^Other claims/ }).fill('ref: main')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('matches the pattern').waitFor()
    const { body } = await admin.get(`iam/identities/${uid}`)
    assert.deepEqual(body.claimMatch, {
      issuer: 'https://issuer.example',
      subjectPattern: 'robot-[0-9]+',
      claims: { ref: 'main' },
      claimPatterns: {},
    })
    assert.equal(body.description, 'Theirs')

    await page.getByRole('tab', { name: 'Roles' }).click()
    await page.getByText('This identity has no roles').waitFor()
    await page.getByRole('button', { name: 'Grant a role' }).click()
    await chooseInCombobox(page, 'Role', 'registry.pull', /^registry\.pull /)
    await page.getByRole('button', { name: 'Grant the role' }).click()
    await page.getByRole('grid', { name: 'Roles' }).getByRole('link', { name: 'registry.pull' }).waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText(`Its roles are revoked first: registry.pull in ${organization.name}.`).waitFor()
    await page.getByRole('textbox', { name: 'Type robot to confirm' }).fill('robot')
    await page.getByRole('button', { name: 'Delete the identity' }).click()
    await page.getByText('There are no identities yet').waitFor()
    assert.equal((await admin.get(`iam/identities/${uid}`)).status, 404)
    assert.deepEqual(problems, [])
  })

  test('static keys are added and replaced, and private keys are rejected', async () => {
    const organization = await cast().organization()
    const { admin } = cast()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    await open(
      `/create-identity/${organization.uid}?step=details&platform=static&f-issuer=https%3A%2F%2Frobots.example&f-subject=r1&name=robot&role=none`,
      'Create an identity',
    )
    await page.getByRole('textbox', { name: 'Public keys' }).fill(keySet('k1'))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Create the identity' }).click()
    await page.getByRole('heading', { level: 1, name: 'robot' }).waitFor()
    const uid = uidIn(page)
    const kids = async () => {
      const { body } = await admin.get(`iam/identities/${uid}`)
      return JSON.parse(body.staticKeys.issuerKeys).keys.map(({ kid }: { kid: string }) => kid)
    }
    await page.getByRole('tab', { name: 'Trust' }).click()
    await page.getByText('EC P-256 ES256').waitFor()
    await page.getByRole('button', { name: 'Add or replace keys' }).click()
    const text = page.getByRole('textbox', { name: 'Public keys' })
    await text.fill(JSON.stringify({ keys: [{ ...jwk(), d: 'AAAA' }] }))
    await page.getByRole('button', { name: 'Add the keys' }).click()
    await page.getByText('must contain public keys only').waitFor()
    await text.fill(keySet('k2'))
    await page.getByRole('button', { name: 'Add the keys' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.deepEqual(await kids(), ['k1', 'k2'])
    await page.getByRole('button', { name: 'Add or replace keys' }).click()
    await page.getByRole('checkbox', { name: /Keep the 2 existing keys/ }).uncheck({ force: true })
    await text.fill(keySet('k3'))
    await page.getByRole('button', { name: 'Replace the keys' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    assert.deepEqual(await kids(), ['k3'])
    assert.deepEqual(problems, [])
  })

  test('identities are filtered by kind and name and sorted, in a constant number of requests', async () => {
    const organization = await cast().organization()
    const { admin } = cast()
    const names = Array.from({ length: 60 }, (_, at) => `ci-${String(at).padStart(2, '0')}`)
    for (const name of names) {
      const { uid } = await admin.create(`iam/identities/${organization.uid}`, {
        name,
        claimMatch: { issuer: 'https://issuer.example', subject: name },
      })
      await admin.create(`iam/roleBindings/${organization.uid}`, {
        identityUid: uid,
        roleUid: managedRole('registry.pull'),
      })
    }
    await admin.create(`iam/identities/${organization.uid}`, {
      name: 'robot',
      staticKeys: { issuer: 'https://robots.example', subject: 'r', issuerKeys: keySet('k') },
    })
    const { page, problems, open } = await cast().signIn('viewer', organization.uid)
    const reads: string[] = []
    page.on('request', (request) => {
      const { pathname } = new URL(request.url())
      if (/identities|roleBindings/.test(pathname) && request.resourceType() === 'fetch') reads.push(pathname)
    })
    await open(`/folders/${organization.uid}?tab=identities`, organization.name)
    await page.getByText('50 of 61').waitFor()
    assert.deepEqual(reads.sort(), ['/iam/v2beta1/identities', '/iam/v2beta1/roleBindings'])
    const grid = page.getByRole('grid', { name: 'Identities' })
    assert.equal(await grid.getByText('registry.pull').count(), 50)
    await page.getByRole('button', { name: 'Load more' }).click()
    await page.getByText('61 of 61').waitFor()
    await page.getByRole('searchbox', { name: 'Name' }).fill('ci-1')
    await page.getByText('10 of 10').waitFor()
    await page.getByRole('columnheader', { name: /Name/ }).click()
    await page.waitForURL(/order=name\+desc/)
    await grid.getByRole('row').nth(1).getByRole('link', { name: 'ci-19' }).waitFor()
    await page.getByRole('button', { name: 'Remove the filter Name starts with ci-1' }).click()
    await page.getByRole('button', { name: /Kind/ }).click()
    await page.getByRole('option', { name: 'Static keys and pull tokens' }).click()
    await page.getByText('1 of 1').waitFor()
    await page.getByText(/list --no-recursive --parent \S+ --type static$/).waitFor()
    assert.deepEqual(problems, [])
  })

  test('a pull token is shown once, signs in, is a Kubernetes secret, and is revoked', async () => {
    const organization = await cast().organization()
    const { page, problems, open } = await cast().signIn('owner', organization.uid)
    const host = hostOf(cast().berth)
    await open(`/folders/${organization.uid}?tab=pull-tokens`, organization.name)
    await page.getByText('There are no pull tokens yet').waitFor()
    await page.getByRole('button', { name: 'Create a pull token' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('edge cluster')
    await page.getByRole('button', { name: /Expires after/ }).click()
    await page.getByRole('option', { name: '7 days' }).click()
    await page
      .getByText(
        `berth auth pull-token create --name 'edge cluster' --parent ${organization.name} --repository oci --ttl 168h`,
      )
      .waitFor()
    await page.getByRole('button', { name: 'Create the pull token' }).click()
    const shown = page.getByRole('region', { name: 'The new pull token edge cluster' })
    const login = (await shown.getByText(/^docker login/).textContent()) ?? ''
    const password = (await shown.getByText(/^eyJ/).textContent()) ?? ''
    const [, user = ''] = /--username (\S+) --password-stdin$/.exec(login) ?? []
    assert.ok(!login.includes(password) && login.startsWith(`docker login ${host} `))
    const scope = encodeURIComponent(`repository:${organization.uid}/app:pull`)
    const signIn = async (name: string, secret: string) => {
      const authorization = `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`
      return (
        await fetch(`${cast().berth.url}/token?service=${host}&scope=${scope}`, {
          headers: { authorization },
        })
      ).status
    }
    assert.equal(await signIn(user, password), 200)
    const secret = parse((await shown.locator('pre').textContent()) ?? '')
    assert.deepEqual(
      [secret.kind, secret.type, secret.metadata.name],
      ['Secret', 'kubernetes.io/dockerconfigjson', 'edge-cluster'],
    )
    const config = JSON.parse(Buffer.from(secret.data['.dockerconfigjson'], 'base64').toString())
    const [name = '', token = ''] = Buffer.from(config.auths[host].auth, 'base64').toString().split(':')
    assert.equal(await signIn(name, token), 200)
    const row = page.getByRole('row', { name: /^edge cluster/ })
    const team = await cast().admin.create(`iam/groups/${organization.uid}`, { name: 'team' })
    const staticKeys = {
      issuer: 'https://pulltoken.issuer.berth',
      subject: 'pull-token-1',
      issuerKeys: keySet('k'),
      expirationTime: new Date(Date.now() + 86_400_000).toISOString(),
    }
    await cast().admin.create(`iam/identities/${team.uid}`, { name: 'kiosk', staticKeys })
    await row.getByText('registry.pull').waitFor()
    await row.getByText('Expires soon').waitFor()

    await page.reload()
    await row.getByText('In use').waitFor()
    await page.getByText('In folders below, these expire soon: kiosk.').waitFor()
    assert.equal(await page.getByText(password).count(), 0)
    await page.getByRole('button', { name: 'Revoke the pull token edge cluster' }).click()
    await page.getByRole('button', { name: 'Revoke the pull token', exact: true }).click()
    await page.getByText('There are no pull tokens yet').waitFor()
    assert.notEqual(await signIn(user, password), 200)
    assert.deepEqual(problems, [])
  })
})
