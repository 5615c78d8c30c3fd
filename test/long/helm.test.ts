import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { settings } from '@berth/server/installation/config.ts'
import { parseAllDocuments } from 'yaml'
import { goProgram, withoutGo } from '../support/deploy/go-tools.ts'
import { type KubernetesObject, kubernetesValidator } from '../support/deploy/kubernetes-schemas.ts'
import { cleanups } from '../support/server/process.ts'

/** The chart, rendered by Helm and validated with the schemas of Kubernetes. */

const CHART = 'deploy/helm/berth'
const HELM = 'helm.sh/helm/v3/cmd/helm@v3.19.4'
const KUBERNETES = '1.32.0'

const required = { image: { repository: 'registry.example.com/berth' }, baseUrl: 'https://berth.example.com' }
const severalNodes = {
  ...required,
  database: { type: 'postgres' },
  secrets: { existingSecret: 'berth-secrets' },
  persistence: { enabled: false },
  blobs: { s3: { bucket: 'images', endpoint: 'https://s3.example.com', region: 'eu-1', prefix: 'berth' } },
  replicaCount: 3,
}
const everything = {
  ...severalNodes,
  image: { ...required.image, digest: `sha256:${'0'.repeat(64)}` },
  imagePullSecrets: [{ name: 'pull' }],
  settings: { BERTH_RATE_LIMITS: 'read=100/1s', BERTH_OPEN_ORGANIZATIONS: true },
  trustedProxies: ['10.0.0.0/8'],
  ingress: {
    enabled: true,
    className: 'nginx',
    host: 'berth.example.com',
    tlsSecret: 'tls',
    annotations: { a: 'b' },
  },
  gateway: {
    enabled: true,
    hostnames: ['berth.example.com'],
    grpcHostnames: ['grpc.example.com'],
    parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
  },
  autoscaling: { enabled: true },
  networkPolicy: {
    enabled: true,
    apiFrom: [{ namespaceSelector: { matchLabels: { role: 'ingress' } } }],
    metricsFrom: [{ namespaceSelector: { matchLabels: { role: 'monitoring' } } }],
    egress: [{ to: [{ ipBlock: { cidr: '10.1.0.0/16' } }] }],
  },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
  serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/berth' } },
  podLabels: { team: 'platform' },
  podAnnotations: { note: 'text' },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'a', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
}
/** What every release has. */
const basic = ['ConfigMap', 'Deployment', 'Service', 'Service', 'ServiceAccount']
const withTls = {
  ...required,
  secrets: { values: { BERTH_MASTER_KEY: 'key' } },
  tls: { existingSecret: 'certificate' },
  service: { type: 'LoadBalancer', port: 443 },
}

describe('the Helm chart', { skip: withoutGo }, () => {
  const cleanup = cleanups()
  let helm = ''
  let problemsOf: (object: KubernetesObject) => readonly string[]
  before(() => {
    helm = goProgram('helm', HELM)
    problemsOf = kubernetesValidator(cleanup)
  })
  after(() => cleanup.run())

  const run = (args: readonly string[], values: object) =>
    spawnSync(helm, [...args, '--values', '-'], { input: JSON.stringify(values), encoding: 'utf8' })
  const template = (values: object, ...args: string[]): KubernetesObject[] => {
    const { status, stdout, stderr } = run(
      ['template', 'prod', CHART, '--kube-version', KUBERNETES, ...args],
      values,
    )
    assert.equal(status, 0, stderr)
    return parseAllDocuments(stdout)
      .map((document) => document.toJS())
      .filter((object) => object !== null)
  }
  const find = (objects: readonly KubernetesObject[], kind: string) => {
    const object = objects.find((one) => one.kind === kind)
    assert.ok(object, kind)
    return object
  }

  for (const [name, values, kinds] of [
    ['one node', required, [...basic, 'PersistentVolumeClaim']],
    ['several nodes', severalNodes, [...basic, 'Job', 'PodDisruptionBudget']],
    [
      'every option',
      everything,
      [
        ...[...basic, 'GRPCRoute', 'HTTPRoute', 'HorizontalPodAutoscaler', 'Ingress', 'Job', 'NetworkPolicy'],
        ...['PodDisruptionBudget', 'PrometheusRule', 'ServiceMonitor'],
      ],
    ],
    ['TLS in Berth', withTls, [...basic, 'PersistentVolumeClaim', 'Secret']],
  ] as const)
    test(`with ${name} passes helm lint, and its objects are valid in Kubernetes`, () => {
      const { status, stdout } = run(['lint', '--strict', CHART, '--kube-version', KUBERNETES], values)
      assert.equal(status, 0, stdout)
      const objects = template(values)
      assert.deepEqual(objects.flatMap(problemsOf), [])
      assert.deepEqual(objects.map(({ kind }) => kind).sort(), kinds.toSorted())
      const containers = objects.flatMap(({ spec }) => spec?.template?.spec?.containers ?? [])
      assert.ok(containers.length > 0)
      for (const { securityContext } of containers) {
        assert.equal(securityContext.readOnlyRootFilesystem, true)
        assert.deepEqual(securityContext.capabilities, { drop: ['ALL'] })
      }
    })

  test('the schema validation is strict', () => {
    const deployment = find(template(required), 'Deployment')
    const wrong = structuredClone(deployment)
    wrong.spec.template.spec.containers[0].liveness = {}
    wrong.spec.replicas = 'one'
    assert.equal(problemsOf(wrong).length, 2, problemsOf(wrong).join('\n'))
  })

  test('a pod has time for the drain, and leaves the service before it stops accepting', () => {
    const { spec } = find(
      template({ ...severalNodes, drainDelaySeconds: 20, stopGraceSeconds: 30 }),
      'Deployment',
    )
    const pod = spec.template.spec
    assert.ok(pod.terminationGracePeriodSeconds > 20 + 30 + 10)
    const { periodSeconds, failureThreshold } = find(template(severalNodes), 'Deployment').spec.template.spec
      .containers[0].readinessProbe
    assert.ok(periodSeconds * failureThreshold < 10)
  })

  test('the migration runs before an upgrade, with the settings and the secret of the pods', () => {
    const objects = template(everything, '--is-upgrade')
    const job = find(objects, 'Job')
    assert.equal(job.metadata.annotations?.['helm.sh/hook'], 'pre-upgrade')
    const [container] = job.spec.template.spec.containers
    assert.deepEqual(container.args, ['migrate'])
    const names = container.env.map(({ name }: { name: string }) => name)
    assert.ok(names.includes('BERTH_BLOBS_S3_BUCKET') && names.includes('BERTH_RATE_LIMITS'))
    assert.deepEqual(container.envFrom, [{ secretRef: { name: 'berth-secrets' } }])
    assert.equal(
      objects.some(({ kind }) => kind === 'Secret'),
      false,
    )
  })

  test('the settings that it renders are settings of the server', () => {
    const known = new Set(settings.map(({ name }) => name))
    const { data } = find(template(everything), 'ConfigMap') as KubernetesObject & {
      data: Record<string, string>
    }
    assert.deepEqual(
      Object.keys(data).filter((name) => !known.has(name)),
      [],
    )
  })

  for (const [why, values, message] of [
    ['without an image', { baseUrl: 'https://b.example.com' }, /repository/],
    ['with an unknown value', { ...required, replicas: 2 }, /replicas/],
    [
      'with a secret among the settings',
      { ...required, settings: { BERTH_MASTER_KEY: 'a' } },
      /BERTH_MASTER_KEY/,
    ],
    ['with several nodes on SQLite', { ...required, replicaCount: 2 }, /database\.type=postgres/],
    ['with several nodes on one volume', { ...severalNodes, persistence: { enabled: true } }, /accessModes/],
    ['with PostgreSQL without a secret', { ...required, database: { type: 'postgres' } }, /existingSecret/],
    ['with images nowhere', { ...severalNodes, blobs: {} }, /blobs\.s3\.bucket/],
  ] as const)
    test(`it does not render ${why}, and the error names the value`, () => {
      const { status, stderr } = run(['template', 'prod', CHART, '--kube-version', KUBERNETES], values)
      assert.notEqual(status, 0)
      assert.match(stderr, message)
    })
})
