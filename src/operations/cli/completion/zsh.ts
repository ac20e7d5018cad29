/** The completion script for zsh. It is a file of the folder of completion functions, or may be sourced. */
import { writeWordReader } from './bash.js'
import { listFixedValues, type NextWord, optionsWithValue, type Place } from './places.js'

export function writeZshScript(places: readonly Place[]): string {
  return `#compdef posthorn
# Completes the command line of posthorn in zsh. "posthorn completion zsh" writes it.
_posthorn() {
  local name='' skip='' files='' i next prev=\${words[CURRENT - 1]}
  local -a next_words next_options
  for ((i = 2; i < CURRENT; i++)); do
    next=\${words[i]}
${writeWordReader(places)}
  done
  if [[ $PREFIX == --*=* ]]; then
    prev=\${PREFIX%%=*}
    compset -P '*='
  fi
  case "$name $prev" in
${writeFixedValues(places)}
  esac
  case $prev in
    ${optionsWithValue(places, true).join(' | ')})
      _files
      return
      ;;
    ${optionsWithValue(places, false).join(' | ')}) return 1 ;;
  esac
${writeReplies(places)}
}
# zsh calls the file as the function, if it was found in $fpath.
if [[ $funcstack[1] == _posthorn ]]; then
  _posthorn "$@"
else
  compdef _posthorn posthorn
fi
`
}

function writeFixedValues(places: readonly Place[]): string {
  const cases = listFixedValues(places).map(({ place, option, words }) => {
    return `    '${place} ${option}')
      compset -P '*,'
      compadd -- ${words.join(' ')}
      return
      ;;`
  })
  return cases.join('\n')
}

function writeReplies(places: readonly Place[]): string {
  return `  case $name in
${places.map(writePlace).join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then
    _describe -o option next_options
  elif [[ -n $files ]]; then
    _files
  else
    _describe command next_words
  fi`
}

function writePlace({ name, next, options, takesFile }: Place): string {
  const optionWords = options.map((option) => ({ word: option.name, text: option.text }))
  return `    '${name}')
      next_words=(${next.map(describe).join(' ')})
      next_options=(${optionWords.map(describe).join(' ')})${takesFile ? '\n      files=yes' : ''}
      ;;`
}

function describe({ word, text }: NextWord): string {
  return `'${(text === '' ? word : `${word}:${text}`).replaceAll("'", "'\\''")}'`
}
