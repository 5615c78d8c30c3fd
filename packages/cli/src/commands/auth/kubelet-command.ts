import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'

/** Beside the other commands, not under one: the kubelet's configuration names it. */
export const kubeletCommand: CommandDeclaration = {
  name: 'kubelet-credential-provider',
  summary: 'answer the kubelet that pulls images: reads a CredentialProviderRequest, prints a response',
  options: [{ flags: '--identity <uid>', summary: 'what the service account of the pod assumes' }],
  examples: ['berth kubelet-credential-provider --identity $IDENTITY < request.json'],
  async run(invocation) {
    const { provideCredentials: answerKubelet } = await import('./kubelet.ts')
    await answerKubelet(invocation as AuthInvocation)
  },
}
