/** `backup`, `restore`, `verify-data`. */
import { existsSync, mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { DataFolderHeld } from '../../storage/data-lock.js'
import { createBackup, FileExistsError } from '../../storage/maintenance/backup.js'
import { restoreBackup, UnusableBackup } from '../../storage/maintenance/restore.js'
import { repairData, verifyData } from '../../storage/maintenance/verify.js'
import { databaseFile } from '../../storage/open.js'
import {
  type Answer,
  type Call,
  type Command,
  CommandFailed,
  flagOption,
  refuseExtraWords,
  requiredWord,
  UsageError,
} from '../command.js'

export const storageCommands: readonly Command[] = [
  {
    name: 'backup',
    usage: 'FILE|-',
    summary: 'write a consistent copy of the database, while the daemon works; -: to standard output',
    options: {},
    run: ({ words, options, config }) =>
      withCommandErrors(() =>
        words[0] === STANDARD_OUTPUT ? backupToOutput({ words, options, config }) : backupToFile({ words, config }),
      ),
  },
  {
    name: 'restore',
    usage: 'FILE',
    summary: 'replace the database by a backup; the daemon must be stopped',
    options: {},
    run: ({ words, config, clock }) =>
      withCommandErrors(() => {
        // A new machine has no data folder yet.
        mkdirSync(config.service.data_dir, { recursive: true, mode: 0o700 })
        const { pausedBroadcasts, previousFile } = restoreBackup({
          backup: fileArgument(words),
          file: databaseFile(config.service.data_dir),
          now: clock(),
        })
        const lines = [
          'restored',
          ...(previousFile === undefined ? [] : [`the database that was there is now ${previousFile}`]),
          ...(pausedBroadcasts === 0
            ? []
            : [`broadcasts that are paused, because they may have sent more since the backup: ${pausedBroadcasts}`]),
        ]
        return { json: { restored: true, aside: previousFile ?? null, paused_broadcasts: pausedBroadcasts }, lines }
      }),
  },
  {
    name: 'verify-data',
    usage: '[--repair]',
    summary: 'check the database: is it whole, and does it make sense',
    options: { repair: 'boolean' },
    run: ({ words, options, config }) =>
      withCommandErrors(() => {
        refuseExtraWords(words, 0)
        const file = requireDatabase(config)
        const problems = flagOption(options, 'repair') ? repairData(file) : verifyData(file)
        const lines = problems.map(({ check, message }) => `${check}: ${message}`)
        return {
          json: { ok: problems.length === 0, problems },
          lines: problems.length === 0 ? ['no problems'] : lines,
          failed: problems.length > 0,
        }
      }),
  },
]

const STANDARD_OUTPUT = '-'

function backupToFile({ words, config }: Pick<Call, 'words' | 'config'>): Answer {
  const to = fileArgument(words)
  createBackup({ from: requireDatabase(config), to })
  return { json: { file: to }, lines: [`backup written to ${to}`] }
}

/** The copy is first made beside the database, which needs space there. */
function backupToOutput({ words, options, config }: Pick<Call, 'words' | 'options' | 'config'>): Answer {
  refuseExtraWords(words, 1)
  if (flagOption(options, 'json')) throw new UsageError('--json and a backup to standard output do not go together')
  const from = requireDatabase(config)
  const to = `${from}.backup-${process.pid}`
  createBackup({ from, to })
  return { json: null, lines: [], file: to }
}

function fileArgument(words: Call['words']): string {
  refuseExtraWords(words, 1)
  return resolve(requiredWord(words, 0, 'FILE'))
}

function requireDatabase(config: Call['config']): string {
  const path = databaseFile(config.service.data_dir)
  if (!existsSync(path)) throw new CommandFailed(`there is no database at ${path}`)
  return path
}

/** A fault that the operator can fix has its own text; any other error is a bug. */
async function withCommandErrors(work: () => Answer): Promise<Answer> {
  try {
    return work()
  } catch (error) {
    if (error instanceof FileExistsError || error instanceof DataFolderHeld || error instanceof UnusableBackup) {
      throw new CommandFailed(error.message)
    }
    throw error
  }
}
