import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { limits } from '../../config/limits.ts'
import {
  matchRegisteredUri,
  parseLoopbackUri,
  parseRedirectUri,
  withQueryParameters,
} from './redirect-uri.ts'

const registered = [
  'http://127.0.0.1/callback',
  'http://[::1]/callback',
  'http://localhost/callback',
  'https://app.example.com/oauth/done',
  'https://app.example.com:8443/done?from=berth',
]

const accepted = [
  'http://127.0.0.1/callback',
  'http://127.0.0.1:1/callback',
  'http://127.0.0.1:49152/callback',
  'http://127.0.0.1:65535/callback',
  'http://[::1]:49152/callback',
  'http://localhost:49152/callback',
  'https://app.example.com/oauth/done',
  'https://app.example.com:8443/done?from=berth',
]

/** Each refused against everything that is registered above, with why it could be mistaken for something else. */
const refused: readonly (readonly [address: string, why: string])[] = [
  ['', 'nothing'],
  ['callback', 'no address'],
  ['/callback', 'a path'],
  ['//app.example.com/oauth/done', 'no scheme'],
  ['///app.example.com/oauth/done', 'three slashes'],
  ['/\\app.example.com/oauth/done', 'slash and backslash'],
  ['\\\\app.example.com/oauth/done', 'backslashes'],
  ['https:app.example.com/oauth/done', 'no slashes'],
  ['https:/app.example.com/oauth/done', 'one slash'],
  ['https:///app.example.com/oauth/done', 'three slashes after the scheme'],
  ['https:\\\\app.example.com\\oauth\\done', 'backslashes for slashes'],
  ['https://app.example.com\\oauth/done', 'a backslash after the host'],
  ['https://app.example.com/oauth\\done', 'a backslash in the path'],
  ['https://app.example.com/oauth%5Cdone', 'a backslash, encoded'],
  ['https://app.example.com\\@evil.example/oauth/done', 'a backslash before user information'],
  ['https://evil.example\\@app.example.com/oauth/done', 'another host before a backslash'],
  ['https://app.example.com@evil.example/oauth/done', 'user information that looks like the host'],
  ['https://evil.example@app.example.com/oauth/done', 'user information'],
  ['https://user:secret@app.example.com/oauth/done', 'a password'],
  ['https://@app.example.com/oauth/done', 'empty user information'],
  ['https://:@app.example.com/oauth/done', 'empty user and password'],
  ['https://app.example.com%40evil.example/oauth/done', 'an encoded at sign'],
  ['https://app.example.com%2540evil.example/oauth/done', 'an at sign, encoded twice'],
  ['http://127.0.0.1:80@evil.example/callback', 'a port that is a password'],
  ['http://localhost@evil.example:49152/callback', 'loopback as user information'],
  ['\thttps://app.example.com/oauth/done', 'a tab before'],
  ['https://app.exa\tmple.com/oauth/done', 'a tab in the host'],
  ['https://app.example.com/oauth\t/done', 'a tab in the path'],
  ['ht\ntps://app.example.com/oauth/done', 'a line break in the scheme'],
  ['https://app.example.com/oauth/done\n', 'a line break after'],
  ['https://app.example.com/oauth/done\r\nSet-Cookie: a=b', 'a header'],
  ['https://app.example.com/oauth/done%0d%0aSet-Cookie:%20a=b', 'a header, encoded'],
  [' https://app.example.com/oauth/done', 'a space before'],
  ['https://app.example.com/oauth/done ', 'a space after'],
  ['https://app.example.com/oauth/done%20', 'a space, encoded'],
  ['https://app.example.com/oauth/done\u0000', 'NUL'],
  ['https://app.example.com\u0000.evil.example/oauth/done', 'NUL in the host'],
  ['https://app.example.com/oauth/done%00', 'NUL, encoded'],
  ['\u00a0https://app.example.com/oauth/done', 'a space that does not break'],
  ['\ufeffhttps://app.example.com/oauth/done', 'a byte order mark'],
  ['https://app.example.com/oauth/done#', 'an empty fragment'],
  ['https://app.example.com/oauth/done#token', 'a fragment'],
  ['http://127.0.0.1:49152/callback#', 'an empty fragment of loopback'],
  ['https://evil.example#app.example.com/oauth/done', 'a fragment that looks like the host'],
  ['https://evil.example?app.example.com/oauth/done', 'a query that looks like the host'],
  ['HTTPS://app.example.com/oauth/done', 'a scheme in capitals'],
  ['https://App.Example.com/oauth/done', 'a host in capitals'],
  ['http://LOCALHOST:49152/callback', 'loopback in capitals'],
  ['https://app.example.com/OAuth/done', 'a path in capitals'],
  ['https://app.example.com:443/oauth/done', 'the default port, written'],
  ['https://app.example.com:8443/oauth/done', 'the port of another one'],
  ['https://app.example.com:444/oauth/done', 'another port'],
  ['https://app.example.com:/oauth/done', 'an empty port'],
  ['https://app.example.com:0443/oauth/done', 'a port with a zero before'],
  ['https://app.example.com:65536/oauth/done', 'a port that does not exist'],
  ['http://127.0.0.1:80/callback', 'the default port of loopback, written'],
  ['http://127.0.0.1:049152/callback', 'a port of loopback with a zero before'],
  ['http://127.0.0.1:/callback', 'an empty port of loopback'],
  ['http://127.0.0.1:-1/callback', 'a negative port'],
  ['http://127.0.0.1:4 9/callback', 'a space in a port'],
  ['http://app.example.com/oauth/done', 'http instead of https'],
  ['https://127.0.0.1:49152/callback', 'https of loopback, which is not registered'],
  ['ftp://app.example.com/oauth/done', 'another scheme'],
  ['file:///oauth/done', 'a file'],
  ['javascript:alert(1)', 'a script'],
  ['javascript://127.0.0.1/callback', 'a script that looks like an address'],
  ['data:text/html,x', 'data'],
  ['blob:https://app.example.com/oauth/done', 'a blob'],
  ['view-source:https://app.example.com/oauth/done', 'a scheme of browsers'],
  ['com.example.app:/oauth/done', "a program's own scheme"],
  ['ws://127.0.0.1:49152/callback', 'a web socket'],
  ['https://app.example.com./oauth/done', 'a dot after the host'],
  ['https://app.example.com.evil.example/oauth/done', 'the host as a prefix'],
  ['https://evil-app.example.com/oauth/done', 'the host as a suffix'],
  ['https://sub.app.example.com/oauth/done', 'a host below'],
  ['https://example.com/oauth/done', 'the host above'],
  ['https://app%2Eexample%2Ecom/oauth/done', 'an encoded host'],
  ['https://app%252Eexample.com/oauth/done', 'a host, encoded twice'],
  ['https://app.example.com%2Fevil/oauth/done', 'a slash in the host, encoded'],
  ['https://app.example。com/oauth/done', 'an ideographic full stop in the host'],
  ['https://ａpp.example.com/oauth/done', 'a wide letter in the host'],
  ['https://аpp.example.com/oauth/done', 'a Cyrillic letter in the host'],
  ['http://localhost.evil.example:49152/callback', 'localhost as a prefix'],
  ['http://localhost.:49152/callback', 'localhost with a dot after it'],
  ['http://evil.localhost:49152/callback', 'a host below localhost'],
  ['http://127.0.0.1.evil.example:49152/callback', 'loopback as a prefix'],
  ['http://127.0.0.1.:49152/callback', 'loopback with a dot after it'],
  ['http://127.0.0.2:49152/callback', 'another address of loopback'],
  ['http://127.1:49152/callback', 'loopback, shortened'],
  ['http://2130706433:49152/callback', 'loopback as a number'],
  ['http://0x7f.0.0.1:49152/callback', 'loopback, hexadecimal'],
  ['http://0177.0.0.1:49152/callback', 'loopback, octal'],
  ['http://0.0.0.0:49152/callback', 'any address'],
  ['http://[::]:49152/callback', 'any address of IPv6'],
  ['http://[0:0:0:0:0:0:0:1]:49152/callback', 'loopback of IPv6, written out'],
  ['http://[::ffff:127.0.0.1]:49152/callback', 'loopback of IPv4 in IPv6'],
  ['http://[::1%25lo]:49152/callback', 'a zone'],
  ['http://[::1].evil.example:49152/callback', 'IPv6 as a prefix'],
  ['http://::1:49152/callback', 'IPv6 without brackets'],
  ['http://127.0.0.1%2eevil.example:49152/callback', 'an encoded dot after loopback'],
  ['http://127.0.0.1%2F@evil.example/callback', 'an encoded slash after loopback'],
  ['http://127.0.0.1:49152', 'no path'],
  ['http://127.0.0.1:49152/', 'another path'],
  ['http://127.0.0.1:49152/callback/', 'a slash after the path'],
  ['http://127.0.0.1:49152//callback', 'two slashes before the path'],
  ['http://127.0.0.1:49152/callback/../evil', 'dot segments'],
  ['http://127.0.0.1:49152/./callback', 'a dot segment'],
  ['http://127.0.0.1:49152/%2e/callback', 'a dot segment, encoded'],
  ['http://127.0.0.1:49152/x/%2e%2e/callback', 'dot segments, encoded'],
  ['http://127.0.0.1:49152/x/%252e%252e/callback', 'dot segments, encoded twice'],
  ['http://127.0.0.1:49152/x/..%2fcallback', 'an encoded slash'],
  ['http://127.0.0.1:49152/c%61llback', 'an encoded letter'],
  ['http://127.0.0.1:49152/c%2561llback', 'a letter, encoded twice'],
  ['http://127.0.0.1:49152/callback;x', 'a path parameter'],
  ['http://127.0.0.1:49152/callback?', 'an empty query'],
  ['http://127.0.0.1:49152/callback?next=https://evil.example', 'a query'],
  ['https://app.example.com:8443/done', 'a query that is missing'],
  ['https://app.example.com:8443/done?from=berth&to=evil', 'a query with more'],
  ['https://app.example.com:8443/done?from=Berth', 'another query'],
  ['https://app.example.com:8443/done?%66rom=berth', 'an encoded query'],
  [`https://app.example.com/${'a'.repeat(limits.redirectCharsMax)}`, 'longer than redirectCharsMax'],
]

describe(`R38: a redirect goes to a registered address, ${refused.length} others are rejected`, () => {
  for (const address of accepted)
    test(`accepts ${address}`, () => {
      assert.equal(matchRegisteredUri(registered, address)?.href, address)
    })
  for (const [address, why] of refused)
    test(`rejects ${why}: ${JSON.stringify(address.slice(0, 80))}`, () => {
      assert.equal(matchRegisteredUri(registered, address), undefined)
    })
})

describe('R38: a response with a token stays on this machine', () => {
  for (const host of ['127.0.0.1', '[::1]', 'localhost'])
    test(`accepts any port and path of ${host}`, () => {
      const address = `http://${host}:49152/callback?token=true&error=true`
      assert.equal(parseLoopbackUri(address)?.href, address)
    })
  const never = refused.filter(
    ([address]) => !/^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d+)?\//.test(address),
  )
  test(`rejects the ${never.length} of the table above that are not plainly loopback`, () => {
    assert.ok(never.length > 80)
    for (const [address, why] of never) assert.equal(parseLoopbackUri(address), undefined, why)
  })
  test('rejects an https address that a client could register', () => {
    assert.notEqual(parseRedirectUri('https://app.example.com/'), undefined)
    assert.equal(parseLoopbackUri('https://app.example.com/'), undefined)
  })
})

test('parameters replace all of the same name, and keep the others', () => {
  assert.equal(
    withQueryParameters('http://localhost:1/callback?token=true&token=x&error=true&keep=1', {
      token: 'a b&c',
      error: undefined,
    }),
    'http://localhost:1/callback?token=a+b%26c&keep=1',
  )
})
