import { html } from 'hono/html'
import { limits } from '../../../config/limits.ts'
import type { SignInContext } from '../../context.ts'
import { readForm } from '../../pages/form.ts'
import { type FormProblem, field, formToken, type Html, page } from '../../pages/layout.ts'
import { anyBrowser } from '../../pages/page-operation.ts'
import { PageRoutes } from '../../pages/page-routes.ts'
import { countAttempt } from '../../rate-limits/attempts.ts'
import { byAddress, limitGuesses } from '../../rate-limits/guesses.ts'
import type { Browser } from '../../sessions/browser.ts'
import { resolveAudiences } from '../audiences.ts'
import { authorizationRequestDefaults } from '../authorization-requests.ts'
import { startAuthorizationRequest } from '../browser-binding.ts'
import { clientEndpoint, clientOperation, oauthError } from '../client-endpoint.ts'
import { parseScope } from '../scope.ts'
import { deviceCodes } from './device-codes.ts'
import { formatUserCode, parseUserCode } from './user-code.ts'

/**
 * The device authorization grant (RFC 8628): a device without a browser gets a code, which the user enters on a page and confirms. The
 * address with the code fills in the form, but does not skip it (R36).
 */
export function deviceRoutes(context: SignInContext): PageRoutes {
  const { store, clients, authUrl } = context
  const app = new PageRoutes(context)
  const devices = deviceCodes(store)

  app.post(
    '/oauth/device_authorization',
    clientOperation(context, 'StartDevice'),
    clientEndpoint(['audience'], async (parameters, c) => {
      const client = clients.byId(parameters.get('client_id'))
      if (client === undefined) return oauthError(c, 'invalid_client', 'unknown client_id', 401)
      const scope = parseScope(parameters.get('scope'))
      if (scope === undefined) return oauthError(c, 'invalid_scope', 'scope contains an unknown value')
      const audiences = resolveAudiences(context.audiences, parameters.all('audience'))
      if (audiences === undefined)
        return oauthError(c, 'invalid_target', `audience must be one of ${context.audiences.join(', ')}`)
      await countAttempt(store, 'device', c.env.address)
      const { deviceCode, userCode } = await devices.issue({
        ...context.requestMetadataOf(c),
        client: client.id,
        audiences,
        idToken: scope.idToken,
      })
      const shown = formatUserCode(userCode)
      return c.json({
        device_code: deviceCode,
        user_code: shown,
        verification_uri: `${authUrl}/device`,
        verification_uri_complete: `${authUrl}/device?user_code=${shown}`,
        expires_in: limits.deviceCodeMs / 1000,
        interval: limits.deviceIntervalMs / 1000,
      })
    }),
  )

  app.get('/device', anyBrowser('ShowDevice'), async (c, { browser }) => {
    const code = parseUserCode(c.req.query('user_code') ?? '')
    return c.html(userCodePage(browser, code === undefined ? '' : formatUserCode(code)))
  })

  app.post('/device', anyBrowser('OpenDevice'), async (c, { browser }) => {
    const typed = (await readForm(c, browser)).text('user_code')
    const code = parseUserCode(typed)
    const keys = byAddress(context.requestMetadataOf(c).address)
    const device =
      code === undefined ? undefined : await limitGuesses(store, keys, () => devices.findWaiting(code))
    if (device === undefined) {
      const problem = { field: 'user_code', text: 'Code not recognized. Check it and try again.' }
      return c.html(userCodePage(browser, typed.slice(0, 20), problem), 400)
    }
    return startAuthorizationRequest(c, context, {
      ...authorizationRequestDefaults,
      client: device.client,
      audiences: device.audiences,
      refreshToken: true,
      idToken: device.idToken,
      reply: { kind: 'device', userCode: device.userCode },
    })
  })

  return app
}

function userCodePage(browser: Browser, code: string, problem?: FormProblem): Html {
  return page(
    { title: 'Connect a device', browser },
    html`<h1>Connect a device</h1>
<p>Enter the code that your device shows. Never enter a code that someone sent you.</p>
<form method="post" action="/device">
${formToken(browser)}${field({
  name: 'user_code',
  label: 'Code',
  autocomplete: 'off',
  value: code,
  maxlength: 20,
  autofocus: true,
  hint: 'Eight letters, such as WDJB-MJHT.',
  problem,
})}
<div class="actions"><button>Continue</button></div>
</form>`,
  )
}
