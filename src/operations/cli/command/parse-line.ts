/** Parses the arguments into words and options. Throws a UsageError. */
import { parseArgs } from 'node:util'
import { suggestWord } from '../../../base/platform/closest-word.js'
import { type Command, type OptionValues, UsageError } from './command.js'

export interface CommandLine {
  readonly words: readonly string[]
  readonly options: OptionValues
}

/** The options of every command. */
export const commonOptions = { config: 'string', json: 'boolean', help: 'boolean', version: 'boolean' } as const

type OptionKinds = Readonly<Record<string, 'string' | 'boolean'>>

/** `kinds` are the options of all commands. */
export function parseLine(argv: readonly string[], kinds: OptionKinds): CommandLine {
  const long = Object.fromEntries(Object.entries(kinds).map(([name, type]) => [name, { type }]))
  const { tokens, positionals } = parseArgs({
    args: [...argv],
    options: { ...long, help: { type: 'boolean', short: 'h' } },
    allowPositionals: true,
    strict: false,
    tokens: true,
  })
  const values: Record<string, string | boolean> = {}
  for (const token of tokens) {
    if (token.kind === 'option') values[token.name] = parseOptionValue(token, kinds)
  }
  return { words: positionals, options: values }
}

interface OptionToken {
  readonly name: string
  readonly rawName: string
  readonly value: string | undefined
  readonly inlineValue: boolean | undefined
}

function parseOptionValue({ name, rawName, value, inlineValue }: OptionToken, kinds: OptionKinds): string | boolean {
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
  if (kind === undefined) throw new UsageError(`unknown option: ${rawName}${suggestWord(rawName, optionNames(kinds))}`)
  if (kind === 'boolean') {
    if (value === undefined) return true
    throw new UsageError(`${rawName} takes no value`)
  }
  // Without "=", an argument that begins with a dash is the next option; a single dash is a value.
  if (value !== undefined && (inlineValue === true || !/^-./.test(value))) return value
  throw new UsageError(`${rawName} needs a value; one that begins with "-" is given as ${rawName}=VALUE`)
}

function optionNames(kinds: OptionKinds): readonly string[] {
  return Object.keys(kinds).map((name) => `--${name}`)
}

/** An option of another command is a mistake that must not be ignored. */
export function refuseForeignOptions(options: CommandLine['options'], own: Command['options']): void {
  const foreign = Object.keys(options).find((name) => !(name in commonOptions) && !(name in own))
  if (foreign === undefined) return
  throw new UsageError(`--${foreign} does not belong to this command${suggestWord(`--${foreign}`, optionNames(own))}`)
}
