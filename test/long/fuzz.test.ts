import { test } from 'node:test'
import { fuzz } from '../support/http/fuzz.ts'

const MINUTES = 10

test('ten minutes of random requests of every kind make no internal error, no hang and no growth', async (t) => {
  t.diagnostic(`${await fuzz(t, MINUTES * 60_000)} requests`)
})
