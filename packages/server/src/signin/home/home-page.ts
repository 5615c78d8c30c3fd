import { html } from 'hono/html'
import { type Html, notice, page } from '../pages/layout.ts'
import type { Browser } from '../sessions/browser.ts'
import type { Action, UserGroup } from './user-groups.ts'

/** First steps of a signed-in user, also without JavaScript: what to do next, with the names and addresses to do it. */

export interface HomePage {
  readonly browser: Browser
  readonly name: string
  /** '' if unknown. */
  readonly email: string
  readonly groups: readonly UserGroup[]
  readonly apiUrl: string
  readonly registryHost: string
  readonly noticeText: string | undefined
}

/** The address that the command line uses without a setting. */
const DEFAULT_API = 'http://127.0.0.1:8080'

export function homePage(options: HomePage): Html {
  const { browser, name, email, groups, noticeText } = options
  return page(
    { title: 'First steps', browser, wide: true },
    html`<h1>Welcome, ${name}</h1>
${notice(noticeText)}${email === '' ? '' : html`<p class="muted">Signed in as ${email}.</p>`}
${groups.length === 0 ? noAccess() : groupList(groups)}
${commandLine(options)}${images(options)}${administration(groups)}
<section aria-labelledby="more">
<h2 id="more">More</h2>
<ul class="links">
<li><a href="/console">Console</a>: folders, repositories and people in the browser</li>
<li><a href="/account">Your account</a>: name, password, passkeys and active sessions</li>
<li><a href="/invite">Accept an invite</a></li>
<li><a href="/device">Connect a device</a> that shows a code</li>
<li><a href="/docs">API reference</a> and <a href="/openapi.json">openapi.json</a></li>
</ul>
</section>`,
  )
}

function noAccess(): Html {
  return html`<p>You have no role in an organization yet. Ask an owner of the organization for an invite, then <a href="/invite">accept it</a>.</p>`
}

function groupList(groups: readonly UserGroup[]): Html {
  const paths = groups.map(({ path }, at) => html`${at === 0 ? '' : ', '}<strong>${path}</strong>`)
  return html`<p>You have access to ${paths}.</p>`
}

function commandLine({ apiUrl }: HomePage): Html {
  return step(
    'command-line',
    'Use the command line',
    html`<p>Install the command line <code>berth</code>, or run it as <code>npx berth</code> in a clone.</p>
${commands(apiUrl === DEFAULT_API ? undefined : `berth config set api ${apiUrl}`, 'berth auth login')}`,
  )
}

function images({ groups, registryHost }: HomePage): Html {
  const target = groups.find((group) => group.actions.has('push') && group.imagePath !== undefined)
  const source = groups.find(({ imagePath }) => imagePath !== undefined)
  const login = html`<p>Let Docker use this sign-in, or sign it in with a token that is valid for one hour:</p>
${commands('berth auth configure-docker')}${commands(`berth auth token --audience ${registryHost} |`, `  docker login ${registryHost} --username _token --password-stdin`)}`
  if (target !== undefined) {
    const image = `${registryHost}/${target.imagePath}/hello:1.0`
    return step(
      'images',
      'Push an image',
      html`${login}<p>Then push any image. The repo is created with the first push:</p>
${commands('docker pull hello-world', `docker tag hello-world ${image}`, `docker push ${image}`)}`,
    )
  }
  if (source === undefined) return html``
  return step(
    'images',
    'Pull an image',
    html`${login}<p>Then list the images, and pull one:</p>
${commands('berth images list', `docker pull ${registryHost}/${source.imagePath}/NAME:TAG`)}`,
  )
}

/** Commands that the user's roles permit. */
function administration(groups: readonly UserGroup[]): Html {
  const first = (action: Action) => groups.find((group) => group.actions.has(action))?.path
  const [folder, invite, workload] = [first('createFolder'), first('invite'), first('connectWorkload')]
  return html`${
    folder === undefined
      ? ''
      : step(
          'folders',
          'Create a folder',
          html`<p>Folders group images, people and permissions:</p>
${commands(`berth iam folders create team --parent ${quote(folder)}`)}`,
        )
  }${
    invite === undefined
      ? ''
      : step(
          'invites',
          'Invite a colleague',
          html`<p>Create an invite, and send its link to your colleague:</p>
${commands(`berth iam invites create ${quote(invite)} --role viewer --single-use`)}`,
        )
  }${
    workload === undefined
      ? ''
      : step(
          'workloads',
          'Connect CI',
          html`<p>A CI job signs in with the token of its platform, without a stored secret. For GitHub Actions:</p>
${commands(
  'berth iam identities create github ci \\',
  '  --github-repo OWNER/REPO --github-ref refs/heads/main \\',
  `  --parent ${quote(workload)} --role registry.push`,
)}`,
        )
  }`
}

function step(id: string, heading: string, body: Html): Html {
  return html`<section aria-labelledby="${id}">
<h2 id="${id}">${heading}</h2>
${body}
</section>
`
}

function commands(...lines: readonly (string | undefined)[]): Html {
  return html`<pre><code>${lines.filter((line) => line !== undefined).join('\n')}</code></pre>
`
}

/** Names of groups can contain spaces, but no characters that are special in double quotes. */
function quote(path: string): string {
  return /\s/.test(path) ? `"${path}"` : path
}

/** The page for the owner of the server while there is no account. */
export function setupRequiredPage(): Html {
  return page(
    { title: 'Set up this server' },
    html`<h1>Set up this server</h1>
<p>This server has no account yet. The operator creates the first one, the owner account, with a link.</p>
<p>The server printed the link when it started: see its terminal or log. The link is valid for 24 hours. To get a new one, run this command on the server:</p>
${commands('berth admin setup-link')}
<p class="muted">If you already have an account at an identity provider of this server, <a href="/sign-in">sign in</a>.</p>`,
  )
}
