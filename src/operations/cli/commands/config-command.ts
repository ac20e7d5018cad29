/**
 * `config`: the settings of the configuration file, and where each was set. Where the running daemon has another value,
 * it says so.
 */
import { join } from 'node:path'
import { type EffectiveValue, listEffectiveValues } from '../../../base/config/effective-values.js'
import {
  findWaitingSettings,
  readPublishedSettings,
  type WaitingSetting,
} from '../../../base/config/settings-in-force.js'
import { suggestWord } from '../../../base/platform/closest-word.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import { type Answer, type Call, UsageError } from '../command/command.js'
import { holdsLock } from '../command/reload-report.js'

export async function showConfig({ words, config, written }: Call): Promise<Answer> {
  const all = listEffectiveValues(config, written)
  const unknown = words.find((word) => !all.some(({ key }) => isWithin(key, word)))
  if (unknown !== undefined) throw new UsageError(`unknown setting: ${unknown}${suggestSetting(unknown, all)}`)
  const chosen = words.length === 0 ? all : all.filter(({ key }) => words.some((word) => isWithin(key, word)))
  const waiting = findWaiting(config.service.data_dir, all)
  return {
    json: { values: chosen.map((one) => toJson(one, waiting.get(one.key))) },
    lines: chosen.map((one) => formatLine(one, waiting.get(one.key))),
  }
}

/** The settings by their keys. The map is empty if no daemon runs, or this user may not see what it has. */
function findWaiting(folder: string, all: readonly EffectiveValue[]): ReadonlyMap<string, WaitingSetting> {
  const published = readPublishedSettings(folder)
  if (published === null || !isDataFolderHeld(folder)) return new Map()
  if (holdsLock(join(folder, 'daemon.lock'), published.pid) === false) return new Map()
  return new Map(findWaitingSettings(all, published).map((one) => [one.key, one]))
}

function toJson({ key, value, source }: EffectiveValue, waiting: WaitingSetting | undefined): object {
  const own = { key, value, source }
  return waiting === undefined ? own : { ...own, daemon_value: waiting.inForce, needs: waiting.needs }
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
function formatLine({ key, value, hidden, source }: EffectiveValue, waiting: WaitingSetting | undefined): string {
  const note = waiting === undefined ? '' : ` (${describeWaiting(waiting)})`
  if (value === null) return `# ${key} is not set${note}`
  return `${key} = ${hidden ? String(value) : toToml(value)}  # ${source}${note}`
}

function describeWaiting({ inForce, needs }: WaitingSetting): string {
  return inForce === null ? `the daemon has none yet: ${needs}` : `the daemon still has ${toToml(inForce)}: ${needs}`
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
