/** What the log and the service manager are told of an upgrade at the start. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { logOptions } from '../../../src/base/platform/log.js'
import { version } from '../../../src/base/platform/version.js'
import { databaseFile } from '../../../src/base/storage/open.js'
import { upgradeAtStart } from '../../../src/operations/upkeep/database-upgrade.js'
import { temporaryFolder } from '../../helpers/database/database.js'
import { addedNames, laterMigrations, makeDevelopmentDatabase } from '../../helpers/database/later-migrations.js'
import { unpackFixture } from '../../helpers/database/schema-fixtures.js'

t.test(
  'each step is a line of the log, the status is given once a second, and a start without an upgrade says nothing',
  async (t) => {
    const folder = join(temporaryFolder(t), 'data')
    const file = databaseFile(folder)
    unpackFixture('0001', file)
    const lines: Readonly<Record<string, unknown>>[] = []
    const log = pino({ ...logOptions, level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const statuses: string[] = []
    const onProgress = (status: string): void => void statuses.push(status)
    await upgradeAtStart(folder, log, { keepCopy: false, onProgress, migrations: laterMigrations })
    t.match(lines[0], { level: 30, msg: 'upgrading the database', from: '0001-baseline', copy: null, bytes: Number })
    t.match(lines[1], { level: 40, reason: '--no-copy' })
    t.match(lines.at(-1), { msg: 'the database is upgraded', ms: Number })
    t.match(statuses[0], /^upgrading the database: migration \d{4}-/)
    for (const name of addedNames) {
      t.ok(lines.some(({ step, ms }) => step === `migration ${name}` && Number(ms) >= 0))
    }
    const [said, shown] = [lines.length, statuses.length]
    await upgradeAtStart(folder, log, { onProgress, migrations: laterMigrations })
    t.same([lines.length, statuses.length], [said, shown])
  },
)

t.test('the copy is named after the version that upgrades', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  unpackFixture('0001', databaseFile(folder))
  const lines: Readonly<Record<string, unknown>>[] = []
  const log = pino({ ...logOptions, level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  await upgradeAtStart(folder, log, {
    readSpace: async () => ({ free: 9e12, total: 1e13 }),
    migrations: laterMigrations,
  })
  t.equal(lines[0]?.['copy'], `${databaseFile(folder)}.before-${version}`)
})

t.test('a database of a development build is left as it is, and the start fails', async (t) => {
  const folder = temporaryFolder(t)
  const file = databaseFile(folder)
  makeDevelopmentDatabase(file)
  const before = readFileSync(file)
  const log = pino({ level: 'silent' })
  const message = new RegExp(`^${file} was made by a development build .* Move its data folder away and run`)
  await t.rejects(upgradeAtStart(folder, log), { name: 'DevelopmentDatabase', message })
  t.ok(before.equals(readFileSync(file)))
  t.same(readdirSync(folder), ['posthorn.db'])
})
