import type { CommandGroup } from '../client/command.ts'
import { exportCommand } from './export.ts'
import { publication } from './publication.ts'

/** Advisories: what is known of vulnerabilities in what an organization ships. */
export const advisories: CommandGroup = {
  name: 'advisories',
  aliases: ['advisory'],
  summary: 'advisories: what is known of vulnerabilities',
  commands: [exportCommand, publication],
}
