/** The completion script for fish. */
import { type NextOption, optionsWithValue, type Place } from './places.js'

export function writeFishScript(places: readonly Place[]): string {
  const names = places.flatMap(({ name }) => (name === '' ? [] : [quote(name)]))
  const withValue = [...optionsWithValue(places, true), ...optionsWithValue(places, false)]
  return `# Completes the command line of posthorn in fish. "posthorn completion fish" writes it.
set -g __posthorn_names ${names.join(' ')}

# Whether these words of a command, and no more, stand before the cursor.
function __posthorn_at
    set -l name ''
    set -l skip ''
    for word in (commandline -opc)[2..-1]
        if test -n "$skip"
            set skip ''
            continue
        end
        switch $word
            case ${withValue.join(' ')}
                set skip yes
            case '-*'
                continue
            case '*'
                if test "$name$word" = help
                    continue
                end
                set -l next (string trim -- "$name $word")
                if contains -- $next $__posthorn_names
                    set name $next
                end
        end
    end
    test "$name" = "$argv[1]"
end

complete -c posthorn -f
${places.flatMap(linesOfPlace).join('\n')}
`
}

function linesOfPlace({ name, next, options, takesFile }: Place): readonly string[] {
  const at = `complete -c posthorn -n ${quote(`__posthorn_at "${name}"`)}`
  return [
    ...next.map(({ word, text }) => `${at} -a ${word}${text === '' ? '' : ` -d ${quote(text)}`}`),
    ...(takesFile ? [`${at} -F`] : []),
    ...options.map((option) => `${at} -l ${option.name.slice(2)}${describeValue(option)} -d ${quote(option.text)}`),
  ]
}

function describeValue({ value }: NextOption): string {
  if (value === null) return ''
  if (value.isFile) return ' -r -F'
  return value.words.length === 0 ? ' -x' : ` -x -a ${quote(value.words.join(' '))}`
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
