import { test } from 'node:test'
import { fuzz } from './support/http/fuzz.ts'

test('random requests of every kind cause no internal error, no hang and no growth', async (t) => {
  t.diagnostic(`${await fuzz(t, 6000)} requests`)
})
