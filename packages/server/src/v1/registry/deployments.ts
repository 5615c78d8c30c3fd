import {
  type Deployment,
  DeploymentSchema,
  type HelmChart,
  type Registry,
} from '@berth/contract/gen/chainguard/platform/registry/registry_pb.js'
import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { alreadyExists, type FieldViolation, notFound } from '../../api/errors.ts'
import { requireValid } from '../../api/fields.ts'
import { rootOf, type Uid } from '../../api/uid.ts'
import { limits } from '../../config/limits.ts'
import { requireScope } from '../../pipeline/authorization.ts'
import type { Handlers } from '../../pipeline/call.ts'
import { lockRepo, REPO_TYPE } from '../../registry/resources/parent-repo.ts'
import { mutate } from '../../storage/changes/mutation.ts'
import type { Reader, Tx } from '../../storage/db.ts'
import { readResource } from '../../storage/resource-rows.ts'
import type { Store } from '../../storage/store.ts'

/** The Helm charts that deploy the image of a repo. A repo without charts has no deployment. */

type Names = 'createDeployment' | 'updateDeployment' | 'getDeployment'

const TYPE = 'registry.chainguard.dev/Deployment'

export function deploymentHandlers(store: Store): Required<Pick<Handlers<typeof Registry>, Names>> {
  const { db } = store

  return {
    async getDeployment(_request, call) {
      const { scope } = requireScope(call)
      const deployment = await readDeployment(db.kysely, scope)
      if (deployment !== undefined) return deployment
      if ((await readResource(db, 'repos', scope)) === undefined) throw notFound(REPO_TYPE, scope)
      throw deploymentNotFound(scope)
    },

    async createDeployment({ charts }, call) {
      const repo = requireScope(call).scope as Uid
      return mutate(store, call, async (tx) => {
        await lockRepo(db, tx, repo)
        requireValid(...checkCharts(charts), mustHaveCharts(charts))
        if ((await readDeployment(tx, repo)) !== undefined)
          throw alreadyExists(TYPE, repo, `repo ${repo} has a deployment already`)
        return { uid: repo, response: await writeDeployment(tx, repo, charts) }
      })
    },

    async updateDeployment({ charts }, call) {
      const repo = requireScope(call).scope as Uid
      return mutate(store, call, async (tx) => {
        await lockRepo(db, tx, repo)
        requireValid(...checkCharts(charts))
        const current = await readDeployment(tx, repo)
        if (current === undefined && charts.length > 0) throw deploymentNotFound(repo)
        return {
          uid: repo,
          response: await writeDeployment(tx, repo, charts),
          unchanged: current === undefined,
        }
      })
    },
  }
}

async function readDeployment(reader: Reader, repo: string): Promise<Deployment | undefined> {
  const row = await reader
    .selectFrom('deployments')
    .select('content')
    .where('root', '=', rootOf(repo))
    .where('uid', '=', repo)
    .executeTakeFirst()
  return row && { ...fromBinary(DeploymentSchema, row.content), id: repo }
}

async function writeDeployment(tx: Tx, repo: Uid, charts: HelmChart[]): Promise<Deployment> {
  const root = rootOf(repo)
  await tx.deleteFrom('deployments').where('root', '=', root).where('uid', '=', repo).execute()
  if (charts.length > 0) {
    const content = toBinary(DeploymentSchema, create(DeploymentSchema, { charts }))
    await tx.insertInto('deployments').values({ root, uid: repo, content }).execute()
  }
  return create(DeploymentSchema, { id: repo, charts })
}

function deploymentNotFound(repo: string) {
  return notFound(TYPE, repo, `repo ${repo} has no deployment`)
}

function mustHaveCharts(charts: readonly HelmChart[]): FieldViolation | undefined {
  return charts.length === 0 ? { field: 'charts', description: 'must have at least one entry' } : undefined
}

function checkCharts(charts: readonly HelmChart[]): (FieldViolation | undefined)[] {
  const { deploymentChartsMax } = limits
  if (charts.length > deploymentChartsMax)
    return [{ field: 'charts', description: `must have at most ${deploymentChartsMax} entries` }]
  return charts.flatMap(({ source = '', repo, chart = '' }, at) => [
    checkText(source, `charts[${at}].source`),
    checkText(repo, `charts[${at}].repo`) ?? checkChartRepo(repo, `charts[${at}].repo`),
    checkText(chart, `charts[${at}].chart`),
  ])
}

function checkText(text: string, field: string): FieldViolation | undefined {
  const { chartFieldCharsMax: max } = limits
  if (text.length <= max && /^[^\s\p{Cc}]*$/u.test(text)) return undefined
  return { field, description: `must have at most ${max} characters, and no spaces` }
}

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

function checkChartRepo(text: string, field: string): FieldViolation | undefined {
  const url = URL.parse(text)
  const { protocol = '', host = '', hostname = '', username = '', password = '' } = url ?? {}
  const fits =
    protocol === 'https:' || protocol === 'oci:' || (protocol === 'http:' && loopback.test(hostname))
  if (!fits || host === '' || !text.includes('://'))
    return { field, description: 'must be an https or oci URL with a host, or an http URL of this machine' }
  return username === '' && password === ''
    ? undefined
    : { field, description: 'must not contain credentials' }
}
