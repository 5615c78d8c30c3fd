import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ancestorNamesQuery } from '../../api/queries/paths.ts'
import { repoQuery } from '../../api/queries/registry/repos.ts'
import { session } from '../../api/session.ts'
import { Command } from '../../components/copy.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { Tabs } from '../../components/tabs.tsx'

/** Commands with the real host and path; container tools cannot address a repository by its uid. */

export interface ImageCommand {
  /** For the copy button: "the pull command". */
  readonly label: string
  readonly text: string
}

interface UsageProps {
  /** uid of the repository. */
  readonly uid: string
  readonly path: string
  /** Default: all. Container tools do not pull artifacts. */
  readonly of?: readonly Tool[]
  /** Commands of a tool, for the image name with its host and for the path. */
  readonly commands: (tool: Tool, image: string) => readonly ImageCommand[]
}

export const tools = ['docker', 'podman', 'berth'] as const
export type Tool = (typeof tools)[number]

export function Usage({ uid, path, of = tools, commands }: UsageProps) {
  const [repo, ancestors] = [useQuery(repoQuery(uid)), useQuery(ancestorNamesQuery(uid))]
  const [tool, setTool] = useState<Tool>(of[0] ?? 'berth')
  if (repo.data === undefined) return <NotLoaded what="the repository" query={repo} />
  if (ancestors.data === undefined) return <NotLoaded what="the path" query={ancestors} />
  const isAddressable = path !== uid && /^[a-z0-9]+(?:[._/-]+[a-z0-9]+)*$/.test(path)
  if (!isAddressable)
    return (
      <p className="muted">
        {path === uid
          ? 'You do not see all folders above this repository, so its image name is unknown. Ask an administrator for it.'
          : `Container tools cannot use the name ${path}: each part starts and ends with a letter or digit, and has no spaces.`}
      </p>
    )
  const image = tool === 'berth' ? path : `${session.registryHost}/${path}`
  return (
    <Tabs
      label="Tools"
      tabs={of.map((id) => ({ id, title: id }))}
      selected={tool}
      onSelect={(id) => setTool(of.find((one) => one === id) ?? tool)}
    >
      {commands(tool, image).map(({ label, text }) => (
        <Command key={text} text={text} label={label} />
      ))}
    </Tabs>
  )
}

/** Pulls a manifest by its digest. */
export function digestCommands(tool: Tool, image: string, digest: string): readonly ImageCommand[] {
  const text =
    tool === 'berth' ? `berth images pull ${image}@${digest} ./image` : `${tool} pull ${image}@${digest}`
  return [{ label: 'the pull command', text }]
}

/** Signs a tool in; docker gets a helper that always has a current token. */
const login: Readonly<Record<Tool, string>> = {
  docker: 'berth auth configure-docker',
  podman: `berth auth token --audience ${session.registryHost} | podman login ${session.registryHost} --username _token --password-stdin`,
  berth: 'berth auth login',
}

export function repoCommands(tool: Tool, image: string): readonly ImageCommand[] {
  const isBerth = tool === 'berth'
  return [
    { label: 'the login command', text: login[tool] },
    {
      label: 'the pull command',
      text: isBerth ? `berth images pull ${image}:latest ./image` : `${tool} pull ${image}:latest`,
    },
    {
      label: 'the push command',
      text: isBerth ? `berth images push ./image ${image}:latest` : `${tool} push ${image}:latest`,
    },
  ]
}
