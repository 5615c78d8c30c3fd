import assert from 'node:assert/strict'
import { managedRoles } from '@berth/server/iam/managed-roles.ts'
import { type Api, apiOf } from '../api/api-fixture.ts'
import { createOperator } from '../api/operator.ts'
import { createTenant, type Tenant } from '../api/sample-requests.ts'
import {
  bindRole,
  createGroup,
  createOrganization,
  createResource,
  createRole,
  verifyOrganization,
} from '../api/tenant.ts'
import { eventually } from '../eventually.ts'
import { imageWith, osv } from '../findings/image-findings.ts'
import { attach, waitForContents } from '../images/readable-image.ts'
import { reportTypes, trivyReport } from '../images/scanner-reports.ts'
import { bearerOf, type OciClient, ociClient, pushImage } from '../registry/registry.ts'
import type { TestBerth } from '../server/test-berth.ts'
import { createPerson } from '../signin/accounts.ts'

/** Two organizations with one of everything, a user who may do everything in both, and an operator. */

export interface Tenants {
  readonly first: Tenant
  readonly second: Tenant
  readonly user: string
  /** Verified address of the user. */
  readonly email: string
  readonly token: string
  /** Of a user with a role in folders of both organizations. */
  readonly folderToken: string
  /** Of a user with roles in folders of the second organization alone. */
  readonly otherFolderToken: string
  readonly oci: OciClient
  readonly operatorToken: string
}

const DOMAIN = 'shards.example'
/** Of the user. */
export const EMAIL = `owner@${DOMAIN}`
const VULNERABILITY = 'CVE-2025-0001'

/** `isElsewhere`: whether an organization is not on the shard of one of the others. */
export async function createTenants(
  berth: TestBerth,
  isElsewhere: (root: string, others: readonly string[]) => Promise<boolean>,
): Promise<Tenants> {
  const user = await createPerson(berth, { email: EMAIL })
  const newOrganization = async (name: string, others: readonly string[]) => {
    for (;;) {
      const uid = await createOrganization(berth, name)
      if (await isElsewhere(uid, others)) return uid
      const deletion = await fetch(`${berth.url}/iam/v2beta1/groups/${uid}`, {
        method: 'DELETE',
        headers: { authorization: `Bearer ${berth.token}` },
      })
      assert.equal(deletion.status, 200, await deletion.text())
    }
  }
  const organization = await newOrganization(DOMAIN, [user])
  const other = await newOrganization(`other.${DOMAIN}`, [user, organization])
  await verifyOrganization(berth, organization)
  for (const uid of [organization, other])
    for (const { name, uid: role } of managedRoles)
      if (name !== 'operator') await bindRole(berth, uid, user, role)
  // In no managed role.
  const settings = await createRole(berth, organization, ['registry.settings.update'])
  await bindRole(berth, organization, user, settings)
  const token = await berth.tokenOf(user)
  const api = apiOf(berth, token)
  const oci = ociClient(berth, await bearerOf(berth, user))
  const documents = [osv('GHSA-2222-3333-4444', 'npm', 'left-pad', '1.2.0', { aliases: [VULNERABILITY] })]
  await createResource(berth, `/vulnerabilities/v2beta1/advisories/${organization}:importDocuments`, {
    documents,
  })
  const push = async (repo: string) => {
    const { body } = await api.get(`registry/repos/${repo}`)
    const name = `${organization}/${body.name}`
    const image = await imageWith({ openssl: '3.1.4-r5' }, { 'left-pad': '1.0.0' })
    await pushImage(oci, name, image)
    const report = trivyReport([{ id: VULNERABILITY, severity: 'high' }])
    await attach(oci, name, image, reportTypes.trivy, Buffer.from(JSON.stringify(report)))
    await waitUntilRead(api, repo, image.digest)
    return image.digest
  }
  const first = await createTenant(berth, organization, 'shared', push)
  const second = await createTenant(berth, other, 'other')
  /** The token of a user with a role in each of some folders. */
  const tokenIn = async (folders: readonly string[]) => {
    const member = await createPerson(berth)
    for (const folder of folders) await bindRole(berth, folder, member, 'viewer')
    return berth.tokenOf(member)
  }
  const foldersOf = async (root: string, group = '') => [
    group,
    ...(await Promise.all(['another', 'third', 'fourth'].map((name) => createGroup(berth, root, name)))),
  ]
  const [here, there] = [
    await foldersOf(organization, first.uids['group']),
    await foldersOf(other, second.uids['group']),
  ]
  const folderToken = await tokenIn([...here, ...there])
  const otherFolderToken = await tokenIn(there)
  const { api: operator } = await createOperator(berth)
  return {
    first,
    second,
    user,
    email: EMAIL,
    token,
    folderToken,
    otherFolderToken,
    oci,
    operatorToken: operator.token,
  }
}

async function waitUntilRead(api: Api, repo: string, digest: string): Promise<void> {
  await waitForContents(api, repo, digest)
  await eventually(async () => {
    const { body } = await api.get(`vulnerabilities/imageScannerReports/${repo}`, { reference: digest })
    return body.scannerReports[0]
  })
  await eventually(
    () => api.get(`vulnerabilities/imageFindings/${repo}`, { digest }),
    ({ body }) => body.matched === true,
  )
}
