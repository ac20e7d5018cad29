/** Checks the copies of the database: the newest backup, and how far the standby is behind. */
import { stat } from 'node:fs/promises'
import { formatTimestamp } from '../../../base/platform/clock.js'
import { errorMessageOf } from '../../../base/platform/errors.js'
import { HOUR } from '../../../base/platform/time-units.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import {
  type BackupFile,
  findNewestBackup,
  isPartial,
  listBackupFiles,
} from '../../../base/storage/maintenance/backup-files.js'
import { databaseFile } from '../../../base/storage/open.js'
import { readStandbyStatus, type StandbyStatus, standbyLag } from '../../../base/storage/standby/standby-status.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, type Remedy, warning } from '../finding.js'

/** A backup that is so many times too old. */
const FAIL_FACTOR = 3
/** Milliseconds that the standby may be behind, in addition to its interval. */
const [MAX_LAG, MAX_LONG_LAG] = [60_000, 900_000]

export const copyChecks: readonly Check[] = [
  { name: 'backup', summary: 'the newest backup in doctor.backup_folder is recent enough', run: checkBackups },
  { name: 'standby', summary: 'the standby folder has all commits', run: checkStandby },
]

async function checkBackups({ config, clock }: CheckDeps): Promise<readonly Judgement[]> {
  const { backup_folder: folder, backup_max_age: maxAge } = config.doctor
  if (config.storage.url !== '')
    return [good('storage.url', 'the tools of PostgreSQL make the backups, which are not looked at here')]
  if (folder === null) return [good('doctor.backup_folder', 'no backup folder is set')]
  const since = (await readBirth(databaseFile(config.service.data_dir))) ?? clock()
  try {
    return judgeBackups(folder, await listBackupFiles(folder), { now: clock(), maxAge, since })
  } catch (error) {
    const remedy: Remedy = [`install -d -o posthorn -g posthorn -m 0700 ${folder}`, ...backupRemedy(folder)]
    // The first backup makes the folder.
    if (clock() - since <= maxAge) return [good(folder, 'there is no backup yet')]
    return [failure(folder, errorMessageOf(error), remedy)]
  }
}

/** When the database was made. Null if there is none. */
async function readBirth(file: string): Promise<number | null> {
  return stat(file).then(
    ({ birthtimeMs }) => birthtimeMs,
    () => null,
  )
}

function backupRemedy(folder: string): Remedy {
  return [`posthorn backup ${folder}`, 'systemctl list-timers posthorn-backup.timer']
}

interface BackupTimes {
  readonly now: number
  readonly maxAge: number
  /** When the database was made. A new one needs no backup yet. */
  readonly since: number
}

/** A file that was left half-written belongs to a backup that failed. */
export function judgeBackups(
  folder: string,
  files: readonly BackupFile[],
  { now, maxAge, since }: BackupTimes,
): readonly Judgement[] {
  const remedy: Remedy = backupRemedy(folder)
  const left = files
    .filter((file) => isPartial(file) && now - file.at > HOUR)
    .map(({ name }) =>
      warning(`${folder}/${name}`, 'a backup ended before it was complete', [
        'journalctl -u posthorn-backup -n 50',
        `rm ${folder}/${name}`,
      ]),
    )
  const newest = findNewestBackup(files)
  if (newest === undefined) {
    return [
      ...left,
      now - since <= maxAge ? good(folder, 'there is no backup yet') : failure(folder, 'there is no backup', remedy),
    ]
  }
  const age = now - newest.at
  const text = `the newest backup, ${newest.name}, is ${Math.floor(age / HOUR)} hours old`
  if (age > maxAge * FAIL_FACTOR) return [...left, failure(folder, text, remedy)]
  return [...left, age > maxAge ? warning(folder, text, remedy) : good(folder, text)]
}

async function checkStandby({ config, clock }: CheckDeps): Promise<readonly Judgement[]> {
  const { folder, interval } = config.standby
  const { data_dir: dataDir } = config.service
  if (folder === '') return [good('standby.folder', 'no standby is set')]
  if (!isDataFolderHeld(dataDir)) return [good(folder, 'nothing is copied while no daemon runs')]
  const status = readStandbyStatus(dataDir)
  return [judgeStandby(folder, status?.folder === folder ? status : null, { now: clock(), interval })]
}

/** `status` is null if nothing is known about this folder. */
export function judgeStandby(
  folder: string,
  status: StandbyStatus | null,
  { now, interval }: { readonly now: number; readonly interval: number },
): Judgement {
  const remedy: Remedy = [
    'posthorn standby status',
    `namei -l ${folder}   # the user posthorn must be able to write there`,
    `systemctl edit posthorn   # [Service] ReadWritePaths=${folder}, then restart`,
  ]
  if (status === null) return failure(folder, 'nothing has been copied to this folder', remedy)
  const lag = standbyLag(status, now)
  if (lag === null) {
    const text = 'there is no complete copy yet, so a takeover is not possible'
    return status.error === null ? warning(folder, text, remedy) : failure(folder, `${text}: ${status.error}`, remedy)
  }
  const seconds = Math.floor(lag / 1_000)
  const text = `the folder has all commits until ${formatTimestamp(now - lag)}, ${seconds} s ago`
  if (lag > interval + MAX_LONG_LAG) return failure(folder, describeFault(text, status), remedy)
  if (lag > interval + MAX_LAG || status.error !== null) return warning(folder, describeFault(text, status), remedy)
  return good(folder, text)
}

function describeFault(text: string, { error }: StandbyStatus): string {
  return error === null ? text : `${text}: ${error}`
}
