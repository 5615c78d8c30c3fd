import type { CommandBody } from '../invocation/command-declaration.ts'
import type { AuthInvocation } from '../invocation/invoke.ts'

/** The pages of a server. */
const pages = {
  home: '/',
  account: '/account',
  docs: '/docs',
  invite: '/invite',
  device: '/device',
} as const

export const openCommand: CommandBody = {
  parameters: [
    {
      name: 'PAGE',
      summary: 'page of the server (default: home)',
      choices: Object.keys(pages),
    },
  ],
  options: [{ flags: '--print-url', summary: 'print the URL instead of opening it' }],
  examples: ['berth open', 'berth open account', 'berth open docs --print-url'],
  async run(invocation) {
    const { settings } = invocation as AuthInvocation
    const page = (invocation.argument(0) || 'home') as keyof typeof pages
    const isForSignIn = page !== 'home' && page !== 'docs'
    const url = new URL(pages[page], isForSignIn ? settings.issuer : settings.api).href
    const { hasDisplay, openUrl } = await import('../session/open-url.ts')
    const { output } = invocation
    if (invocation.flag('printUrl') || !output.isForPeople || !hasDisplay())
      return output.result({ page, url }, `${url}\n`)
    output.notice(`opening ${url}`)
    await openUrl(url, () => output.notice('the browser did not open; open the URL yourself'))
  },
}
