import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ApiError } from '@berth/server/api/errors.ts'
import { limits } from '@berth/server/config/limits.ts'
import {
  byAccount,
  byAddress,
  type GuessKey,
  limitGuesses,
} from '@berth/server/signin/rate-limits/guesses.ts'
import { newName } from './support/api/api-fixture.ts'
import { databases } from './support/database/databases.ts'
import { startTestBerth, type TestBerth } from './support/server/test-berth.ts'
import { localAccount, newLocalAccount, PASSWORD, setPassword } from './support/signin/local-accounts.ts'
import { webBrowser } from './support/signin/web-browser.ts'

const {
  guessesPerAddressMax,
  guessesPerAccountAndAddressMax,
  guessesPerAccountMax,
  guessWindowMs,
  guessAccountWindowMs,
} = limits

for (const database of databases) {
  describe(`failed attempts (${database.name})`, () => {
    let berth: TestBerth
    let hosts = 0
    before(async () => {
      berth = await startTestBerth(database, { env: { BERTH_TRUSTED_PROXIES: '127.0.0.0/8' } })
    })
    after(() => berth.stop())

    const newAddress = () => `2001:db8:${(++hosts).toString(16)}::1`
    const from = (address: string) => webBrowser(berth.url, { headers: { 'x-forwarded-for': address } })
    /** Milliseconds to wait; 0: the guess was looked at. */
    const tryOnce = async (keys: readonly GuessKey[], right = false): Promise<number> => {
      try {
        await limitGuesses(berth.berth.installation.store, keys, async () => (right ? 'found' : undefined))
        return 0
      } catch (error) {
        assert.ok(error instanceof ApiError)
        const [detail] = error.details
        return detail?.kind === 'RetryInfo' ? detail.retryDelayMs : -1
      }
    }
    const tryOften = async (times: number, keys: () => readonly GuessKey[]) => {
      const waits: number[] = []
      for (let at = 0; at < times; at++) waits.push(await tryOnce(keys()))
      return waits
    }

    test('guessesPerAccountAndAddressMax wrong passwords, then a page with the time to wait, until guessWindowMs ends', async () => {
      const email = `${newName('ada')}@example.com`
      await localAccount(berth, email)
      const address = newAddress()
      for (let at = 0; at < guessesPerAccountAndAddressMax; at++)
        assert.equal((await setPassword(from(address), email, 'wrong wrong wrong')).status, 401)
      const waiting = await setPassword(from(address), email)
      assert.equal(waiting.status, 429, 'the right password is not looked at')
      const seconds = Number(waiting.headers.get('retry-after'))
      assert.ok(seconds > 800 && seconds <= guessWindowMs / 1000, String(seconds))
      assert.match(waiting.text, /Too many failed attempts. Try again in 15 minutes/)
      assert.equal((await setPassword(from(newAddress()), email)).path, '/', 'from elsewhere')
      berth.advance(guessWindowMs)
      assert.equal((await setPassword(from(address), email)).path, '/')
    })

    test('an address without an account is counted like one with', async () => {
      const address = newAddress()
      for (let at = 0; at < guessesPerAccountAndAddressMax; at++)
        assert.equal((await setPassword(from(address), 'nobody@example.com')).status, 401)
      assert.equal((await setPassword(from(address), 'Nobody@Example.com')).status, 429)
    })

    test('correct ones do not count, and do not reset the count', async () => {
      const address = newAddress()
      const keys = byAddress(address)
      for (let at = 0; at < 3 * guessesPerAddressMax; at++) assert.equal(await tryOnce(keys, true), 0)
      await tryOften(guessesPerAddressMax - 1, () => keys)
      assert.equal(await tryOnce(keys, true), 0)
      assert.equal(await tryOnce(keys), 0)
      assert.notEqual(await tryOnce(keys, true), 0)
    })

    test('of 100 concurrent attempts no more than the limit are checked', async () => {
      const keys = byAccount(newName('account'), newAddress(), false)
      const waits = await Promise.all(Array.from({ length: 100 }, () => tryOnce(keys)))
      assert.equal(waits.filter((wait) => wait === 0).length, guessesPerAccountAndAddressMax)
    })

    test('guessesPerAddressMax from one address, for any targets; a /64 counts as one address', async () => {
      const prefix = `2001:db8:${(++hosts).toString(16)}:7`
      let at = 0
      const waits = await tryOften(guessesPerAddressMax, () =>
        byAccount(newName('account'), `${prefix}::${(++at).toString(16)}`, false),
      )
      assert.deepEqual(new Set(waits), new Set([0]))
      assert.ok((await tryOnce(byAddress(`${prefix}:ffff::1`))) > 0)
      assert.equal(await tryOnce(byAddress(newAddress())), 0)
    })

    test('attempts from other addresses make an owner wait at most guessAccountWindowMs, and not at an address where the owner is signed in', async () => {
      const account = newName('account')
      const waits = await tryOften(guessesPerAccountMax, () => byAccount(account, newAddress(), false))
      assert.deepEqual(new Set(waits), new Set([0]))
      const wait = await tryOnce(byAccount(account, newAddress(), false), true)
      assert.ok(wait > 0 && wait <= guessAccountWindowMs, String(wait))
      assert.equal(await tryOnce(byAccount(account, newAddress(), true), true), 0)
      berth.advance(guessAccountWindowMs)
      assert.equal(await tryOnce(byAccount(account, newAddress(), false), true), 0)
    })

    test('an owner who is signed in from an address does not wait there because of attempts of others', async () => {
      const email = `${newName('ada')}@example.com`
      const home = newAddress()
      const { account } = await localAccount(berth, email, from(home))
      await tryOften(guessesPerAccountMax, () => byAccount(account.id, newAddress(), false))
      assert.equal((await setPassword(from(newAddress()), email)).status, 429)
      assert.equal((await setPassword(from(home), email)).path, '/')
    })

    test('an address at its limit does not make others wait', async () => {
      const account = newName('account')
      const address = newAddress()
      const keys = byAccount(account, address, false)
      await tryOften(guessesPerAccountAndAddressMax + guessesPerAccountMax, () => keys)
      assert.equal(await tryOnce(byAccount(account, newAddress(), false)), 0)
    })

    test('codes of links have the same limit, and typed values are not stored', async () => {
      const address = newAddress()
      const account = await newLocalAccount(berth, `${newName('eve')}@example.com`)
      for (let at = 0; at < guessesPerAddressMax; at++)
        assert.equal((await from(address).open(`/setup?code=${at}`)).status, 404)
      for (const path of ['/setup?code=x', '/sign-in/choose-password?code=x'])
        assert.equal((await from(address).open(path)).status, 429, path)
      assert.equal((await setPassword(from(address), account.email)).status, 429)
      const rows = await berth.berth.installation.store.db.kysely.selectFrom('guesses').selectAll().execute()
      assert.ok(!JSON.stringify(rows).includes('example.com') && !JSON.stringify(rows).includes(PASSWORD))
    })
  })
}
