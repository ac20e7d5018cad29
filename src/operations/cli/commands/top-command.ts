/** `top`: what the service is doing, live on the full screen of a terminal, or as one snapshot. */
import { existsSync } from 'node:fs'
import type { OpenStore } from '../../../base/storage/db/database.js'
import { measureFiles } from '../../../base/storage/health/measure-files.js'
import { databaseFile, openReadOnly } from '../../../base/storage/open.js'
import { type Answer, type Call, CommandFailed, flagOption, refuseExtraWords } from '../command/command.js'
import { openConfiguredStore } from '../command/open-store.js'
import { Screen, type Terminal } from '../command/screen.js'
import { renderSnapshot } from '../top/render.js'
import { Snapshots, type TopSnapshot } from '../top/snapshot.js'

const REFRESH_INTERVAL = 1_000

export async function top({ words, options, config, clock, terminal }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { close, ...database } = await openForReading(config)
  try {
    const snapshots = new Snapshots(database, config.service.data_dir, clock)
    if (terminal === null || flagOption(options, 'once') || flagOption(options, 'json')) {
      const snapshot = await snapshots.read()
      return { json: snapshot, lines: renderSnapshot(snapshot) }
    }
    await showLive(terminal, snapshots)
    return { json: null, lines: [] }
  } finally {
    await close()
  }
}

/** On files, it works also for a user that may not write. */
async function openForReading(config: Call['config']): Promise<Pick<OpenStore, 'read' | 'measure' | 'close'>> {
  if (config.storage.url !== '') return openConfiguredStore(config)
  const file = databaseFile(config.service.data_dir)
  if (!existsSync(file)) throw new CommandFailed(`there is no database in ${config.service.data_dir} yet`)
  const { read, close } = openReadOnly(file) ?? {}
  if (read === undefined || close === undefined)
    throw new CommandFailed('the database is of an earlier version: the start of the daemon updates it')
  return { read, measure: () => measureFiles(file, read), close: async () => close() }
}

/** Resolves when the user quits. */
async function showLive(terminal: Terminal, snapshots: Snapshots): Promise<void> {
  let shown: TopSnapshot | null = null
  let isRunning = true
  let wake = (): void => undefined
  const draw = (): void => {
    if (shown !== null) screen.draw(renderSnapshot(shown))
  }
  const onQuit = (): void => {
    isRunning = false
    wake()
  }
  const screen = new Screen(terminal, { onQuit, onResize: draw })
  screen.open()
  try {
    while (isRunning) {
      shown = await snapshots.read()
      draw()
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, isRunning ? REFRESH_INTERVAL : 0)
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  } finally {
    screen.close()
  }
}
