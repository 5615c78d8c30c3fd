import assert from 'node:assert/strict'
import { test } from 'node:test'
import { oauthClients, parseClientSetting } from './clients.ts'

const clients = oauthClients([
  { id: 'portal', redirect: 'https://portal.example.com/done' },
  { id: 'portal', redirect: 'https://portal.example.com/again' },
])

test('the redirect URI of the command line has any loopback port, and one path', () => {
  const cli = clients.byId('berth-cli')
  assert.ok(cli)
  for (const host of ['127.0.0.1', '[::1]', 'localhost'])
    assert.ok(clients.matchRedirectUri(cli, `http://${host}:50000/callback`), host)
  assert.equal(clients.matchRedirectUri(cli, 'http://127.0.0.1:50000/other'), undefined)
  assert.equal(clients.matchRedirectUri(cli, 'https://portal.example.com/done'), undefined)
})

test('a client of the operator has only its registered redirect URIs', () => {
  const portal = clients.byId('portal')
  assert.ok(portal)
  assert.ok(clients.matchRedirectUri(portal, 'https://portal.example.com/done'))
  assert.ok(clients.matchRedirectUri(portal, 'https://portal.example.com/again'))
  assert.equal(clients.matchRedirectUri(portal, 'http://127.0.0.1:50000/callback'), undefined)
  assert.equal(clients.byId('Portal'), undefined)
  assert.equal(clients.byId('constructor'), undefined)
})

test('a setting is an id and a redirect', () => {
  assert.deepEqual(parseClientSetting('portal=https://portal.example.com/done?a=b'), {
    id: 'portal',
    redirect: 'https://portal.example.com/done?a=b',
  })
  for (const text of [
    'portal',
    '=https://portal.example.com/',
    'Portal=https://portal.example.com/',
    'berth-cli=https://portal.example.com/',
    'portal=http://portal.example.com/',
    'portal=https://portal.example.com',
    'portal=https://*.example.com/',
    'portal=https://portal.example.com/#',
    'portal.example.com=https://portal.example.com/',
  ])
    assert.equal(parseClientSetting(text), undefined, text)
})
