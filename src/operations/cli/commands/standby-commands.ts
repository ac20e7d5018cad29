/** `standby status|follow|restore`: the copy that another machine takes over with. */
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import { restoreBackup } from '../../../base/storage/maintenance/restore.js'
import { databaseFile } from '../../../base/storage/open.js'
import { beginFollowing, markTakeover } from '../../../base/storage/standby/follow.js'
import { forgetCopy, type Rebuilt, rebuild, withCopy } from '../../../base/storage/standby/rebuild.js'
import { readStandbyStatus, standbyLag } from '../../../base/storage/standby/standby-status.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  flagOption,
  refuseExtraWords,
  requiredWord,
} from '../command/command.js'
import { maskControls } from '../command/mask-controls.js'
import { describeRestore, withRestoreErrors } from './restore-command.js'

/** Milliseconds between two looks at the folder. */
const FOLLOW_INTERVAL = 1_000
/** Milliseconds of lag, in addition to the interval, from which on `standby status` fails. */
const MAX_LAG = 60_000
const TAKEN_OVER = 'this machine has taken over, so there is nothing more to follow'

export async function showStatus({ words, config, clock }: Call): Promise<Answer> {
  refuseExtraWords(words, 0)
  const { folder, interval } = config.standby
  if (folder === '') throw new CommandFailed('standby.folder is not set')
  const { data_dir: dataDir } = config.service
  const status = readStandbyStatus(dataDir)
  // A status of another folder is from before a change of the setting.
  if (status?.folder !== folder) throw new CommandFailed(`the daemon has copied nothing to ${folder} yet`)
  const lag = isDataFolderHeld(dataDir) ? standbyLag(status, clock()) : null
  const toTimestamp = (at: number | null): string | null => (at === null ? null : formatTimestamp(at))
  const isBehind = lag === null || lag > interval + MAX_LAG || status.error !== null
  return {
    json: {
      ...status,
      updated_at: formatTimestamp(status.updated_at),
      copied_at: toTimestamp(status.copied_at),
      snapshot_at: toTimestamp(status.snapshot_at),
      lag_ms: lag,
    },
    lines: [
      `folder           ${status.folder}`,
      `copied until     ${toTimestamp(status.copied_at) ?? '-'}${lag === null ? '' : ` (${lag} ms ago)`}`,
      `snapshot of      ${toTimestamp(status.snapshot_at) ?? '-'}`,
      `generation       ${status.generation ?? '-'}, ${status.segments} segments`,
      `fault            ${status.error ?? 'none'}`,
      ...(isDataFolderHeld(dataDir) ? [] : ['no daemon is running']),
    ],
    failed: isBehind,
  }
}

export async function follow({ words, options, config, printError }: Call): Promise<Answer> {
  const folder = folderArgument(words)
  const { data_dir: dataDir } = config.service
  const work = workFolder(config)
  if (isDataFolderHeld(dataDir)) {
    throw new CommandFailed(
      `a running daemon holds the data folder ${dataDir}, so this machine is the primary: run "posthorn standby follow" on the other machine, or stop the daemon first`,
    )
  }
  if (flagOption(options, 'once')) {
    const rebuilt = await withRestoreErrors(() => withCopy(work, () => rebuild(folder, work)))
    return { json: { ...toJson(rebuilt) }, lines: describeCopy(rebuilt), failed: rebuilt.gap !== null }
  }
  let total = 0
  let [last, shown]: (string | null)[] = [null, null]
  const makePass = beginFollowing({ folder, work, dataDir })
  for (;;) {
    const pass = await makePass()
    if (pass === 'over') return { json: { applied: total }, lines: [TAKEN_OVER] }
    const { rebuilt, found } = pass
    if (rebuilt !== null && rebuilt.applied > 0) {
      total += rebuilt.applied
      printError(`segment ${rebuilt.number}, ${total} applied since the start\n`)
    }
    // It must be found twice in a row: a carrier may bring the next segment first.
    if (found !== null && found === last && found !== shown) printError(`${maskControls(found)}; trying again\n`)
    if (found === last) shown = found
    last = found
    await sleep(FOLLOW_INTERVAL)
  }
}

export async function restore({ words, options, config, clock, printError }: Call): Promise<Answer> {
  const folder = folderArgument(words)
  const work = workFolder(config)
  const replace = async (): Promise<Answer> => {
    const rebuilt = rebuild(folder, work)
    forgetCopy(work)
    const restored = await restoreBackup({
      backup: rebuilt.file,
      move: true,
      holdQueue: flagOption(options, 'hold-queue'),
      file: databaseFile(config.service.data_dir),
      now: clock(),
    })
    try {
      markTakeover(work, clock())
    } catch (error) {
      // The database is restored, whatever becomes of the mark.
      printError(
        `${work}: cannot be marked as taken over, so stop "posthorn standby follow": ${errorMessageOf(error)}\n`,
      )
    }
    const { json, lines } = describeRestore(restored)
    return { json: { ...json, ...toJson(rebuilt) }, lines: [...describeCopy(rebuilt), ...lines] }
  }
  // A copy that `follow` writes to must not become the database.
  return withRestoreErrors(() => withCopy(work, replace))
}

/** It is in the folder of the database, so that the copy is renamed and not copied. */
function workFolder(config: Call['config']): string {
  const { data_dir: dataDir } = config.service
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  return join(dataDir, 'standby')
}

function folderArgument(words: Call['words']): string {
  refuseExtraWords(words, 1)
  const folder = resolve(requiredWord(words, 0, 'FOLDER'))
  if (!existsSync(folder) || !statSync(folder).isDirectory()) throw new CommandFailed(`${folder} is not a folder`)
  return folder
}

function toJson({ generation, number, applied, copiedAt, gap }: Rebuilt): Record<string, string | number | null> {
  const at = copiedAt === null ? null : formatTimestamp(copiedAt)
  return { generation, segment: number, applied, written_at: at, gap }
}

function describeCopy({ generation, number, copiedAt, gap }: Rebuilt): string[] {
  const at = copiedAt === null ? '' : `, written ${formatTimestamp(copiedAt)}`
  return [
    `the copy has everything up to segment ${number} of ${generation}${at}`,
    ...(gap === null ? [] : [`it ends there because ${gap}`]),
  ]
}
