import type { Command, Option } from 'commander'
import { formats } from './config/settings.ts'
import type { CommandBody } from './invocation/command-declaration.ts'

/** Shell completion, generated from the declared commands. */

const shells = ['bash', 'zsh', 'fish'] as const

/** `localCommands`: commands that send no requests, and have no flags for a server. */
export function completionCommand(
  loadAllCommands: () => Promise<Command>,
  localCommands: readonly string[],
): CommandBody {
  return {
    parameters: [
      { name: 'SHELL', summary: 'shell to generate the script for', required: true, choices: shells },
    ],
    examples: [
      'source <(berth completion bash)',
      `berth completion zsh > "\${fpath[1]}/_berth"`,
      'berth completion fish > ~/.config/fish/completions/berth.fish',
    ],
    async run(invocation) {
      const shell = invocation.argument(0) as (typeof shells)[number]
      process.stdout.write(scripts[shell](buildCompletionTable(await loadAllCommands(), localCommands)))
    },
  }
}

interface CompletionTable {
  /** The words after each command: `iam` → `folders roles …`, `iam folders list` → `--parent --output …`. */
  readonly next: ReadonlyMap<string, readonly string[]>
  /** The allowed values of each flag; empty for any text. */
  readonly values: ReadonlyMap<string, readonly string[]>
}

function buildCompletionTable(program: Command, localCommands: readonly string[]): CompletionTable {
  const next = new Map<string, string[]>()
  const values = new Map<string, string[]>()
  const walk = (command: Command, path: string, shared: readonly Option[]) => {
    const options = [...command.options, ...shared].filter(({ hidden }) => !hidden)
    for (const { long, short, required, argChoices = [] } of options)
      for (const flag of [long, short])
        if (required && flag) values.set(flag, [...new Set([...(values.get(flag) ?? []), ...argChoices])])
    const names = command.commands.map((inner) => inner.name())
    const flags = names.length > 0 && path !== '' ? [] : options.flatMap(({ long }) => long ?? [])
    next.set(path, [...new Set([...names, ...flags, '--help'])])
    for (const inner of command.commands) {
      const own = path === '' && localCommands.includes(inner.name())
      for (const name of [inner.name(), ...inner.aliases()])
        walk(inner, path === '' ? name : `${path} ${name}`, own ? [] : shared)
    }
  }
  walk(
    program,
    '',
    program.options.filter(({ long }) => long !== '--version'),
  )
  values.set('--output', [...formats])
  values.set('-o', [...formats])
  return { next, values }
}

const joinPatterns = (flags: readonly string[]) => flags.join('|')

/** Groups flags with the same values into one shell case. */
function flagsByValues({ values }: CompletionTable): [flags: string[], words: string][] {
  const grouped = Map.groupBy(values, ([, words]) => words.join(' '))
  return [...grouped].map(([words, flags]) => [flags.map(([flag]) => flag), words])
}

/** Finds the command path among the words typed so far, skipping flags and their values. */
const posixFunctions = (words: CompletionTable) => `_berth_next() {
  case "$1" in
${[...words.next].map(([path, next]) => `    '${path}') echo '${next.join(' ')}' ;;`).join('\n')}
    *) return 1 ;;
  esac
}
_berth_values() {
  case "$1" in
${flagsByValues(words)
  .map(([flags, values]) => `    ${joinPatterns(flags)}) echo '${values}' ;;`)
  .join('\n')}
    *) return 1 ;;
  esac
}
_berth_path() {
  local path='' word candidate
  for word in "$@"; do
    case "$word" in -*) continue ;; esac
    candidate="\${path:+$path }$word"
    if _berth_next "$candidate" > /dev/null; then path="$candidate"; fi
  done
  echo "$path"
}
`

const scripts: Readonly<Record<(typeof shells)[number], (words: CompletionTable) => string>> = {
  bash: (words) => `${posixFunctions(words)}_berth() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words
  words="$(_berth_values "\${COMP_WORDS[COMP_CWORD-1]}")" ||
    words="$(_berth_next "$(_berth_path "\${COMP_WORDS[@]:1:COMP_CWORD-1}")")"
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _berth berth
`,
  zsh: (words) => `#compdef berth
${posixFunctions(words)}_berth() {
  local next
  next="$(_berth_values "\${words[CURRENT-1]}")" ||
    next="$(_berth_next "$(_berth_path \${words[2,CURRENT-1]})")"
  if [[ -n "$next" ]]; then compadd -- \${=next}; else _files; fi
}
# In a file of fpath, this is the body of _berth itself.
if [[ "\${funcstack[1]}" == _berth ]]; then _berth; else compdef _berth berth; fi
`,
  fish: (words) => {
    const next = [...words.next].map(
      ([path, after]) => `    case '${path}'\n      printf '%s\\n' ${after.join(' ')}`,
    )
    const values = flagsByValues(words).map(
      ([flags, each]) =>
        `    case ${flags.join(' ')}\n      ${each === '' ? 'return 0' : `printf '%s\\n' ${each}`}`,
    )
    return `function __berth_next
  switch "$argv[1]"
${next.join('\n')}
    case '*'
      return 1
  end
end
function __berth_values
  switch "$argv[1]"
${values.join('\n')}
    case '*'
      return 1
  end
end
function __berth_complete
  set -l words (commandline -opc)
  __berth_values "$words[-1]"; and return
  set -l path ''
  for word in $words[2..]
    string match -q -- '-*' $word; and continue
    set -l candidate (string trim "$path $word")
    __berth_next $candidate > /dev/null; and set path $candidate
  end
  __berth_next "$path"
end
complete -c berth -f -a '(__berth_complete)'
`
  },
}
