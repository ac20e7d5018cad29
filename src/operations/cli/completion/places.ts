/**
 * Lists what may come next on a command line, for the completion of each shell. The fixed values are read from the
 * usage of the commands, where they are words in lower case: `--as spam|ham`.
 */
import { commonOptionTexts, type DescribedCommand, describeOption, families } from '../command/help.js'

export interface NextWord {
  readonly word: string
  /** What it means. Empty for a value. */
  readonly text: string
}

export interface NextOption {
  /** The name begins with two dashes. */
  readonly name: string
  readonly text: string
  /** Null if it takes no value. */
  readonly value: ValueKind | null
}

interface ValueKind {
  /** Empty if the value may be anything. */
  readonly words: readonly string[]
  readonly isFile: boolean
}

export interface Place {
  /** The words before: none, the first words of commands, or a command. */
  readonly name: string
  readonly next: readonly NextWord[]
  /** None between the first word of a command and its last one. */
  readonly options: readonly NextOption[]
  readonly takesFile: boolean
}

export function listPlaces(commands: readonly DescribedCommand[]): readonly Place[] {
  const names = new Set(['', ...commands.flatMap(({ name }) => beginningsOf(name))])
  return [...names].map((name) => {
    const command = commands.find((one) => one.name === name)
    const words = [...names].filter((one) => one !== '' && one.split(' ').slice(0, -1).join(' ') === name)
    const texts = words.map((one) => ({ word: one.split(' ').at(-1) ?? '', text: describeName(one, commands) }))
    if (command === undefined) return { name, next: texts, options: name === '' ? general : [], takesFile: false }
    const usage = readUsage(command)
    return { name, next: [...texts, ...usage.values.map((word) => ({ word, text: '' }))], ...usage }
  })
}

/** `queue`, `queue rules` and `queue rules add`. */
function beginningsOf(name: string): readonly string[] {
  const words = name.split(' ')
  return words.map((_word, at) => words.slice(0, at + 1).join(' '))
}

function describeName(name: string, commands: readonly DescribedCommand[]): string {
  return commands.find((one) => one.name === name)?.summary ?? families[name] ?? ''
}

interface UsageWords extends Pick<Place, 'options' | 'takesFile'> {
  readonly values: readonly string[]
}

function readUsage({ name, usage, options }: DescribedCommand): UsageWords {
  const written = usage.replace(/\[?,?\.\.\.\]?|[[\]…]/g, ' ').split(' ')
  const words = written.filter((word) => word !== '' && word !== '|')
  const own = Object.entries(options).map(([option, kind]): NextOption => {
    const given = words[words.indexOf(`--${option}`) + 1] ?? ''
    return { name: `--${option}`, text: describeOption(name, option), value: kind === 'string' ? kindOf(given) : null }
  })
  const positional = words.filter((word, at) => !word.startsWith('--') && !takesValue(words[at - 1], own))
  const kinds = positional.map(kindOf)
  return {
    values: kinds.flatMap((kind) => kind.words),
    takesFile: kinds.some(({ isFile }) => isFile),
    options: [...own, ...common],
  }
}

const common = [
  ...Object.entries(commonOptionTexts).map(([option, text]): NextOption => {
    const [name = '', given] = option.split(' ')
    return { name, text, value: given === undefined ? null : kindOf(given) }
  }),
  { name: '--help', text: 'show the usage', value: null },
]

/** The options that may stand where there is no command yet. */
const general = [...common, { name: '--version', text: 'print the version', value: null }]

function takesValue(word: string | undefined, options: readonly NextOption[]): boolean {
  return options.some(({ name, value }) => name === word && value !== null)
}

function kindOf(given: string): ValueKind {
  const words = given.split('|')
  const isFixed = words.length > 1 && words.every((word) => /^[a-z][a-z_-]*$/.test(word))
  return { words: isFixed ? words : [], isFile: words.some((word) => /^(?:FILE|FOLDER|DIR)$/.test(word)) }
}

/** The names of all options that take a value, once each. */
export function optionsWithValue(places: readonly Place[], isFile: boolean): readonly string[] {
  const options = places.flatMap((place) => place.options)
  return [...new Set(options.filter(({ value }) => value?.isFile === isFile).map(({ name }) => name))]
}

interface FixedValues {
  readonly place: string
  readonly option: string
  readonly words: readonly string[]
}

export function listFixedValues(places: readonly Place[]): readonly FixedValues[] {
  return places.flatMap(({ name: place, options }) =>
    options.flatMap(({ name, value }) =>
      value === null || value.words.length === 0 ? [] : [{ place, option: name, words: value.words }],
    ),
  )
}
