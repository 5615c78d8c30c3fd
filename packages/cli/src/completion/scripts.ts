import type { CommandBody } from '../invocation/command-declaration.ts'

/**
 * Shell completion: scripts that ask the command line itself, so that they complete names of the server and stay current after an
 * update. `berth __complete WORD…` prints a candidate per line, with a description after a tab, or `:files`.
 */

const shells = ['bash', 'zsh', 'fish'] as const

export const completionCommand: CommandBody = {
  parameters: [
    { name: 'SHELL', summary: 'shell to generate the script for', required: true, choices: shells },
  ],
  notes:
    'Completes commands, flags, and names of groups, roles, identities, repos, tags and profiles.\nNames come from the server if you are signed in; they are cached for a minute.',
  examples: [
    'source <(berth completion bash)',
    `berth completion zsh > "\${fpath[1]}/_berth"`,
    'berth completion fish > ~/.config/fish/completions/berth.fish',
  ],
  async run(invocation) {
    process.stdout.write(scripts[invocation.argument(0) as (typeof shells)[number]])
  },
}

/** Readline breaks words at colons and equals signs, and replaces only the part after them. */
const bash = `_berth() {
  local typed="\${COMP_LINE:0:COMP_POINT}" words line value IFS=$'\\n'
  IFS=' ' read -ra words <<< "$typed"
  [[ "$typed" == *' ' ]] && words+=('')
  local word="\${words[-1]}" before
  before="\${word%"\${word##*[:=]}"}"
  COMPREPLY=()
  for line in $("\${words[0]}" __complete "\${words[@]:1}" 2> /dev/null); do
    if [[ "$line" == :files ]]; then compopt -o default 2> /dev/null; continue; fi
    value="\${line%%$'\\t'*}"
    COMPREPLY+=("\${value#"$before"}")
  done
}
complete -F _berth berth
`

const zsh = `#compdef berth
_berth() {
  local -a lines values descriptions
  local line
  lines=("\${(@f)$("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2> /dev/null)}")
  if [[ "\${lines[1]}" == :files ]]; then _files; return; fi
  for line in $lines; do
    values+=("\${line%%$'\\t'*}")
    descriptions+=("\${line/$'\\t'/  }")
  done
  compadd -U -d descriptions -- $values
}
# In a file of fpath, this is the body of _berth itself.
if [[ "\${funcstack[1]}" == _berth ]]; then _berth; else compdef _berth berth; fi
`

const fish = `function __berth_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l lines ($words[1] __complete $words[2..] 2> /dev/null)
  if test "$lines[1]" = :files
    __fish_complete_path (commandline -ct)
  else
    printf '%s\\n' $lines
  end
end
complete -c berth -f -a '(__berth_complete)'
`

const scripts: Readonly<Record<(typeof shells)[number], string>> = { bash, zsh, fish }
