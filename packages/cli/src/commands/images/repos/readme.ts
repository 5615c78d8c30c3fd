import { readFile } from 'node:fs/promises'
import type { CommandDeclaration } from '../../../invocation/command-declaration.ts'
import { repoParameters, resolveRepo } from './repos.ts'

/** Commands that print and replace the README of a repository. */

export const readmeCommands: readonly CommandDeclaration[] = [
  {
    name: 'readme',
    summary: 'Print the README of a repo',
    parameters: repoParameters,
    examples: ['berth images repos readme my-org/app'],
    async run(invocation) {
      const uid = await resolveRepo(invocation)
      const readme = await (await invocation.client()).repos.getRepoReadme(uid)
      if (invocation.output.format === 'json') invocation.output.line(JSON.stringify(readme, undefined, 2))
      else if (readme.content === '') invocation.output.notice('the repo has no README')
      else invocation.output.line(readme.content.trimEnd())
    },
  },
  {
    name: 'set-readme',
    summary: 'Replace the README of a repo',
    parameters: [
      { ...repoParameters[0], required: true },
      { name: 'FILE', summary: 'Markdown file', required: true },
    ],
    examples: ['berth images repos set-readme my-org/app README.md'],
    async run(invocation) {
      const content = await readFile(invocation.argument(1), 'utf8')
      const uid = await resolveRepo(invocation)
      await (await invocation.client()).repos.updateRepoReadme(uid, { content })
      invocation.output.notice('replaced the README')
    },
  },
]
