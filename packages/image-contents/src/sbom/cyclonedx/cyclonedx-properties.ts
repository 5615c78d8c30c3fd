import type { Distribution, PackageOrigin } from '../../contents.ts'
import { documentLimits } from '../../documents/document-limits.ts'
import { parseTime } from '../../documents/document-time.ts'
import { type JsonObject, looseObjectsIn, rawText, shown } from '../../documents/json-values.ts'
import { layerDigest } from '../package-collector.ts'

/** Properties of components, in the names of syft, trivy, and the writer of this package. Missing ones are ''. */
interface ComponentProperties {
  readonly ecosystem: string
  readonly path: string
  readonly layer: string
  readonly architecture: string
  readonly origin: PackageOrigin | undefined
  readonly distribution: Distribution
  readonly built: Date | undefined
  readonly endOfLife: Date | undefined
}

/** Properties that the writer adds where neither CycloneDX nor syft has a name. */
export const ownProperties = {
  architecture: 'berth:package:architecture',
  originName: 'berth:package:origin:name',
  originVersion: 'berth:package:origin:version',
  /** RFC 3339. */
  built: 'berth:package:built',
  endOfLife: 'berth:package:endOfLife',
} as const

/** Properties of a report of vulnerabilities that the writer adds, of the document and of one vulnerability. */
export const reportProperties = {
  /** When the advisories last changed; '' if there are none. Documents with it are reports, also without vulnerabilities. */
  databaseTime: 'berth:advisories:time',
  /** Ecosystem without advisories, and the number of its packages. */
  uncovered: 'berth:advisories:missing',
  /** Advisories have changed since the findings were matched. */
  outdated: 'berth:advisories:outdated',
  state: 'berth:finding:state',
  knownExploited: 'berth:finding:known_exploited',
  epss: 'berth:finding:epss',
} as const

/** Properties of syft, which other readers know. */
export const syftProperties = {
  path: 'syft:location:0:path',
  layer: 'syft:location:0:layerID',
  distributionId: 'syft:distro:id',
  distributionVersion: 'syft:distro:versionID',
  distributionName: 'syft:distro:prettyName',
} as const

const TRIVY = 'aquasecurity:trivy:'

export function propertiesOf(component: JsonObject): ComponentProperties {
  const values = new Map<string, string>()
  for (const property of looseObjectsIn(component, 'properties', documentLimits.reportListMax)) {
    const name = rawText(property, 'name')
    if (!values.has(name))
      values.set(name, shown(rawText(property, 'value'), documentLimits.sbomPathCharsMax))
  }
  const value = (...names: readonly string[]) =>
    names.map((name) => values.get(name) ?? '').find((text) => text !== '') ?? ''
  return {
    ecosystem: value('syft:package:type', `${TRIVY}PkgType`, `${TRIVY}Type`),
    path: value(syftProperties.path, `${TRIVY}FilePath`),
    layer: layerDigest(value(syftProperties.layer, `${TRIVY}LayerDigest`, `${TRIVY}LayerDiffID`)),
    architecture: value(ownProperties.architecture),
    origin: originIn(value),
    distribution: {
      id: value(syftProperties.distributionId),
      versionId: value(syftProperties.distributionVersion),
      name: value(syftProperties.distributionName),
    },
    built: parseTime(value(ownProperties.built)),
    endOfLife: parseTime(value(ownProperties.endOfLife)),
  }
}

/** Trivy splits the version of a source package as rpm and dpkg do. */
function originIn(value: (...names: readonly string[]) => string): PackageOrigin | undefined {
  const own = value(ownProperties.originName)
  if (own !== '') return { name: own, version: value(ownProperties.originVersion) }
  const name = value(`${TRIVY}SrcName`)
  if (name === '') return undefined
  const [epoch, version, release] = ['SrcEpoch', 'SrcVersion', 'SrcRelease'].map((part) =>
    value(TRIVY + part),
  )
  return {
    name,
    version: `${epoch && epoch !== '0' ? `${epoch}:` : ''}${version}${release ? `-${release}` : ''}`,
  }
}
