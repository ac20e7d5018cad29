/** `restore`: replaces the database by a backup. */
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { DataFolderHeld } from '../../../base/storage/db/data-lock.js'
import { restoreBackup, UnusableBackup } from '../../../base/storage/maintenance/restore.js'
import { databaseFile } from '../../../base/storage/open.js'
import { UnusableStandby } from '../../../base/storage/standby/rebuild.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  flagOption,
  refuseExtraWords,
  requiredWord,
} from '../command/command.js'

export async function restore({ words, options, config, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 1)
  return withRestoreErrors(async () => {
    // A new machine has no data folder yet.
    mkdirSync(config.service.data_dir, { recursive: true, mode: 0o700 })
    const restored = await restoreBackup({
      backup: resolve(requiredWord(words, 0, 'FILE')),
      holdQueue: flagOption(options, 'hold-queue'),
      file: databaseFile(config.service.data_dir),
      now: clock(),
    })
    return describeRestore(restored)
  })
}

interface RestoreAnswer {
  readonly json: Readonly<Record<string, unknown>>
  readonly lines: readonly string[]
}

export function describeRestore({
  previousFile,
  pausedBroadcasts,
  held,
}: Awaited<ReturnType<typeof restoreBackup>>): RestoreAnswer {
  return {
    json: { restored: true, aside: previousFile ?? null, paused_broadcasts: pausedBroadcasts, held },
    lines: [
      'restored',
      ...(previousFile === undefined ? [] : [`the database that was there is now ${previousFile}`]),
      ...(pausedBroadcasts === 0
        ? []
        : [`broadcasts that are paused, because they may have sent more since the backup: ${pausedBroadcasts}`]),
      ...(held === 0 ? [] : [`queue entries that are held until "posthorn queue release": ${held}`]),
    ],
  }
}

/** A fault that the operator can fix has its own text; any other error is a bug. */
export async function withRestoreErrors<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DataFolderHeld || error instanceof UnusableBackup || error instanceof UnusableStandby) {
      throw new CommandFailed(error.message)
    }
    throw error
  }
}
