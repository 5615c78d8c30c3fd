import { test } from 'node:test'
import { runHostileLoad } from '../support/hostile-load/suite.ts'

test('the whole catalog of hostile requests neither stops the server, nor grows it, nor keeps others from reading', async (t) => {
  await runHostileLoad(t, 'whole')
})
