/** The copies of the database: what is wrong with the newest backup, and with a standby that is behind. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { BackupFile } from '../../../../src/base/storage/maintenance/backup-files.js'
import { databaseFile } from '../../../../src/base/storage/open.js'
import type { CheckDeps } from '../../../../src/operations/doctor/check.js'
import { copyChecks, judgeBackups, judgeStandby } from '../../../../src/operations/doctor/checks/copy-checks.js'
import type { FindingState } from '../../../../src/operations/doctor/finding.js'
import { temporaryFolder } from '../../../helpers/database/database.js'
import { testConfig } from '../../../helpers/doctor/test-config.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const now = 100 * DAY

t.test('the age of the newest backup', async (t) => {
  const file = (age: number, name = 'a.db', size = 1): BackupFile => ({ name, at: now - age, size })
  const table: readonly (readonly [string, readonly BackupFile[], readonly FindingState[]])[] = [
    ['none', [], ['fail']],
    ['an empty one', [file(0, 'a.db', 0)], ['fail']],
    ['young', [file(50 * DAY), file(2 * DAY, 'b.db')], ['ok']],
    ['old', [file(2 * DAY + 1)], ['warn']],
    ['three times too old', [file(6 * DAY + 1)], ['fail']],
    ['half-written now', [file(0), file(HOUR, 'b.db.partial-7')], ['ok']],
    ['half-written long ago', [file(0), file(HOUR + 1, 'b.db.partial-7')], ['warn', 'ok']],
  ]
  for (const [what, files, states] of table) {
    const found = judgeBackups('/b', files, { now, maxAge: 2 * DAY, since: 0 })
    t.same(
      found.map(({ state }) => state),
      states,
      what,
    )
  }
  const young = (since: number) => judgeBackups('/b', [], { now, maxAge: 2 * DAY, since })
  t.match(young(now - 2 * DAY), [{ state: 'ok', text: 'there is no backup yet' }])
  t.match(young(now - 2 * DAY - 1), [{ state: 'fail', remedy: ['posthorn backup /b', /timer/] }])
})

t.test('a folder of backups that is not there is a failure once the database is old enough', async (t) => {
  const folder = temporaryFolder(t)
  const [check] = copyChecks
  const config = testConfig({ service: { data_dir: folder }, doctor: { backup_folder: join(folder, 'backups') } })
  const run = (at: number) => check?.run({ config, clock: () => at } as unknown as CheckDeps)
  t.match(await run(Date.now()), [{ state: 'ok' }], 'before the first start')
  writeFileSync(databaseFile(folder), '')
  t.match(await run(Date.now()), [{ state: 'ok', text: 'there is no backup yet' }])
  t.match(await run(Date.now() + 3 * DAY), [{ state: 'fail', text: /ENOENT/, remedy: [/^install -d /, /./, /./] }])
  mkdirSync(join(folder, 'backups'))
  writeFileSync(join(folder, 'backups', '.posthorn-backups.json'), '{"files":[]}')
  t.match(await run(Date.now() + 3 * DAY), [{ state: 'fail', text: 'there is no backup' }])
})

t.test('the backups of a database of PostgreSQL are not looked for', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(databaseFile(folder), '')
  const storage = { url: 'postgres://db.test/mail' }
  const config = testConfig({ service: { data_dir: folder }, doctor: { backup_folder: '/nowhere' }, storage })
  t.equal(config.doctor.backup_folder, null, 'nor do the metrics have an age of them')
  const [check] = copyChecks
  const deps = { config, clock: () => Date.now() + 3 * DAY } as unknown as CheckDeps
  t.match(await check?.run(deps), [{ subject: 'storage.url', state: 'ok', text: /^the tools of PostgreSQL/ }])
})

t.test('a standby that is behind', async (t) => {
  const at = { now, interval: 1_000 }
  const known = { pid: 1, folder: '/s', updated_at: now, generation: 'g', segments: 3 }
  const judge = (lag: number | null, error: string | null = null, snapshot: number | null = 1) =>
    judgeStandby('/s', { ...known, copied_at: lag === null ? null : now - lag, snapshot_at: snapshot, error }, at)
  const table: readonly (readonly [string, ReturnType<typeof judge>, FindingState, RegExp])[] = [
    ['up to date', judge(900), 'ok', /until 1970-04-10T\S+Z, 0 s ago$/],
    ['a minute and its interval', judge(MINUTE + 1_000), 'ok', /61 s ago/],
    ['more', judge(MINUTE + 1_001), 'warn', /61 s ago/],
    ['a fault', judge(0, 'EROFS'), 'warn', /: EROFS$/],
    ['a quarter of an hour', judge(15 * MINUTE + 1_001, 'ENOSPC'), 'fail', /901 s ago: ENOSPC$/],
    ['no snapshot yet', judge(0, null, null), 'warn', /no complete copy yet/],
    ['no snapshot, and a fault', judge(null, 'EACCES', null), 'fail', /: EACCES$/],
    ['nothing', judgeStandby('/s', null, at), 'fail', /nothing has been copied/],
  ]
  for (const [what, { state, text, remedy }, expected, words] of table) {
    t.equal(state, expected, what)
    t.match(text, words, what)
    t.match(remedy, expected === 'ok' ? [] : ['posthorn standby status', /^namei -l \/s/, /ReadWritePaths=\/s/], what)
  }
})

t.test('a standby matters while a daemon runs', async (t) => {
  const folder = temporaryFolder(t)
  const run = (settings: Readonly<Record<string, unknown>>) =>
    copyChecks[1]?.run({
      config: testConfig({ service: { data_dir: folder }, standby: settings }),
      clock: () => now,
    } as unknown as CheckDeps)
  t.match(await run({}), [{ state: 'ok', text: 'no standby is set' }])
  t.match(await run({ folder: '/s' }), [{ state: 'ok', text: /no daemon runs/ }])
})
