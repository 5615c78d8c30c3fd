/** How machines use a pull token. */

/** Returns the command that signs in Docker and reads the password from standard input. */
export function dockerLogin(registry: string, identity: string): string {
  return `docker login ${registry} --username ${identity} --password-stdin`
}

/** Name of a Kubernetes object from a name of Berth: letters, digits and hyphens. */
export function secretName(name: string): string {
  const plain = name
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replaceAll(/^-|-$/g, '')
  return plain || 'pull-token'
}

/** Returns a Kubernetes secret for `imagePullSecrets`. */
export function pullSecret(
  registry: string,
  { identity, token, name }: { readonly identity: string; readonly token: string; readonly name: string },
): object {
  const auth = btoa(`${identity}:${token}`)
  const config = { auths: { [registry]: { username: identity, password: token, auth } } }
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretName(name) },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': btoa(JSON.stringify(config)) },
  }
}
