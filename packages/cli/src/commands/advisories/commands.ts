import type { CommandGroup } from '../../invocation/command-declaration.ts'
import { describeCommand } from './describe.ts'
import { documentsGroup } from './documents.ts'
import { exportCommand } from './export.ts'
import { feedsGroup } from './feeds.ts'
import { importCommand } from './import.ts'
import { listCommand } from './list.ts'
import { publicationGroup } from './publication.ts'

export const advisoriesGroup: CommandGroup = {
  name: 'advisories',
  aliases: ['advisory'],
  summary: 'advisories: which vulnerabilities packages have, and since when they have not',
  commands: [
    listCommand,
    describeCommand,
    importCommand,
    documentsGroup,
    exportCommand,
    feedsGroup,
    publicationGroup,
  ],
}
