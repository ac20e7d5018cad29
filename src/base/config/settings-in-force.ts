/**
 * The settings that the running daemon has, in the file `settings.json` of its data folder: the daemon writes it at the
 * start and after each reload, and commands compare it with the configuration file.
 *
 * Values are as `posthorn config` shows them, so that no secret is in the file. The file may be that of a daemon that
 * has ended: a reader must check its process id.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type EffectiveValue, NOT_READ } from './effective-values.js'
import { isReloadable } from './live-config.js'

const published = z.object({ pid: z.int(), values: z.record(z.string(), z.unknown()) })

type PublishedSettings = z.output<typeof published>

/** A setting of which the daemon has another value than the configuration file. */
export interface WaitingSetting {
  readonly key: string
  /** What the daemon has. Null if it is not set there. */
  readonly inForce: unknown
  readonly needs: 'restart' | 'reload'
}

export class SettingsInForce {
  private readonly atStart: ReadonlyMap<string, unknown>

  constructor(
    private readonly folder: string,
    started: readonly EffectiveValue[],
  ) {
    this.atStart = toMap(started)
  }

  /** `loaded` has the values of the last reload, or of the start. The file is replaced, so that no reader sees a part of it. */
  publish(loaded: readonly EffectiveValue[]): void {
    const now = toMap(loaded)
    const keys = new Set([...this.atStart.keys(), ...now.keys()])
    const inForce = [...keys].flatMap((key) => {
      const source = isReloadable(key) ? now : this.atStart
      return source.has(key) ? [[key, source.get(key)] as const] : []
    })
    const file = settingsFile(this.folder)
    const content: PublishedSettings = { pid: process.pid, values: Object.fromEntries(inForce) }
    writeFileSync(`${file}.new`, `${JSON.stringify(content)}\n`, { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
}

/** Null if no daemon has written them, or this user may not read them. */
export function readPublishedSettings(folder: string): PublishedSettings | null {
  try {
    return published.parse(JSON.parse(readFileSync(settingsFile(folder), 'utf8')))
  } catch {
    return null
  }
}

/** Compares the values of the configuration file with those of the daemon. */
export function findWaitingSettings(
  written: readonly EffectiveValue[],
  { values }: PublishedSettings,
): readonly WaitingSetting[] {
  const own = toMap(written)
  // An entry that is gone from a table, such as a route, is a change too.
  return [...new Set([...own.keys(), ...Object.keys(values)])].flatMap((key) => {
    const [next = null, inForce = null] = [own.get(key), values[key]]
    if (next === NOT_READ || inForce === NOT_READ || JSON.stringify(next) === JSON.stringify(inForce)) return []
    return [{ key, inForce, needs: isReloadable(key) ? ('reload' as const) : ('restart' as const) }]
  })
}

function toMap(values: readonly EffectiveValue[]): ReadonlyMap<string, unknown> {
  return new Map(values.map(({ key, value }) => [key, value]))
}

function settingsFile(folder: string): string {
  return join(folder, 'settings.json')
}
