/** Certificates, daily checks, standby and backups as metrics, with what is known of them changing between scrapes. */
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createMetrics } from '../../../src/operations/monitoring/registry.js'
import { reportUpkeep } from '../../../src/operations/monitoring/upkeep-metrics.js'
import { temporaryFolder } from '../../helpers/database/database.js'
import { parseMetrics, type ScrapedMetrics } from '../../helpers/parse-metrics.js'

type Upkeep = Parameters<typeof reportUpkeep>[1]

const DAY = 86_400_000

function open(t: Test, known: Partial<Upkeep>): () => Promise<ScrapedMetrics> {
  const metrics = createMetrics((error) => t.fail(String(error)))
  reportUpkeep(metrics, {
    clock: () => 0,
    listCertificates: () => [],
    doctor: {
      checks: [],
      readRun: async () => ({ at: 0, totals: { ok: 0, warn: 0, fail: 0 } }),
      listFindings: async () => [],
    },
    readStandbyLag: () => undefined,
    standbyInterval: 1_000,
    readBackupSettings: () => ({ folder: null, maxAge: DAY }),
    ...known,
  })
  return async () => parseMetrics(await metrics.render())
}

t.test('certificates by name: those that expire first, up to a limit', async (t) => {
  let certificates: ReturnType<Upkeep['listCertificates']> = []
  const scrape = open(t, { listCertificates: () => certificates })
  const ofNames = ({ samples }: ScrapedMetrics): string[] =>
    samples.filter(({ name }) => name.startsWith('posthorn_name_certificate')).map(({ series }) => series)
  t.same(ofNames(await scrape()), [])
  certificates = Array.from({ length: 150 }, (_, n) => ({ name: `h${n}.test`, from: 0, to: (1_000 - n) * DAY }))
  const scraped = await scrape()
  t.equal(ofNames(scraped).length, 200)
  t.equal(scraped.readValue('posthorn_certificates'), 150)
  t.equal(scraped.readValue('posthorn_name_certificate_expiry_timestamp_seconds{name="h149.test"}'), 851 * 86_400)
  t.equal(scraped.readValue('posthorn_name_certificate_lifetime_seconds{name="h50.test"}'), 950 * 86_400)
  t.notOk(ofNames(scraped).some((series) => series.includes('h49.test')))
  certificates = certificates.slice(0, 1)
  t.equal(ofNames(await scrape()).length, 2)
})

t.test('the last run of the checks', async (t) => {
  let at = 0
  let reads = 0
  let findings: Awaited<ReturnType<Upkeep['doctor']['listFindings']>> = []
  const scrape = open(t, {
    doctor: {
      checks: ['ptr', 'tls'],
      readRun: async () => ({ at, totals: { ok: 5, warn: 0, fail: findings.length } }),
      listFindings: async () => {
        reads += 1
        return findings
      },
    },
  })
  t.equal((await scrape()).readValue('posthorn_doctor_check_findings{check="tls",state="fail"}'), 0)
  at = 7_000
  findings = [
    { check: 'tls', state: 'fail' },
    { check: 'tls', state: 'fail' },
    { check: 'ptr', state: 'warn' },
  ]
  const { readValue } = await scrape()
  t.equal(readValue('posthorn_doctor_run_timestamp_seconds'), 7)
  t.equal(readValue('posthorn_doctor_findings{state="ok"}'), 5)
  t.equal(readValue('posthorn_doctor_check_findings{check="tls",state="fail"}'), 2)
  t.equal(readValue('posthorn_doctor_check_findings{check="tls",state="warn"}'), 0)
  t.equal(readValue('posthorn_doctor_check_findings{check="ptr",state="warn"}'), 1)
  await scrape()
  t.equal(reads, 1, 'findings are read once for each run')
  at = 9_000
  findings = []
  t.equal((await scrape()).readValue('posthorn_doctor_check_findings{check="tls",state="fail"}'), 0)
})

t.test('the standby', async (t) => {
  for (const [lag, expected] of [
    [undefined, [0, 0, 0]],
    [null, [1, 0, 0]],
    [2_500, [1, 1, 2.5]],
  ] as const) {
    const { readValue } = await open(t, { readStandbyLag: () => lag })()
    const names = ['posthorn_standby_enabled', 'posthorn_standby_usable', 'posthorn_standby_lag_seconds']
    t.same(names.map(readValue), expected, String(lag))
    t.equal(readValue('posthorn_standby_interval_seconds'), 1)
  }
})

t.test('the newest backup, looked for once a minute', async (t) => {
  const folder = join(temporaryFolder(t), 'backups')
  let now = 0
  let watched: string | null = folder
  const scrape = open(t, { clock: () => now, readBackupSettings: () => ({ folder: watched, maxAge: 2 * DAY }) })
  const read = async (): Promise<number> => (await scrape()).readValue('posthorn_backup_timestamp_seconds')
  t.equal(await read(), 0, 'no folder')
  t.equal((await scrape()).readValue('posthorn_backup_max_age_seconds'), 2 * 86_400)
  mkdirSync(folder)
  for (const [name, at, content] of [
    ['posthorn-20261123T020000Z.db', 1_000, 'x'],
    ['other.gz', 2_000, 'x'],
    ['empty.db', 3_000, ''],
    ['a.db.partial-7', 4_000, 'x'],
    ['.posthorn-backups.json', 5_000, '{}'],
  ] as const) {
    writeFileSync(join(folder, name), content)
    utimesSync(join(folder, name), at, at)
  }
  t.equal(await read(), 0)
  now += 60_000
  t.equal(await read(), 2_000)
  watched = null
  t.equal(await read(), 0, 'a reload has emptied the setting')
  t.equal((await scrape()).readValue('posthorn_backup_max_age_seconds'), 0)
  watched = folder
  t.equal(await read(), 2_000)
})
