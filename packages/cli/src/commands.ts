import { Command } from 'commander'
import { addCommand, type CommandBody } from './invocation/command-declaration.ts'
import { addGlobalFlags, createInvoker } from './invocation/invoke.ts'
import { loadServerModule, type ServerPackage } from './server-package.ts'
import { version } from './version.ts'

/** The top-level commands. The root help is printed from this list; an implementation is loaded only to run it or print its help. */
interface TopLevelCommand {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly summary: string
  /** Sends no requests to a server. */
  readonly local?: boolean
  /** The server package implements it. */
  readonly isOperatorCommand?: boolean
  readonly load: (server: ServerPackage | undefined) => Promise<CommandBody>
}

const operatorCommand =
  (name: 'serve' | 'migrate' | 'admin'): TopLevelCommand['load'] =>
  async (server) =>
    (await loadServerModule(server?.operatorCommands)).operatorCommands[name]()

const commands: readonly TopLevelCommand[] = [
  {
    name: 'auth',
    summary: 'Sign in and manage tokens and registry credentials',
    load: async () => (await import('./commands/auth/commands.ts')).authCommands,
  },
  {
    name: 'iam',
    summary: 'Manage access: organizations, folders, identities, roles',
    load: async () => (await import('./commands/iam/commands.ts')).iamCommands,
  },
  {
    name: 'images',
    aliases: ['image'],
    summary: 'Copy, inspect and tag images; manage repositories',
    load: async () => (await import('./commands/images/commands.ts')).imagesCommands,
  },
  {
    name: 'advisories',
    aliases: ['advisory'],
    summary: 'Manage vulnerability advisories',
    load: async () => (await import('./commands/advisories/commands.ts')).advisoriesCommands,
  },
  {
    name: 'search',
    summary: 'Find resources by name, tag, digest, CVE ID or uid',
    load: async () => (await import('./commands/search.ts')).searchCommand,
  },
  {
    name: 'policies',
    aliases: ['policy'],
    summary: 'Decide which images may be pulled',
    load: async () => (await import('./commands/policies/commands.ts')).policiesCommands,
  },
  {
    name: 'audit',
    summary: 'Show the audit log: changes, denied calls and issued tokens',
    load: async () => (await import('./commands/audit/commands.ts')).auditCommands,
  },
  {
    name: 'usage',
    summary: 'Show resources and stored bytes of organizations, and their limits',
    load: async () => (await import('./commands/usage.ts')).usageCommand,
  },
  {
    name: 'open',
    summary: 'Open a page of the server in a browser',
    load: async () => (await import('./commands/open.ts')).openCommand,
  },
  {
    name: 'config',
    summary: 'Manage the configuration file and its profiles',
    load: async () => (await import('./commands/config/commands.ts')).configCommands,
  },
  {
    name: 'kubelet-credential-provider',
    summary: 'Provide registry credentials to the kubelet',
    load: async () => (await import('./commands/auth/kubelet-command.ts')).kubeletCommand,
  },
  {
    name: 'completion',
    summary: 'Print a completion script for a shell',
    local: true,
    load: async () => (await import('./completion/scripts.ts')).completionCommand,
  },
  {
    name: 'serve',
    summary: 'Start the server: API, registry and token service on one port',
    local: true,
    isOperatorCommand: true,
    load: operatorCommand('serve'),
  },
  {
    name: 'migrate',
    summary: 'Migrate the database schema, as serve does when it starts',
    local: true,
    isOperatorCommand: true,
    load: operatorCommand('migrate'),
  },
  {
    name: 'admin',
    summary: 'Administer the installation: works on its data directory and database',
    local: true,
    isOperatorCommand: true,
    load: operatorCommand('admin'),
  },
]

/** Adds all commands to a program and loads the implementation of those that `isWanted` selects. */
async function addCommands(
  program: Command,
  server: ServerPackage | undefined,
  isWanted: (command: TopLevelCommand) => boolean,
): Promise<Command> {
  const createInvocation = createInvoker(process.env, server)
  for (const command of commands) {
    const { load, ...declaration } = command
    if (isWanted(command)) addCommand(program, { ...declaration, ...(await load(server)) }, createInvocation)
    else addCommand(program, { ...declaration, commands: [] }, createInvocation)
  }
  return program
}

/** Creates the program with the implementation of the command that the arguments name. */
export async function createProgram(
  args: readonly string[],
  server: ServerPackage | undefined,
): Promise<Command> {
  const program = createRootCommand()
  const { operands } = createRootCommand().parseOptions([...args])
  const [name = ''] = operands[0] === 'help' ? operands.slice(1) : operands
  return addCommands(program, server, (command) => [command.name, ...(command.aliases ?? [])].includes(name))
}

/** Creates the program with the implementations of all commands that this process can load. */
export function loadAllCommands(server: ServerPackage | undefined): Promise<Command> {
  const hasServer = server !== undefined && server.needsRestart !== true
  return addCommands(
    createRootCommand(),
    server,
    ({ isOperatorCommand }) => hasServer || isOperatorCommand !== true,
  )
}

function createRootCommand(): Command {
  const program = new Command('berth')
    .description('Berth: a self-hosted control plane for container images.')
    .version(version(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'Print the help of a command')
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      outputError: (text, write) => write(withoutHelpSuggestion(text).replace(/^error: /, 'berth: ')),
    })
  // The root help does not know the parameters of commands that are not loaded.
  program.createHelp = () => {
    const help = Command.prototype.createHelp.call(program)
    help.subcommandTerm = (command) => [command.name(), ...command.aliases().slice(0, 1)].join('|')
    return help
  }
  addGlobalFlags(program)
  return program.addHelpText(
    'after',
    `
Examples:
  berth serve                       start the server on 127.0.0.1:8080 with data in ./data
  berth auth login                  sign in with a browser
  berth iam folders list -o tree    show organizations and folders as a tree
  berth admin bootstrap --json      create the first organization and its owner, and print a token
`,
  )
}

/** Commander finds every short option similar to `--help`. */
export const withoutHelpSuggestion = (text: string) => text.replace('\n(Did you mean --help?)', '')
