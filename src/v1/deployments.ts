import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import {
  type Deployment,
  DeploymentSchema,
  type HelmChart,
  type Registry,
} from '#gen/chainguard/platform/registry/registry_pb.js'
import { allowed } from '../core/allowed.ts'
import type { Handlers } from '../core/call.ts'
import { alreadyExists, type FieldViolation, notFound } from '../core/errors.ts'
import { refuseIfAny } from '../core/fields.ts'
import { limits } from '../core/limits.ts'
import { rootOf, type Uid } from '../core/uid.ts'
import { holdRepo, REPO_TYPE } from '../registry/parent-repo.ts'
import type { Reader, Tx } from '../storage/db.ts'
import { mutate } from '../storage/mutation.ts'
import { readResource } from '../storage/rows.ts'
import type { Store } from '../storage/store.ts'

/** Which Helm charts deploy the image of a repo. A repo without charts has no deployment. */

type Names = 'createDeployment' | 'updateDeployment' | 'getDeployment'

const TYPE = 'registry.chainguard.dev/Deployment'

export function deploymentHandlers(store: Store): Required<Pick<Handlers<typeof Registry>, Names>> {
  const { db } = store

  return {
    async getDeployment(_request, call) {
      const { scope } = allowed(call)
      const found = await read(db.kysely, scope)
      if (found !== undefined) return found
      if ((await readResource(db, 'repos', scope)) === undefined) throw notFound(REPO_TYPE, scope)
      throw missing(scope)
    },

    async createDeployment({ charts }, call) {
      const repo = allowed(call).scope as Uid
      return mutate(store, call, async (tx) => {
        await holdRepo(db, tx, repo)
        refuseIfAny(...checkCharts(charts), mustHaveCharts(charts))
        if ((await read(tx, repo)) !== undefined)
          throw alreadyExists(TYPE, repo, `repo ${repo} has a deployment already`)
        return { uid: repo, answer: await write(tx, repo, charts) }
      })
    },

    async updateDeployment({ charts }, call) {
      const repo = allowed(call).scope as Uid
      return mutate(store, call, async (tx) => {
        await holdRepo(db, tx, repo)
        refuseIfAny(...checkCharts(charts))
        const current = await read(tx, repo)
        if (current === undefined && charts.length > 0) throw missing(repo)
        return { uid: repo, answer: await write(tx, repo, charts), unchanged: current === undefined }
      })
    },
  }
}

async function read(reader: Reader, repo: string): Promise<Deployment | undefined> {
  const row = await reader
    .selectFrom('deployments')
    .select('content')
    .where('root', '=', rootOf(repo))
    .where('uid', '=', repo)
    .executeTakeFirst()
  return row && { ...fromBinary(DeploymentSchema, row.content), id: repo }
}

async function write(tx: Tx, repo: Uid, charts: HelmChart[]): Promise<Deployment> {
  const root = rootOf(repo)
  await tx.deleteFrom('deployments').where('root', '=', root).where('uid', '=', repo).execute()
  if (charts.length > 0) {
    const content = toBinary(DeploymentSchema, create(DeploymentSchema, { charts }))
    await tx.insertInto('deployments').values({ root, uid: repo, content }).execute()
  }
  return create(DeploymentSchema, { id: repo, charts })
}

function missing(repo: string) {
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
