import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isBrowserRequest } from './browser-request.ts'

const CHROMIUM =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8'
const FIREFOX = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

describe('isBrowserRequest', () => {
  for (const accept of [
    CHROMIUM,
    FIREFOX,
    'text/html',
    'TEXT/HTML; q=0.5'.toLowerCase(),
    'text/html, application/json;q=0.9',
  ])
    test(`a browser: ${accept}`, () => assert.equal(isBrowserRequest({ headers: { accept } }), true))

  for (const accept of [
    undefined,
    '*/*',
    'application/json',
    'application/json, text/html;q=0.5',
    'text/html;q=0',
    'text/html;q=none',
    'application/vnd.oci.image.manifest.v1+json, */*',
    'text/htmlx',
  ])
    test(`a client: ${accept}`, () =>
      assert.equal(isBrowserRequest({ headers: accept === undefined ? {} : { accept } }), false))

  test('a client with a token, whatever it accepts', () =>
    assert.equal(isBrowserRequest({ headers: { accept: CHROMIUM, authorization: 'Bearer x' } }), false))
})
