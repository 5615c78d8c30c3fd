import type { ToldDocument, ToldEvent } from './documents.ts'

/** A document as the file that it is published in. */
export function yamlOf({ package: name, advisories }: ToldDocument): string {
  const parts = advisories.map(({ id, aliases, events }) =>
    [
      `  - id: ${id}`,
      '    aliases:',
      ...aliases.map((alias) => `      - ${alias}`),
      '    events:',
      ...events.flatMap(linesOf),
      '',
    ].join('\n'),
  )
  return `schema-version: 2.0.2\n\npackage:\n  name: ${name}\n\nadvisories:\n${parts.join('\n')}`
}

function linesOf(event: ToldEvent): string[] {
  const time = `${new Date(event.timeMs).toISOString().slice(0, 19)}Z`
  return [
    `      - timestamp: ${time}`,
    `        type: ${event.type}`,
    '        data:',
    ...dataOf(event).map((line) => `          ${line}`),
  ]
}

function dataOf(event: ToldEvent): string[] {
  switch (event.type) {
    case 'detection': {
      const scan = { ...event.scan, scanner: 'grype' }
      return ['type: scan/v1', 'data:', ...Object.entries(scan).map(([key, value]) => `  ${key}: ${value}`)]
    }
    case 'fixed':
      return [`fixed-version: ${event.version}`]
    case 'false-positive-determination':
      return ['type: vulnerable-code-not-included-in-package', `note: ${event.note}`]
    default:
      return [`note: ${event.note}`]
  }
}
