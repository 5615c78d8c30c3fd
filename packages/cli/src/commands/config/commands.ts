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
import type { CommandDeclaration, CommandGroup } from '../../invocation/command-declaration.ts'
import { UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { yesOption } from '../../invocation/options.ts'
import { failureReason, request } from '../../session/http.ts'

/** The configuration file: profiles for several servers, each with its properties. */

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
  empty: 'nothing is set',
}

function readProfile(invocation: AuthInvocation): { path: string; file: ConfigFile; profile: string } {
  const path = configPath(invocation.env, invocation.flags)
  const file = readConfigFile(path)
  return { path, file, profile: invocation.flags.profile || invocation.env['BERTH_PROFILE'] || file.profile }
}

/** Changes the profile in use; returns its name. */
function updateProfile(
  invocation: AuthInvocation,
  work: (file: ConfigEditor, profile: string) => void,
): string {
  const { path, profile } = readProfile(invocation)
  updateConfigFile(path, (file) => work(file, profile))
  return profile
}

/** What holds now, as a profile would say it: nothing that is so by itself. */
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
    summary: 'show what holds: flags, environment, profile and defaults',
    options: [{ flags: '--diff', summary: 'only what the file says' }],
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
    summary: 'set a property of the profile in use',
    parameters: [
      { name: 'PROPERTY', summary: `one of:\n${propertyNames}`, required: true },
      { name: 'VALUE', summary: 'its value', required: true },
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
      invocation.output.notice(`${profile}: ${property} is ${value}`)
    },
  },
  {
    name: 'unset',
    summary: 'take a property of the profile in use away',
    parameters: [{ name: 'PROPERTY', summary: 'its name', required: true }],
    examples: ['berth config unset default.group'],
    async run(invocation) {
      const property = invocation.argument(0)
      if (!Object.hasOwn(properties, property))
        throw new UsageError(`${property} ${propertyProblem(property, '')}`)
      const profile = updateProfile(invocation as AuthInvocation, (file, own) => file.unset(own, property))
      invocation.output.notice(`${profile}: ${property} is not set`)
    },
  },
  {
    name: 'use',
    summary: 'work with another profile from now on, made when it is new',
    parameters: [{ name: 'PROFILE', summary: 'its name', required: true }],
    examples: ['berth config use work'],
    async run(invocation) {
      const profile = invocation.argument(0)
      if (!/^[\w.-]{1,64}$/.test(profile))
        throw new UsageError('PROFILE must be letters, digits, dots, hyphens and underscores')
      const { path } = readProfile(invocation as AuthInvocation)
      updateConfigFile(path, (file) => {
        file.add(profile)
        file.use(profile)
      })
      invocation.output.notice(`the profile in use is ${profile}`)
    },
  },
  {
    name: 'profiles',
    summary: 'list the profiles',
    examples: ['berth config profiles'],
    async run(invocation) {
      const { file, profile } = readProfile(invocation as AuthInvocation)
      const names = [...new Set([profile, ...Object.keys(file.profiles)])]
      await invocation.output.list(
        names.map((name) => ({
          name,
          api: String(file.profiles[name]?.['api'] ?? DEFAULT_API),
          used: name === profile,
        })),
        {
          id: ({ name }) => name,
          columns: [
            { title: 'PROFILE', value: ({ name }) => name },
            { title: 'API', value: ({ api }) => api },
            { title: 'IN USE', value: ({ used }) => (used ? 'yes' : '') },
          ],
        },
      )
    },
  },
  {
    name: 'edit',
    summary: 'open the file in an editor; a mistake leaves it as it was',
    examples: ['EDITOR=vi berth config edit'],
    async run(invocation) {
      const { editConfig } = await import('./edit.ts')
      await editConfig(invocation as AuthInvocation)
    },
  },
  {
    name: 'save',
    summary: 'write what flags and environment say into the profile in use',
    options: [yesOption],
    examples: ['BERTH_API=https://berth.example.com berth config save --profile work --yes'],
    async run(invocation) {
      const auth = invocation as AuthInvocation
      const { path, profile } = readProfile(auth)
      const values = nonDefaultSettings(resolveSettings(auth.env, auth.flags, { mayBeNew: true }))
      const words = Object.entries(values).map(([property, value]) => `${property}=${value}`)
      await invocation.prompt.confirm(`Write ${words.join(', ')} into the profile ${profile} of ${path}?`)
      updateProfile(auth, (changed, own) => {
        for (const [property, value] of Object.entries(values)) changed.set(own, property, value)
      })
      invocation.output.notice(`${profile}: ${words.join(', ')}`)
    },
  },
  {
    name: 'reset',
    summary: 'delete the profile in use',
    options: [yesOption],
    examples: ['berth config reset --yes'],
    async run(invocation) {
      const { path, file, profile } = readProfile(invocation as AuthInvocation)
      await invocation.prompt.confirm(`Delete the profile ${profile} of ${path}?`)
      const [next = DEFAULT_PROFILE] = Object.keys(file.profiles).filter((name) => name !== profile)
      updateConfigFile(path, (changed) => {
        changed.remove(profile)
        if (file.profile === profile) changed.use(next)
      })
      invocation.output.notice(`deleted the profile ${profile}`)
    },
  },
  {
    name: 'validate',
    summary: 'whether the file is right and the server can be reached',
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
            return { name, url, result: status === 200 ? 'ok' : `answers ${status}` }
          } catch (error) {
            return { name, url, result: failureReason(error) }
          }
        }),
      )
      await invocation.output.list(results, {
        id: ({ name }) => name,
        columns: [
          { title: 'WHAT', value: ({ name }) => name },
          { title: 'ADDRESS', value: ({ url }) => url },
          { title: 'RESULT', value: ({ result }) => result },
        ],
      })
      if (results.some(({ result }) => result !== 'ok')) process.exitCode = 3
    },
  },
]

export const configGroup: CommandGroup = {
  name: 'config',
  summary: 'the configuration file: profiles for several servers',
  commands,
}
