import { useState } from 'react'
import { Command, quoted } from '../../../components/copy.tsx'
import { SelectField } from '../../../components/field.tsx'

interface SnippetProps {
  /** URL of the files. */
  readonly base: string
  readonly name: string
  readonly isPublic: boolean
  /** Distribution in OSV, such as `Wolfi` or `Alpine:v3.20`. */
  readonly ecosystem: string
}

interface Scanner {
  readonly id: string
  readonly name: string
  readonly note: string
  readonly commands: readonly string[]
}

/** The configuration of scanners, as docs/advisories-publishing.md has it. */
function scannersOf({ base, name, isPublic, ecosystem }: SnippetProps): readonly Scanner[] {
  const header = isPublic ? '' : '--header "Authorization: Bearer $(berth auth token)" '
  // Folders of the scanner are named without the release.
  const [folder = ''] = ecosystem.split(':')
  const inFolder = (cache: string, file = '') => quoted(`osv/${cache}/${folder}/${file}`)
  const curl = `curl --fail --silent --show-error ${header}`
  return [
    {
      id: 'osv-scanner',
      name: 'osv-scanner',
      note: 'Reads a local database: one zip file for each ecosystem.',
      commands: [
        'export OSV_SCANNER_LOCAL_DB_CACHE_DIRECTORY=$PWD/osv',
        `mkdir -p ${inFolder('osv-scanner')} ${inFolder('osv-scalibr')}`,
        `${curl}--output ${inFolder('osv-scanner', 'all.zip')} ${base}/osv/all.zip`,
        // The location in later versions.
        `cp ${inFolder('osv-scanner', 'all.zip')} ${inFolder('osv-scalibr')}`,
        'osv-scanner scan image --offline-vulnerabilities my-image:latest',
      ],
    },
    {
      id: 'trivy',
      name: 'Trivy',
      note: `Reads the document of one artifact, here git${isPublic ? ', or all of them as a VEX repository' : ''}.`,
      commands: [
        `${curl}--output git.vex.json ${base}/openvex/git.json`,
        'trivy image --vex git.vex.json my-image:latest',
        ...(isPublic ? repositoryCommands(base, name) : []),
      ],
    },
    {
      id: 'grype',
      name: 'Grype',
      note: 'Reads the document of one artifact, here git.',
      commands: [
        `${curl}--output git.vex.json ${base}/openvex/git.json`,
        'grype my-image:latest --vex git.vex.json',
      ],
    },
    {
      id: 'vexctl',
      name: 'vexctl',
      note: 'Filters the report of a scanner.',
      commands: [
        `${curl}--output git.vex.json ${base}/openvex/git.json`,
        'vexctl filter report.sarif.json git.vex.json',
      ],
    },
  ]
}

const repositoryCommands = (base: string, name: string): readonly string[] => [
  `printf 'repositories:\\n  - {name: ${name.replace(/[^\w.-]/g, '-')}, url: "${base}/openvex", enabled: true}\\n' > ~/.trivy/vex/repository.yaml`,
  'trivy image --vex repo my-image:latest',
]

/** Commands that make scanners use what a folder publishes. */
export function ScannerSnippets(props: SnippetProps) {
  const scanners = scannersOf(props)
  const [id, setId] = useState('osv-scanner')
  const scanner = scanners.find((one) => one.id === id)
  return (
    <section>
      <h2>Use it in a scanner</h2>
      <div className="filter-bar">
        <div className="filter">
          <SelectField label="Scanner" choices={scanners} value={id} onChange={setId} />
        </div>
      </div>
      <p className="muted note">{scanner?.note}</p>
      {scanner?.commands.map((command, at) => (
        <Command key={command} text={command} label={`command ${at + 1}`} />
      ))}
    </section>
  )
}
