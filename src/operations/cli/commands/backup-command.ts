/** `backup`: to a file, to a folder of dated files, or to standard output. */
import { accessSync, existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { errorCodeOf, errorMessageOf } from '../../../base/platform/errors.js'
import {
  type BackupProgress,
  createBackup,
  DamagedCopy,
  FileExistsError,
} from '../../../base/storage/maintenance/backup.js'
import { backupName, removeOldPartials, rotateBackups } from '../../../base/storage/maintenance/backup-folder.js'
import { databaseFile } from '../../../base/storage/open.js'
import { planUpgrade } from '../../../base/storage/upgrade/upgrade-plan.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  flagOption,
  refuseExtraWords,
  requiredWord,
  textOption,
  UsageError,
} from '../command/command.js'
import { ProgressLine } from '../command/progress-line.js'

const STANDARD_OUTPUT = '-'
const MEGABYTE = 1 << 20

export async function backup(call: Call): Promise<Answer> {
  try {
    return await runBackup(call)
  } catch (error) {
    if (error instanceof FileExistsError || error instanceof DamagedCopy) throw new CommandFailed(error.message)
    if (isDiskFull(error))
      throw new CommandFailed('no room for the backup: the disk of its folder is full; nothing was written')
    throw error
  }
}

function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'].includes(errorCodeOf(error))
}

const NOT_IN_IT = 'not in it: tls/ and the configuration'

async function runBackup(call: Call): Promise<Answer> {
  const { words, options, config } = call
  refuseExtraWords(words, 1)
  const target = requiredWord(words, 0, 'FILE')
  const keep = countOption(call, 'keep')
  const from = requireDatabase(config)
  // It throws for a database that no restore of this version would take.
  planUpgrade(from)
  if (target === STANDARD_OUTPUT) {
    if (flagOption(options, 'json')) throw new UsageError('--json and a backup to standard output do not go together')
    refuseKeep(keep)
    const to = `${from}.backup-${process.pid}`
    removeOldPartials(dirname(from), call.clock())
    await copy(call, from, to)
    return { json: null, lines: [], file: to }
  }
  const path = resolve(target)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return backupToFolder(call, from, path, keep)
  refuseKeep(keep)
  requireFolder(dirname(path))
  const bytes = await copy(call, from, path)
  return { json: { file: path, bytes, removed: [] }, lines: [`backup written to ${path} and checked`, NOT_IN_IT] }
}

/** A folder that this user may not look at is reported by the attempt to write there. */
function requireFolder(folder: string): void {
  try {
    accessSync(folder)
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') throw new CommandFailed(`there is no folder ${folder}`)
  }
}

async function backupToFolder(call: Call, from: string, folder: string, keep: number | undefined): Promise<Answer> {
  const name = backupName(call.clock())
  const file = join(folder, name)
  removeOldPartials(folder, call.clock())
  const bytes = await copy(call, from, file)
  const removed = removeOldest(folder, { name, bytes }, keep ?? null)
  return {
    json: { file, bytes, removed },
    lines: [`backup written to ${file} and checked`, ...removed.map((old) => `removed ${old}`), NOT_IN_IT],
  }
}

function removeOldest(
  folder: string,
  added: { readonly name: string; readonly bytes: number },
  keep: number | null,
): string[] {
  try {
    return rotateBackups(folder, added, keep)
  } catch (error) {
    throw new CommandFailed(`the backup ${join(folder, added.name)} is complete; ${errorMessageOf(error)}`)
  }
}

function refuseKeep(keep: number | undefined): void {
  if (keep !== undefined) throw new UsageError('--keep goes with a folder that exists')
}

async function copy({ options, printError, lowerPriority }: Call, from: string, to: string): Promise<number> {
  const shown = flagOption(options, 'progress') || process.stderr.isTTY === true
  const line = shown ? new ProgressLine({ print: printError, isTerminal: process.stderr.isTTY === true }) : null
  const pace = countOption({ options }, 'pace')
  const onProgress = (progress: BackupProgress): void => {
    // It must not be lowered before: while pages are copied, this process holds the write lock now and then. If its
    // priority were low, it could wait for the processor while it holds the lock, and the daemon would wait for the
    // lock.
    if (progress.phase !== 'copy') lowerPriority()
    line?.update(progress)
  }
  const compact = flagOption(options, 'compact')
  try {
    return await createBackup({ from, to, compact, onProgress, pace: pace === undefined ? undefined : pace * MEGABYTE })
  } finally {
    line?.end()
  }
}

function countOption({ options }: Pick<Call, 'options'>, name: string): number | undefined {
  const text = textOption(options, name)
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError(`--${name}: found "${text}", allowed: 1 to 999999`)
  return Number(text)
}

export function requireDatabase(config: Call['config']): string {
  const path = databaseFile(config.service.data_dir)
  if (!existsSync(path)) throw new CommandFailed(`there is no database at ${path}`)
  return path
}
