import { type ConfigEditor, updateConfigFile } from '../../config/change-file.ts'
import {
  type ConfigFile,
  configPath,
  DEFAULT_API,
  DEFAULT_PROFILE,
  properties,
  propertyProblem,
  readConfigFile,
  resolveSettings,
  type Settings,
} from '../../config/settings.ts'
import type { CommandBody, CommandDeclaration } from '../../invocation/command-declaration.ts'
import { UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { listCommand } from '../../invocation/list-command.ts'
import { yesOption } from '../../invocation/options.ts'
import type { View } from '../../output/output.ts'
import { failureReason, request } from '../../session/http.ts'

/** Commands for the configuration file, which has a profile for each server. */

const propertyNames = Object.entries(properties)
  .map(([name, meaning]) => `  ${name.padEnd(26)} ${meaning}`)
  .join('\n')

interface Setting {
  readonly property: string
  readonly value: string
}

const view = {
  columns: [
    { title: 'PROPERTY', value: ({ property }: Setting) => property },
    { title: 'VALUE', value: ({ value }: Setting) => value },
  ],
  id: ({ property }: Setting) => property,
  empty: 'no properties are set',
}

interface Profile {
  readonly name: string
  readonly api: string
  readonly used: boolean
}

const profileView: View<Profile> = {
  id: ({ name }) => name,
  columns: [
    { title: 'PROFILE', value: ({ name }) => name },
    { title: 'API', value: ({ api }) => api },
    { title: 'CURRENT', value: ({ used }) => (used ? 'yes' : '') },
  ],
}

function readProfile(invocation: AuthInvocation): { path: string; file: ConfigFile; profile: string } {
  const path = configPath(invocation.env, invocation.flags)
  const file = readConfigFile(path)
  return { path, file, profile: invocation.flags.profile || invocation.env['BERTH_PROFILE'] || file.profile }
}

/** Changes the current profile. Returns its name. */
function updateProfile(
  invocation: AuthInvocation,
  work: (file: ConfigEditor, profile: string) => void,
): string {
  const { path, profile } = readProfile(invocation)
  updateConfigFile(path, (file) => work(file, profile))
  return profile
}

/** Returns the effective settings without the defaults. */
function nonDefaultSettings({ api, issuer, audience, properties: set }: Settings): Record<string, string> {
  return {
    ...set,
    api,
    ...(issuer === api ? {} : { issuer }),
    ...(audience === api ? {} : { audience }),
  }
}

const commands: readonly CommandDeclaration[] = [
  {
    name: 'view',
    summary: 'Show effective settings',
    options: [{ flags: '--diff', summary: 'only properties of the configuration file' }],
    examples: ['berth config view', 'berth config view --diff -o yaml'],
    async run(invocation) {
      const auth = invocation as AuthInvocation
      const { file, profile } = readProfile(auth)
      const own = file.profiles[profile] ?? {}
      const { api, issuer, audience, registry, properties: set } = resolveSettings(auth.env, auth.flags)
      const all = invocation.flag('diff') ? own : { profile, api, issuer, audience, registry, ...set }
      await invocation.output.list(
        Object.entries(all).map(([property, value]) => ({ property, value: String(value) })),
        view,
      )
    },
  },
  {
    name: 'set',
    summary: 'Set a property of the current profile',
    parameters: [
      { name: 'PROPERTY', summary: `property name:\n${propertyNames}`, required: true },
      { name: 'VALUE', summary: 'value', required: true },
    ],
    examples: [
      'berth config set api https://berth.example.com',
      'berth config set default.group my-org --profile work',
    ],
    async run(invocation) {
      const [property, value] = [invocation.argument(0), invocation.argument(1)]
      const problem = propertyProblem(property, value)
      if (problem !== undefined) throw new UsageError(`${property} ${problem}`)
      const profile = updateProfile(invocation as AuthInvocation, (file, own) =>
        file.set(own, property, value),
      )
      invocation.output.notice(`${profile}: ${property} is set to ${value}`)
    },
  },
  {
    name: 'unset',
    summary: 'Unset a property of the current profile',
    parameters: [{ name: 'PROPERTY', summary: 'property name', required: true }],
    examples: ['berth config unset default.group'],
    async run(invocation) {
      const property = invocation.argument(0)
      if (!Object.hasOwn(properties, property))
        throw new UsageError(`${property} ${propertyProblem(property, '')}`)
      const profile = updateProfile(invocation as AuthInvocation, (file, own) => file.unset(own, property))
      invocation.output.notice(`${profile}: ${property} is unset`)
    },
  },
  {
    name: 'use',
    summary: 'Switch to a profile; create it if it does not exist',
    parameters: [{ name: 'PROFILE', summary: 'profile name', required: true }],
    examples: ['berth config use work'],
    async run(invocation) {
      const profile = invocation.argument(0)
      if (!/^[\w.-]{1,64}$/.test(profile))
        throw new UsageError('PROFILE must consist of 1-64 letters, digits, periods, hyphens and underscores')
      const { path } = readProfile(invocation as AuthInvocation)
      updateConfigFile(path, (file) => {
        file.add(profile)
        file.use(profile)
      })
      invocation.output.notice(`switched to profile ${profile}`)
    },
  },
  listCommand({
    name: 'profiles',
    summary: 'List profiles',
    examples: ['berth config profiles'],
    view: () => profileView,
    items(invocation) {
      const { file, profile } = readProfile(invocation as AuthInvocation)
      const names = [...new Set([profile, ...Object.keys(file.profiles)])]
      return names.map((name) => ({
        name,
        api: String(file.profiles[name]?.['api'] ?? DEFAULT_API),
        used: name === profile,
      }))
    },
  }),
  {
    name: 'edit',
    summary: 'Edit the configuration file; an invalid edit is not saved',
    examples: ['EDITOR=vi berth config edit'],
    async run(invocation) {
      const { editConfig } = await import('./edit.ts')
      await editConfig(invocation as AuthInvocation)
    },
  },
  {
    name: 'save',
    summary: 'Save flags and environment variables to the current profile',
    options: [yesOption],
    examples: ['BERTH_API=https://berth.example.com berth config save --profile work --yes'],
    async run(invocation) {
      const auth = invocation as AuthInvocation
      const { path, profile } = readProfile(auth)
      const values = nonDefaultSettings(resolveSettings(auth.env, auth.flags, { mayBeNew: true }))
      const words = Object.entries(values).map(([property, value]) => `${property}=${value}`)
      await invocation.prompt.confirm(`Save ${words.join(', ')} to profile ${profile} in ${path}?`)
      updateProfile(auth, (changed, own) => {
        for (const [property, value] of Object.entries(values)) changed.set(own, property, value)
      })
      invocation.output.notice(`${profile}: ${words.join(', ')}`)
    },
  },
  {
    name: 'reset',
    summary: 'Delete the current profile',
    options: [yesOption],
    examples: ['berth config reset --yes'],
    async run(invocation) {
      const { path, file, profile } = readProfile(invocation as AuthInvocation)
      await invocation.prompt.confirm(`Delete profile ${profile} in ${path}?`)
      const [next = DEFAULT_PROFILE] = Object.keys(file.profiles).filter((name) => name !== profile)
      updateConfigFile(path, (changed) => {
        changed.remove(profile)
        if (file.profile === profile) changed.use(next)
      })
      invocation.output.notice(`deleted profile ${profile}`)
    },
  },
  {
    name: 'validate',
    summary: 'Check the configuration file and the connection to the server',
    examples: ['berth config validate'],
    async run(invocation) {
      const { settings } = invocation as AuthInvocation
      const checks = [
        { name: 'api', url: `${settings.api}/healthz` },
        { name: 'issuer', url: `${settings.issuer}/.well-known/openid-configuration` },
      ]
      const results = await Promise.all(
        checks.map(async ({ name, url }) => {
          try {
            const { status } = await request(url)
            return { name, url, result: status === 200 ? 'ok' : `status ${status}` }
          } catch (error) {
            return { name, url, result: failureReason(error) }
          }
        }),
      )
      await invocation.output.list(results, {
        id: ({ name }) => name,
        columns: [
          { title: 'NAME', value: ({ name }) => name },
          { title: 'URL', value: ({ url }) => url },
          { title: 'RESULT', value: ({ result }) => result },
        ],
      })
      if (results.some(({ result }) => result !== 'ok')) process.exitCode = 3
    },
  },
]

export const configCommands: CommandBody = {
  commands,
}
