import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hashText } from './organization-servers.ts'

test('the hash of a uid is that of PostgreSQL', () => {
  // `select hashtext(...)`.
  const hashes: Readonly<Record<string, number>> = {
    '': -1477818771,
    a: 1075015857,
    abcd: -393934804,
    abcdefg: 501636814,
    abcdefgh: -1960928205,
    abcdefghi: -92131489,
    abcdefghijk: -1483803693,
    abcdefghijkl: -1586087212,
    '0000000000000000000000000000000000000000': -191425602,
    '45e6a19941d26078dfc77c0dc5545dccef9a4425': -1047643772,
    db1b9b5731b1fe53235099e9319cacbe578909c0: 1477196925,
    ffffffffffffffffffffffffffffffffffffffff: 70100300,
  }
  for (const [text, hash] of Object.entries(hashes)) assert.equal(hashText(text), hash, text)
})
