import { after, before, describe } from 'node:test'
import type { Browser } from 'playwright-core'
import { type Api, apiOf, managedRole, newName } from '../api/api-fixture.ts'
import { startBrowser, withoutBrowser } from '../browser/chromium.ts'
import { databases } from '../database/databases.ts'
import { startTestBerth, type TestBerth, type TestBerthOptions } from '../server/test-berth.ts'
import { createPerson } from '../signin/accounts.ts'
import { type ConsolePage, openConsole } from './console-page.ts'

/** The tests of one file about the console: a server, a browser, and users. */
export interface ConsoleFixture {
  readonly berth: TestBerth
  readonly chromium: Browser
  /** The platform's administrator. */
  readonly admin: Api
  /** A user with a role, a managed one by name or a custom one by uid, in an organization or a folder, in a browser of their own. */
  signIn(role: string, uid: string): Promise<ConsolePage & { readonly identity: string }>
  /** An organization with a name that no other test has. */
  organization(): Promise<{ readonly uid: string; readonly name: string }>
}

/** One database: the pages see the API only, which is tested with every one. */
export function consoleSuite(
  title: string,
  suite: (cast: () => ConsoleFixture) => void,
  options: TestBerthOptions = {},
): void {
  const [database] = databases
  if (database === undefined) throw new Error('no database')
  describe(title, { skip: withoutBrowser }, () => {
    let cast: ConsoleFixture | undefined
    before(async () => {
      const berth = await startTestBerth(database, options)
      const chromium = await startBrowser()
      const admin = apiOf(berth, berth.token)
      cast = {
        berth,
        chromium,
        admin,
        async signIn(role, uid) {
          const identity = await createPerson(berth, { email: `${newName('ada')}@example.com` })
          await admin.create(`iam/roleBindings/${uid}`, {
            identityUid: identity,
            roleUid: role.includes('/') ? role : managedRole(role),
          })
          return { identity, ...(await openConsole(chromium, berth, identity)) }
        },
        organization: () => admin.create('iam/groups', { name: newName('org') }),
      }
    })
    after(async () => {
      await cast?.chromium.close()
      await cast?.berth.stop()
    })
    suite(() => {
      if (cast === undefined) throw new Error('the server has not started')
      return cast
    })
  })
}
