import type { CommandBody } from '../../invocation/command-declaration.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'

/** A top-level command, because the configuration of the kubelet names it. */
export const kubeletCommand: CommandBody = {
  notes: 'Reads a CredentialProviderRequest from standard input and prints the response.',
  options: [{ flags: '--identity <uid>', summary: 'identity that the service account of the pod assumes' }],
  examples: ['berth kubelet-credential-provider --identity $IDENTITY < request.json'],
  async run(invocation) {
    const { provideCredentials } = await import('./kubelet.ts')
    await provideCredentials(invocation as AuthInvocation)
  },
}
