/** Checks the work of the service: leases of the queue, webhooks, held prefixes of phone numbers, backups. */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { readExpiredLeases } from '../../messages/queue/expired-leases.js'
import { formatTimestamp } from '../../platform/clock.js'
import { errorMessageOf } from '../../platform/errors.js'
import { type Hold, listHolds } from '../../sms/holds.js'
import { isDataFolderHeld } from '../../storage/data-lock.js'
import { readWebhookBacklog } from '../../webhooks/webhook-backlog.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, warning } from '../finding.js'

/** Events that the slowest webhook may be behind. */
const MAX_BEHIND = 10_000
/** Holds that are named. */
const MAX_HOLDS = 20
/** Files of a backup folder that are looked at. */
const MAX_FILES = 10_000
/** A backup that is so many times too old. */
const FAIL_FACTOR = 3
const HOUR = 3_600_000

export const workChecks: readonly Check[] = [
  { name: 'leases', summary: 'no entry of the queue is stuck in an attempt', run: checkLeases },
  { name: 'webhooks', summary: 'webhooks take their events in time', run: checkWebhooks },
  { name: 'sms', summary: 'no prefix of phone numbers is held', run: checkHolds },
  { name: 'backup', summary: 'the newest backup in doctor.backup_folder is young enough', run: checkBackups },
]

async function checkLeases({ config, read, clock }: CheckDeps): Promise<readonly Judgement[]> {
  if (read === null) return []
  return [judgeLeases(readExpiredLeases(read, clock()), isDataFolderHeld(config.service.data_dir))]
}

export function judgeLeases({ count, oldestId }: ReturnType<typeof readExpiredLeases>, isRunning: boolean): Judgement {
  if (count === 0) return good('queue', 'no lease has expired')
  const text = `${count} ${count === 1 ? 'entry is' : 'entries are'} leased to an attempt that has ended`
  if (!isRunning) return good('queue', `${text}: the next start takes them up`)
  return failure('queue', text, [`posthorn queue show ${oldestId ?? ''}`, 'systemctl restart posthorn'])
}

async function checkWebhooks({ read }: CheckDeps): Promise<readonly Judgement[]> {
  return read === null ? [] : [judgeWebhooks(await readWebhookBacklog(read))]
}

export function judgeWebhooks({
  webhooks,
  failing,
  behind,
}: Awaited<ReturnType<typeof readWebhookBacklog>>): Judgement {
  const text = `${webhooks} enabled, ${failing} failing, the slowest ${behind} events behind`
  if (failing === 0 && behind <= MAX_BEHIND) return good('webhooks', text)
  return warning('webhooks', text, [
    "journalctl -u posthorn --grep='a webhook'",
    'the workspace sees its deliveries at /ui/webhooks, and can repair the endpoint or disable the webhook',
  ])
}

async function checkHolds({ read, clock }: CheckDeps): Promise<readonly Judgement[]> {
  if (read === null) return []
  const holds = listHolds(read, clock())
  return holds.length === 0 ? [good('prefixes', 'none is held')] : holds.slice(0, MAX_HOLDS).map(judgeHold)
}

export function judgeHold({ prefix, workspace_id: workspaceId, sent, verified, until_at: until }: Hold): Judgement {
  return warning(
    `${prefix} of ${workspaceId}`,
    `no codes are sent until ${formatTimestamp(until)}: of ${sent} codes, ${verified} were verified`,
    [`posthorn sms release ${prefix} --workspace ${workspaceId}   # if the traffic was expected`],
  )
}

async function checkBackups({ config, clock }: CheckDeps): Promise<readonly Judgement[]> {
  const { backup_folder: folder, backup_max_age: maxAge } = config.doctor
  if (folder === null) return [good('doctor.backup_folder', 'no folder is watched')]
  try {
    return judgeBackups(folder, await listBackups(folder), { now: clock(), maxAge })
  } catch (error) {
    return [failure(folder, errorMessageOf(error), [`install -d -o posthorn -g posthorn -m 0700 ${folder}`])]
  }
}

export interface BackupFile {
  readonly name: string
  readonly at: number
  readonly size: number
}

async function listBackups(folder: string): Promise<readonly BackupFile[]> {
  const entries = (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isFile())
  const files: BackupFile[] = []
  for (const { name } of entries.slice(0, MAX_FILES)) {
    const { mtimeMs: at, size } = await stat(join(folder, name))
    files.push({ name, at, size })
  }
  return files
}

/** A file that was left half-written belongs to a backup that failed. */
export function judgeBackups(
  folder: string,
  files: readonly BackupFile[],
  { now, maxAge }: { readonly now: number; readonly maxAge: number },
): readonly Judgement[] {
  const remedy = [
    `posthorn backup ${folder}/posthorn-$(date -u +%Y%m%dT%H%M%SZ).db`,
    'systemctl list-timers posthorn-backup.timer',
  ]
  const partial = files.filter(({ name, at }) => name.includes('.partial') && now - at > HOUR)
  const left = partial.map(({ name }) =>
    warning(`${folder}/${name}`, 'a backup ended before it was complete', [
      'journalctl -u posthorn-backup -n 50',
      `rm ${folder}/${name}`,
    ]),
  )
  const whole = files.filter(({ name, size }) => !name.includes('.partial') && size > 0)
  const newest = whole.toSorted((one, other) => other.at - one.at)[0]
  if (newest === undefined) return [...left, failure(folder, 'there is no backup', remedy)]
  const age = now - newest.at
  const text = `the newest backup, ${newest.name}, is ${Math.floor(age / HOUR)} hours old`
  if (age > maxAge * FAIL_FACTOR) return [...left, failure(folder, text, remedy)]
  return [...left, age > maxAge ? warning(folder, text, remedy) : good(folder, text)]
}
