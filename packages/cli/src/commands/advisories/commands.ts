import type { CommandBody } from '../../invocation/command-declaration.ts'
import { affectedCommand } from '../images/vulns.ts'
import { describeCommand } from './describe.ts'
import { documentsGroup } from './documents.ts'
import { exportCommand } from './export.ts'
import { feedsGroup } from './feeds.ts'
import { importCommand } from './import/import.ts'
import { listAdvisoriesCommand } from './list.ts'
import { publicationGroup } from './publication.ts'
import { searchCommand } from './search.ts'
import { summaryCommand } from './summary.ts'

export const advisoriesCommands: CommandBody = {
  commands: [
    listAdvisoriesCommand,
    searchCommand,
    describeCommand,
    summaryCommand,
    affectedCommand,
    importCommand,
    documentsGroup,
    exportCommand,
    feedsGroup,
    publicationGroup,
  ],
}
