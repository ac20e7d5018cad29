/** `config`: the settings in force, and where each was set. */
import { type EffectiveValue, listEffectiveValues } from '../../../base/config/effective-values.js'
import { suggestWord } from '../../../base/platform/closest-word.js'
import { type Answer, type Call, UsageError } from '../command/command.js'

export async function showConfig({ words, config, written }: Call): Promise<Answer> {
  const all = listEffectiveValues(config, written)
  const unknown = words.find((word) => !all.some(({ key }) => isWithin(key, word)))
  if (unknown !== undefined) throw new UsageError(`unknown setting: ${unknown}${suggestSetting(unknown, all)}`)
  const chosen = words.length === 0 ? all : all.filter(({ key }) => words.some((word) => isWithin(key, word)))
  return {
    json: { values: chosen.map(({ key, value, source }) => ({ key, value, source })) },
    lines: chosen.map(formatLine),
  }
}

/** `word` is the key or a section that it is in. The quotes around a part of a key may be left out. */
function isWithin(key: string, word: string): boolean {
  const [name, section] = [key, word].map((text) => text.replaceAll('"', ''))
  return name === section || name?.startsWith(`${section}.`) === true
}

/** The end of a key is understood too: `port` is that of `outbound.port`. */
function suggestSetting(word: string, all: readonly EffectiveValue[]): string {
  const keys = all.map(({ key }) => key)
  const ending = keys.filter((key) => key.endsWith(`.${word}`))
  if (ending.length > 0) return `; did you mean ${ending.map((key) => `"${key}"`).join(', ')}?`
  const sections = keys.flatMap((key) => key.split('.').map((_part, at, parts) => parts.slice(0, at + 1).join('.')))
  return suggestWord(word, new Set(sections))
}

/** A line of TOML. What stands in place of a secret has no quotes, so that no file takes it as the value. */
function formatLine({ key, value, hidden, source }: EffectiveValue): string {
  if (value === null) return `# ${key} is not set`
  return `${key} = ${hidden ? String(value) : toToml(value)}  # ${source}`
}

function toToml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toToml).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([key, entry]) => `${toTomlKey(key)} = ${toToml(entry)}`)
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`
}

function toTomlKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : JSON.stringify(key)
}
