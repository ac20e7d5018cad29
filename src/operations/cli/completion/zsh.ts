/** The completion script for zsh. It is a file of the folder of completion functions, or may be sourced. */
import { listFixedValues, optionsWithValue, type Place } from './places.js'

export function writeZshScript(places: readonly Place[]): readonly string[] {
  const names = places.map(({ name }) => name).filter((name) => name !== '')
  return [
    '#compdef posthorn',
    '# Completes the command line of posthorn in zsh. "posthorn completion zsh" writes it.',
    '_posthorn() {',
    "  local name='' skip='' files='' i next prev=${words[CURRENT - 1]}",
    '  local -a next_words next_options',
    '  for ((i = 2; i < CURRENT; i++)); do',
    '    next=${words[i]}',
    '    if [[ -n $skip ]]; then',
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
    `      ${names.map(quote).join(' | ')}) name=$next ;;`,
    '    esac',
    '  done',
    '  if [[ $PREFIX == --*=* ]]; then',
    '    prev=${PREFIX%%=*}',
    "    compset -P '*='",
    '  fi',
    '  case "$name $prev" in',
    ...listFixedValues(places).flatMap(({ place, option, words }) => [
      `    ${quote(`${place} ${option}`)})`,
      `      compset -P '*,'`,
      `      compadd -- ${words.join(' ')}`,
      '      return',
      '      ;;',
    ]),
    '  esac',
    '  case $prev in',
    `    ${optionsWithValue(places, true).join(' | ')})`,
    '      _files',
    '      return',
    '      ;;',
    `    ${optionsWithValue(places, false).join(' | ')}) return 1 ;;`,
    '  esac',
    '  case $name in',
    ...places.flatMap(linesOfPlace),
    '  esac',
    '  if [[ $PREFIX == -* ]]; then',
    '    _describe -o option next_options',
    '  elif [[ -n $files ]]; then',
    '    _files',
    '  else',
    '    _describe command next_words',
    '  fi',
    '}',
    '# zsh calls the file as the function, if it was found in $fpath.',
    'if [[ $funcstack[1] == _posthorn ]]; then',
    '  _posthorn "$@"',
    'else',
    '  compdef _posthorn posthorn',
    'fi',
  ]
}

function linesOfPlace({ name, next, options, takesFile }: Place): readonly string[] {
  return [
    `    ${quote(name)})`,
    ...list('next_words', next),
    ...list(
      'next_options',
      options.map((option) => ({ word: option.name, text: option.text })),
    ),
    ...(takesFile ? ['      files=yes'] : []),
    '      ;;',
  ]
}

function list(variable: string, items: readonly { readonly word: string; readonly text: string }[]): readonly string[] {
  if (items.length === 0) return []
  const described = items.map(({ word, text }) => `        ${quote(text === '' ? word : `${word}:${text}`)}`)
  return [`      ${variable}=(`, ...described, '      )']
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
