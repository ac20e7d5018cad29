/** The completion script for bash, and the part of it that zsh has too. */
import { listFixedValues, optionsWithValue, type Place } from './places.js'

export function writeBashScript(places: readonly Place[]): string {
  const fixed = listFixedValues(places).map(({ place, option, words }) => {
    return `    '${place} ${option}') words='${words.join(' ')}' ;;`
  })
  return `# Completes the command line of posthorn in bash. "posthorn completion bash" writes it.
_posthorn() {
  local name='' skip='' words='' options='' files='' i next
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]}
  # "=" is a word to bash.
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = ]]; then
    prev=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    next=\${COMP_WORDS[i]}
    if [[ $next == = ]]; then
      skip=yes
      continue
    fi
${writeWordReader(places)}
  done
  case "$name $prev" in
${fixed.join('\n')}
  esac
  if [[ -n $words ]]; then
    # The last item of a list is completed.
    COMPREPLY=($(compgen -P "\${cur%"\${cur##*,}"}" -W "$words" -- "\${cur##*,}"))
    return
  fi
${writeReplies(places)}
}
complete -F _posthorn posthorn
`
}

function writeReplies(places: readonly Place[]): string {
  return `  case $prev in
    ${optionsWithValue(places, true).join(' | ')}) files=yes ;;
    ${optionsWithValue(places, false).join(' | ')}) return ;;
    *)
      case $name in
${places.map((place) => `        ${placeOf(place)}`).join('\n')}
      esac
      ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  fi`
}

/** The part of the loop that reads a word, `next`, before the cursor. It adds a word of a command to `name`. */
export function writeWordReader(places: readonly Place[]): string {
  const withValue = [...optionsWithValue(places, true), ...optionsWithValue(places, false)]
  const names = places.flatMap(({ name }) => (name === '' ? [] : [`'${name}'`]))
  return `    if [[ -n $skip ]]; then
      skip=''
      continue
    fi
    case $next in
      ${withValue.join(' | ')})
        skip=yes
        continue
        ;;
      -*) continue ;;
      help) if [[ -z $name ]]; then continue; fi ;;
    esac
    next=\${name:+$name }$next
    case $next in
      ${names.join(' | ')}) name=$next ;;
    esac`
}

function placeOf({ name, next, options, takesFile }: Place): string {
  const words = next.map(({ word }) => word).join(' ')
  const names = options.map((option) => option.name).join(' ')
  return `'${name}') words='${words}' options='${names}'${takesFile ? ' files=yes' : ''} ;;`
}
