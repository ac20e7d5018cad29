/** Checks the daemon: does it run, with the settings of the file, and does its event loop keep up. */
import { listEffectiveValues } from '../../../base/config/effective-values.js'
import {
  findWaitingSettings,
  readPublishedSettings,
  type WaitingSetting,
} from '../../../base/config/settings-in-force.js'
import { type DaemonStatus, isStatusFresh, readDaemonStatus } from '../../../base/platform/processes/daemon-status.js'
import { version } from '../../../base/platform/version.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import type { Check, CheckDeps } from '../check.js'
import { failure, good, type Judgement, type Remedy, warning } from '../finding.js'

/** Milliseconds that the event loop lets others wait. */
const [WARN_P99, FAIL_P99, WARN_MAX] = [100, 1_000, 1_000]

export const daemonChecks: readonly Check[] = [
  {
    name: 'daemon',
    summary: 'the daemon runs, with the version of this program and the settings of the configuration',
    run: checkDaemon,
  },
  { name: 'event-loop', summary: "the daemon's main thread answers without delay", run: checkEventLoop },
]

async function checkDaemon({ config, written, clock }: CheckDeps): Promise<readonly Judgement[]> {
  const folder = config.service.data_dir
  const status = await readDaemonStatus(folder)
  const isHeld = isDataFolderHeld(folder)
  const judged = judgeDaemon({ folder, status, isHeld, now: clock() })
  const published = readPublishedSettings(folder)
  if (written === undefined || !isHeld || published === null || published.pid !== status?.pid) return [judged]
  const waiting = findWaitingSettings(listEffectiveValues(config, written), published)
  return [judged, ...judgeSettings(written.file ?? 'the built-in defaults', waiting)]
}

/** `subject` is the configuration file. */
export function judgeSettings(subject: string, waiting: readonly WaitingSetting[]): readonly Judgement[] {
  return waiting.map(({ key, needs }) =>
    needs === 'restart'
      ? warning(subject, `${key} has changed since the start`, ['systemctl restart posthorn'])
      : warning(subject, `${key} has changed since the last reload`, ['systemctl reload posthorn']),
  )
}

export interface DaemonState {
  readonly folder: string
  readonly status: DaemonStatus | null
  /** A process holds the data folder. */
  readonly isHeld: boolean
  readonly now: number
}

export function judgeDaemon({ folder, status, isHeld, now }: DaemonState): Judgement {
  const start: Remedy = ['systemctl start posthorn', 'journalctl -u posthorn -n 50']
  const explains = ['port25-in', 'tls-served']
  if (!isHeld && status === null) return { ...warning(folder, 'no daemon runs with this data folder', start), explains }
  if (!isHeld) return { ...failure(folder, 'the daemon ended without a stop: no mail goes in or out', start), explains }
  if (status === null)
    return warning(folder, 'the daemon starts, or a restore is under way', ['posthorn doctor daemon'])
  if (!isStatusFresh(status, now)) {
    return failure(folder, `the daemon (process ${status.pid}) has not written its status since ${status.updated_at}`, [
      'journalctl -u posthorn -n 50',
      'systemctl restart posthorn',
    ])
  }
  if (status.version !== version) {
    return warning(folder, `the daemon is version ${status.version}, this program ${version}`, [
      'systemctl restart posthorn',
    ])
  }
  return good(folder, `process ${status.pid}, version ${status.version}, since ${status.started_at}`)
}

async function checkEventLoop({ config, clock }: CheckDeps): Promise<readonly Judgement[]> {
  const status = await readDaemonStatus(config.service.data_dir)
  return status !== null && isStatusFresh(status, clock()) ? [judgeEventLoop(status)] : []
}

export function judgeEventLoop({
  event_loop_delay_ms: { p50, p99, max },
  rates: { main_thread_load: load },
}: Pick<DaemonStatus, 'event_loop_delay_ms'> & {
  readonly rates: Pick<DaemonStatus['rates'], 'main_thread_load'>
}): Judgement {
  const subject = 'main thread'
  const text = `it was busy for ${Math.round(load * 100)} % of the last full minute, or of the time since the start; half of its delays took at most ${p50} ms, 99 % at most ${p99} ms, the longest ${max} ms`
  const remedy: Remedy = [
    'top -H -p "$(systemctl show -p MainPID --value posthorn)"',
    'journalctl -u posthorn -p warning -n 50',
  ]
  if (p99 >= FAIL_P99) return failure(subject, text, remedy)
  return p99 >= WARN_P99 || max >= WARN_MAX ? warning(subject, text, remedy) : good(subject, text)
}
