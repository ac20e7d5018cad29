/** The completion script for bash. */
import { listFixedValues, optionsWithValue, type Place } from './places.js'

export function writeBashScript(places: readonly Place[]): readonly string[] {
  return [
    '# Completes the command line of posthorn in bash. "posthorn completion bash" writes it.',
    '_posthorn() {',
    "  local name='' skip='' words='' options='' files='' i next",
    '  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}',
    '  # "=" is a word to bash.',
    '  if [[ $cur == = ]]; then',
    "    cur=''",
    '  elif [[ $prev == = ]]; then',
    '    prev=${COMP_WORDS[COMP_CWORD - 2]}',
    '  fi',
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    '    next=${COMP_WORDS[i]}',
    '    if [[ $next == = ]]; then',
    '      skip=yes',
    '      continue',
    '    elif [[ -n $skip ]]; then',
    "      skip=''",
    '      continue',
    '    fi',
    '    case $next in',
    `      ${[...optionsWithValue(places, true), ...optionsWithValue(places, false)].join(' | ')})`,
    '        skip=yes',
    '        continue',
    '        ;;',
    '      -*) continue ;;',
    '      help) if [[ -z $name ]]; then continue; fi ;;',
    '    esac',
    '    next=${name:+$name }$next',
    '    case $next in',
    `      ${namesOf(places)}) name=$next ;;`,
    '    esac',
    '  done',
    '  case "$name $prev" in',
    ...listFixedValues(places).map(
      ({ place, option, words }) => `    '${place} ${option}') words='${words.join(' ')}' ;;`,
    ),
    '  esac',
    '  if [[ -n $words ]]; then',
    '    # Of a list, the last item is completed.',
    '    COMPREPLY=($(compgen -P "${cur%"${cur##*,}"}" -W "$words" -- "${cur##*,}"))',
    '    return',
    '  fi',
    '  case $prev in',
    `    ${optionsWithValue(places, true).join(' | ')}) files=yes ;;`,
    `    ${optionsWithValue(places, false).join(' | ')}) return ;;`,
    '    *)',
    '      case $name in',
    ...places.map((place) => `        ${placeOf(place)}`),
    '      esac',
    '      ;;',
    '  esac',
    '  if [[ $cur == -* ]]; then',
    '    COMPREPLY=($(compgen -W "$options" -- "$cur"))',
    '  elif [[ -n $files ]]; then',
    '    compopt -o filenames 2>/dev/null',
    '    mapfile -t COMPREPLY < <(compgen -f -- "$cur")',
    '  else',
    '    COMPREPLY=($(compgen -W "$words" -- "$cur"))',
    '  fi',
    '}',
    'complete -F _posthorn posthorn',
  ]
}

function namesOf(places: readonly Place[]): string {
  const names = places.map(({ name }) => name).filter((name) => name !== '')
  return names.map((name) => `'${name}'`).join(' | ')
}

function placeOf({ name, next, options, takesFile }: Place): string {
  const set = [
    `words='${next.map(({ word }) => word).join(' ')}'`,
    `options='${options.map((option) => option.name).join(' ')}'`,
    ...(takesFile ? ['files=yes'] : []),
  ]
  return `'${name}') ${set.join(' ')} ;;`
}
