import { Argument, type Command } from 'commander'

/** Shell completion: the words that may follow, from the commands as they are declared. */

const shells = ['bash', 'zsh', 'fish'] as const

export function addCompletionCommand(program: Command, every: () => Promise<Command>): void {
  program
    .command('completion')
    .description('print a script that completes commands, for a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      `
Examples:
  source <(berth completion bash)
  berth completion zsh > "\${fpath[1]}/_berth"
  berth completion fish > ~/.config/fish/completions/berth.fish
`,
    )
    .action(async (shell: (typeof shells)[number]) => {
      process.stdout.write(scripts[shell](wordsOf(await every())))
    })
}

/** The words after each command: `iam` → `folders roles …`, `iam folders` → `list create …`. */
function wordsOf(program: Command): ReadonlyMap<string, readonly string[]> {
  const words = new Map<string, string[]>()
  const walk = (command: Command, path: string) => {
    const flags = command.options
      .filter(({ hidden }) => !hidden)
      .map(({ long, short }) => long ?? short ?? '')
      .filter((flag) => flag !== '')
    const names = command.commands.map((inner) => inner.name())
    words.set(path, [...names, ...flags, '--help'])
    for (const inner of command.commands) {
      for (const name of [inner.name(), ...inner.aliases()])
        walk(inner, path === '' ? name : `${path} ${name}`)
    }
  }
  walk(program, '')
  return words
}

type Words = ReadonlyMap<string, readonly string[]>

const cases = (words: Words) =>
  [...words].map(([path, next]) => `    '${path}') echo '${next.join(' ')}' ;;`).join('\n')

/** The commands among the words so far, which flags and their values are not. */
const shared = (words: Words) => `_berth_next() {
  case "$1" in
${cases(words)}
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

const scripts: Readonly<Record<(typeof shells)[number], (words: Words) => string>> = {
  bash: (words) => `${shared(words)}_berth() {
  local word="\${COMP_WORDS[COMP_CWORD]}"
  local path
  path="$(_berth_path "\${COMP_WORDS[@]:1:COMP_CWORD-1}")"
  COMPREPLY=($(compgen -W "$(_berth_next "$path")" -- "$word"))
}
complete -o default -F _berth berth
`,
  zsh: (words) => `#compdef berth
${shared(words)}_berth() {
  local path
  path="$(_berth_path \${words[2,CURRENT-1]})"
  compadd -- \${=$(_berth_next "$path")}
}
compdef _berth berth
`,
  fish: (words) => {
    const lines = [...words].map(
      ([path, next]) => `    case '${path}'\n      printf '%s\\n' ${next.join(' ')}`,
    )
    return `function __berth_next
  switch "$argv[1]"
${lines.join('\n')}
    case '*'
      return 1
  end
end
function __berth_complete
  set -l path ''
  for word in (commandline -opc)[2..]
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
