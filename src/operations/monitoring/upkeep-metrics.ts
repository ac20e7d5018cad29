/**
 * Collects what keeps the service safe: certificates by name, the daily checks, the standby, and the newest backup.
 */
import type { Clock } from '../../base/platform/clock.js'
import { findNewestBackup, listBackupFiles } from '../../base/storage/maintenance/backup-files.js'
import type { Metrics } from './registry.js'

/** Names with series for their certificates. Those that expire first are shown. */
const MAX_NAMES = 100
/** Milliseconds between two looks at the folder of backups. */
const BACKUP_INTERVAL = 60_000

/** Times are epoch milliseconds. */
interface NamedCertificate {
  readonly name: string
  readonly from: number
  readonly to: number
}

const findingStates = ['ok', 'warn', 'fail'] as const
type FindingState = (typeof findingStates)[number]

interface DoctorRun {
  /** When it ended. 0 if there was none. */
  readonly at: number
  readonly totals: Readonly<Record<FindingState, number>>
}

interface ReportedUpkeep {
  readonly clock: Clock
  readonly listCertificates: () => readonly NamedCertificate[]
  readonly doctor: {
    /** Names of all checks. */
    readonly checks: readonly string[]
    readonly readRun: () => Promise<DoctorRun>
    /** Lists the faults since the last run. */
    readonly listFindings: () => Promise<readonly { readonly check: string; readonly state: FindingState }[]>
  }
  /**
   * Milliseconds that the standby is behind. Null if it has no copy that could be used, undefined if no standby is set.
   */
  readonly readStandbyLag: () => number | null | undefined
  /** Milliseconds from one copy to the next. */
  readonly standbyInterval: number
  /** `folder` is null if none is watched. */
  readonly readBackupSettings: () => { readonly folder: string | null; readonly maxAge: number }
}

export function reportUpkeep(metrics: Metrics, upkeep: ReportedUpkeep): void {
  reportCertificates(metrics, upkeep)
  reportDoctor(metrics, upkeep)
  reportStandby(metrics, upkeep)
  reportBackups(metrics, upkeep)
}

function reportCertificates(metrics: Metrics, { listCertificates }: ReportedUpkeep): void {
  const expiry = metrics.namedGauge({
    name: 'posthorn_name_certificate_expiry_timestamp_seconds',
    help: `When the certificate of a host name expires, as a Unix time; of the ${MAX_NAMES} that expire first.`,
    ...{ label: 'name', max: MAX_NAMES },
  })
  const lifetime = metrics.namedGauge({
    name: 'posthorn_name_certificate_lifetime_seconds',
    help: 'For how long that certificate is valid in all.',
    ...{ label: 'name', max: MAX_NAMES },
  })
  const count = metrics.gauge({
    name: 'posthorn_certificates',
    help: 'Host names with their own certificate, including those that are not shown by name.',
  })
  metrics.onScrape(() => {
    const all = listCertificates()
    const first = all.toSorted((one, other) => one.to - other.to).slice(0, MAX_NAMES)
    expiry.replace(first.map(({ name, to }) => [name, to / 1_000]))
    lifetime.replace(first.map(({ name, from, to }) => [name, (to - from) / 1_000]))
    count.set([], all.length)
  })
}

function reportDoctor(metrics: Metrics, { doctor: { checks, readRun, listFindings } }: ReportedUpkeep): void {
  const lastRun = metrics.gauge({
    name: 'posthorn_doctor_run_timestamp_seconds',
    help: 'When the last run of all checks in the daemon ended, as a Unix time; 0: there was none.',
  })
  const totals = metrics.gauge({
    name: 'posthorn_doctor_findings',
    help: 'Findings of that run, by state.',
    labels: { state: findingStates },
  })
  const wrong = metrics.gauge({
    name: 'posthorn_doctor_check_findings',
    help: 'What is wrong since that run, by check; a check that was not answered keeps its findings of the run before.',
    labels: { check: checks, state: ['warn', 'fail'] },
  })
  let shownAt = 0
  metrics.onScrape(async () => {
    const run = await readRun()
    if (run.at === shownAt) return
    const findings = await listFindings()
    for (const check of checks) {
      for (const state of ['warn', 'fail']) {
        const found = findings.filter((finding) => finding.check === check && finding.state === state)
        wrong.set([check, state], found.length)
      }
    }
    for (const state of findingStates) totals.set([state], run.totals[state])
    lastRun.set([], run.at / 1_000)
    shownAt = run.at
  })
}

function reportStandby(metrics: Metrics, { readStandbyLag, standbyInterval }: ReportedUpkeep): void {
  const enabled = metrics.gauge({ name: 'posthorn_standby_enabled', help: '1 if standby.folder is set, else 0.' })
  const usable = metrics.gauge({
    name: 'posthorn_standby_usable',
    help: '1 while the standby folder has a copy from which the database can be rebuilt, else 0.',
  })
  const behind = metrics.gauge({
    name: 'posthorn_standby_lag_seconds',
    help: 'Time since everything that was committed was in the standby folder; 0 while there is no such copy.',
  })
  metrics
    .gauge({
      name: 'posthorn_standby_interval_seconds',
      help: 'standby.interval: the standby is so far behind before each copy.',
    })
    .set([], standbyInterval / 1_000)
  metrics.onScrape(() => {
    const lag = readStandbyLag()
    enabled.set([], lag === undefined ? 0 : 1)
    usable.set([], typeof lag === 'number' ? 1 : 0)
    behind.set([], (lag ?? 0) / 1_000)
  })
}

/** The folder is read once a minute at most, because it may be on a slow disk, or have many files. */
function reportBackups(metrics: Metrics, { readBackupSettings, clock }: ReportedUpkeep): void {
  const limit = metrics.gauge({
    name: 'posthorn_backup_max_age_seconds',
    help: 'doctor.backup_max_age; 0: doctor.backup_folder is empty, and no backup is looked for.',
  })
  const newest = metrics.gauge({
    name: 'posthorn_backup_timestamp_seconds',
    help: 'When the newest complete backup in doctor.backup_folder was written, as a Unix time; 0: there is none.',
  })
  let read: { readonly folder: string | null; readonly at: number } | null = null
  metrics.onScrape(async () => {
    const { folder, maxAge } = readBackupSettings()
    limit.set([], folder === null ? 0 : maxAge / 1_000)
    if (read !== null && read.folder === folder && Math.abs(clock() - read.at) < BACKUP_INTERVAL) return
    read = { folder, at: clock() }
    // A folder that cannot be read has no backup to offer; the check `backup` names the fault.
    const files = folder === null ? [] : await listBackupFiles(folder).catch(() => [])
    newest.set([], (findNewestBackup(files)?.at ?? 0) / 1_000)
  })
}
