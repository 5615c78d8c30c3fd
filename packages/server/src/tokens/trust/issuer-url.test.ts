import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { limits } from '../../config/limits.ts'
import { checkIssuer } from './issuer-url.ts'

test('issuers of real providers are accepted', () => {
  for (const issuer of [
    'https://token.actions.githubusercontent.com',
    'https://accounts.google.com',
    'https://gitlab.com',
    'https://tenant.eu.auth0.com/',
    'https://sts.windows.net/6babcaad-604b-40ac-a9d7-9fd97c0b779f/',
    'https://oidc.eks.us-east-1.amazonaws.com/id/4EC8D6B0B10B3F1E6D3BB6D3',
    'https://container.googleapis.com/v1/projects/p_1/locations/eu~1/clusters/c.x',
    'https://ci.example.com:8443/realms/main',
    'https://kubernetes.default.svc.cluster.local',
    'http://127.0.0.1:8080',
    'http://localhost:4000/oidc',
    'https://[2606:4700::1111]:8443/x',
  ]) {
    assert.equal(checkIssuer(issuer), undefined, issuer)
  }
})

test('R1: a URL that two parsers could read differently is not a valid issuer', () => {
  for (const issuer of [
    '',
    'https',
    'https:',
    'https://',
    'https:///path',
    'https:/ci.example.com',
    'https:ci.example.com',
    '//ci.example.com',
    'ftp://ci.example.com',
    'file:///etc/passwd',
    'javascript:alert(1)',
    'HTTPS://ci.example.com',
    ' https://ci.example.com',
    'https://ci.example.com ',
    'https://ci.example.com\n',
    'https://ci.\texample.com',
    'https://ci.eclipse.org@evil',
    'https://ci.eclipse.org@evil.example',
    'https://user:password@ci.example.com',
    'https://@ci.example.com',
    'https://ci.example.com:443@evil.example',
    'https://evil.example\\@ci.example.com',
    'https://ci.example.com\\.evil.example',
    'https:\\\\ci.example.com',
    'https://ci.example.com?x=1',
    'https://ci.example.com/?',
    'https://ci.example.com#x',
    'https://ci.example.com/path#',
    'https://ci.example.com/a b',
    'https://ci.example.com/%2e%2e/x',
    'https://ci.example.com/..',
    'https://ci.example.com/a/../b',
    'https://ci.example.com/./b',
    'https://ci.example.com/a;b',
    'https://ci.example.com/a:b@c',
    'https://ci.example.com/\u0000',
    'https://CI.example.com',
    'https://сi.example.com',
    'https://ci。example.com',
    'https://ci.example.com／x',
    'https://exämple.com',
    'https://ci..example.com',
    'https://.example.com',
    'https://ci.example.com.',
    'https://-ci.example.com',
    'https://ci.example.com:',
    'https://ci.example.com:0',
    'https://ci.example.com:080',
    'https://ci.example.com:65536',
    'https://ci.example.com:80:80',
    'https://ci.example.com:port',
    'https://127.1',
    'https://2130706433',
    'https://0x7f000001',
    'https://0177.0.0.1',
    'https://1.2.3.4.5',
    'https://::1',
    'https://[::1',
    'https://[::1]x',
    'https://[0:0:0:0:0:0:0:1]',
    'https://[fe80::1%25eth0]',
    'https://[::ffff:127.0.0.1]',
    `https://${'a'.repeat(64)}.example.com`,
  ]) {
    assert.equal(typeof checkIssuer(issuer), 'string', issuer)
  }
})

test('R1: an issuer has at most 255 characters', () => {
  const issuer = `https://ci.example.com/${'a'.repeat(limits.issuerCharsMax)}`
  assert.equal(checkIssuer(issuer.slice(0, limits.issuerCharsMax)), undefined)
  assert.match(checkIssuer(issuer.slice(0, limits.issuerCharsMax + 1)) ?? '', /at most 255/)
})

test('R1: an accepted issuer is parsed to exactly its text', () => {
  const piece = fc.constantFrom(
    'https://',
    'http://',
    'a',
    '.com',
    '.',
    '/',
    '@',
    ':',
    '80',
    '\\',
    '?',
    '#',
    '%2f',
    '[',
    ']',
    'é',
    '\t',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
      const text = pieces.join('')
      if (checkIssuer(text) !== undefined) return
      const url = new URL(text)
      assert.equal(url.username + url.password + url.search + url.hash, '')
      // The parser drops the default port and adds the path of the root.
      const port = /^https?:\/\/[^/]*?(:\d+)?(?:\/|$)/.exec(text)?.[1] ?? ''
      assert.equal(
        `${url.protocol}//${url.hostname}${port}${url.pathname}`,
        /\/\/.*\//.test(text) ? text : `${text}/`,
      )
    }),
  )
})
