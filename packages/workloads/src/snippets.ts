import type { Identity } from '@berth/client/berth.ts'

/**
 * Workflows that push an image as an identity. They need curl, jq and Docker: the job exchanges the token of its CI system for a token of
 * the registry.
 */

/** Addresses of a server. */
export interface Addresses {
  readonly issuer: string
  readonly api: string
  /** Host of the registry. */
  readonly registry: string
}

interface Target extends Addresses {
  readonly identity: string
  /** Audience of the tokens that the identity accepts. */
  readonly audience: string
  /** `registry.example.com/my-org/app`. */
  readonly image: string
  readonly subject: string
}

interface Snippet {
  /** Where the workflow is stored. */
  readonly file: string
  readonly content: (target: Target) => object
}

/** Commands that sign in Docker. `oidc`: the command that prints the token of the CI system. */
function signInLines({ issuer, registry, identity }: Target, oidc: string): string[] {
  return [
    'set -e -o pipefail',
    `oidc=$(${oidc})`,
    `token=$(curl -sS --fail-with-body -H "Authorization: Bearer $oidc" \\`,
    `  "${issuer}/sts/exchange?aud=${encodeURIComponent(registry)}&identity=${encodeURIComponent(identity)}" | jq -r .token)`,
    `printf %s "$token" | docker login ${registry} --username _token --password-stdin`,
  ]
}

const lines = (...texts: readonly string[]) => texts.map((text) => `${text}\n`).join('')

const pushLines = (image: string, tag: string) => [
  `docker build --tag "${image}:${tag}" .`,
  `docker push "${image}:${tag}"`,
]

export const snippets = {
  github: {
    file: '.github/workflows/publish.yaml',
    content: (target) => ({
      name: 'publish',
      on: { push: { branches: ['main'] } },
      permissions: { contents: 'read', 'id-token': 'write' },
      jobs: {
        publish: {
          'runs-on': 'ubuntu-latest',
          steps: [
            { uses: 'actions/checkout@v4' },
            {
              name: 'Sign in to the registry',
              run: lines(
                ...signInLines(
                  target,
                  `curl -sS --fail-with-body -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${encodeURIComponent(target.audience)}" | jq -r .value`,
                ),
              ),
            },
            { name: 'Build and push', run: lines(...pushLines(target.image, '$GITHUB_SHA')) },
          ],
        },
      },
    }),
  },
  gitlab: {
    file: '.gitlab-ci.yml',
    content: (target) => ({
      publish: {
        image: 'docker:28',
        services: ['docker:28-dind'],
        id_tokens: { BERTH_ID_TOKEN: { aud: target.audience } },
        before_script: [
          'apk add --no-cache curl jq',
          lines(...signInLines(target, 'printf %s "$BERTH_ID_TOKEN"')),
        ],
        script: pushLines(target.image, '$CI_COMMIT_SHA'),
      },
    }),
  },
  buildkite: {
    file: '.buildkite/pipeline.yml',
    content: (target) => ({
      steps: [
        {
          label: 'publish',
          // Buildkite replaces variables when it reads the file, unless the dollar sign is doubled.
          command: lines(
            ...signInLines(target, `buildkite-agent oidc request-token --audience ${target.audience}`),
            ...pushLines(target.image, '$BUILDKITE_COMMIT'),
          ).replaceAll('$', '$$$$'),
        },
      ],
    }),
  },
  kubernetes: {
    file: 'pod.yaml',
    content({ api, audience, identity, image, subject }) {
      const [, , namespace = 'default', serviceAccountName = 'default'] = subject.split(':')
      return {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: serviceAccountName, namespace },
        spec: {
          serviceAccountName,
          containers: [
            {
              name: 'app',
              image: `${image}:latest`,
              env: [
                { name: 'BERTH_API', value: api },
                { name: 'BERTH_IDENTITY', value: identity },
              ],
              volumeMounts: [{ name: 'berth', mountPath: '/var/run/secrets/tokens', readOnly: true }],
            },
          ],
          volumes: [
            {
              name: 'berth',
              projected: {
                sources: [{ serviceAccountToken: { path: 'berth', audience, expirationSeconds: 3600 } }],
              },
            },
          ],
        },
      }
    },
  },
} as const satisfies Readonly<Record<string, Snippet>>

export type SnippetSystem = keyof typeof snippets

/** Returns the workflow for an identity. `stringify` writes YAML; `groupPath` is the path of the identity's folder by name. */
export function createSnippet(
  system: SnippetSystem,
  identity: Identity,
  {
    addresses,
    groupPath,
    stringify,
  }: {
    readonly addresses: Addresses
    readonly groupPath: string
    readonly stringify: (value: object, options: { readonly lineWidth: number }) => string
  },
): string {
  const { file, content } = snippets[system]
  const yaml = stringify(
    content({
      ...addresses,
      identity: identity.uid,
      audience: identity.claimMatch?.audience || addresses.issuer,
      image: `${addresses.registry}/${groupPath}/app`,
      subject: identity.claimMatch?.subject ?? '',
    }),
    { lineWidth: 0 },
  )
  const purpose =
    system === 'kubernetes'
      ? 'in the container, berth auth login --identity "$BERTH_IDENTITY" signs in as'
      : 'pushes an image as'
  return `# ${file}: ${purpose} ${identity.name}\n${yaml}`
}
