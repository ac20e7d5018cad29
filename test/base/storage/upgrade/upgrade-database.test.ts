/** The upgrade at the start: the copy that is kept, and a database that is whole whenever the process is killed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import SQLite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { restoreBackup } from '../../../../src/base/storage/maintenance/restore.js'
import { verifyData } from '../../../../src/base/storage/maintenance/verify.js'
import { openDatabase, openReadOnly } from '../../../../src/base/storage/open.js'
import { upgradeDatabase } from '../../../../src/base/storage/upgrade/upgrade-database.js'
import { planUpgrade, type UpgradePlan } from '../../../../src/base/storage/upgrade/upgrade-plan.js'
import { describeStep } from '../../../../src/base/storage/upgrade/upgrade-protocol.js'
import { holdLog } from '../../../../src/base/storage/wal/hold-log.js'
import { temporaryFolder } from '../../../helpers/database/database.js'
import { addedNames, laterMigrations, makeDevelopmentDatabase } from '../../../helpers/database/later-migrations.js'
import { readFile, unpackFixture } from '../../../helpers/database/schema-fixtures.js'

const migrations = laterMigrations
const names = Object.keys(migrations)
const ample = async (): Promise<{ free: number; total: number }> => ({ free: 9e12, total: 1e13 })

function unpack(t: Test): string {
  const file = join(temporaryFolder(t), 'posthorn.db')
  unpackFixture('0001', file)
  return file
}

interface Planned {
  readonly plan: UpgradePlan
  readonly copy: string | null
  readonly why: string
}

async function upgrade(file: string, more: Partial<Parameters<typeof upgradeDatabase>[0]> = {}) {
  const planned: Planned[] = []
  const steps: string[] = []
  const upgraded = await upgradeDatabase({
    ...{ file, version: '9.9.9', keepCopy: true, readSpace: ample, migrations, ...more },
    onPlan: (plan, copy, why) => planned.push({ plan, copy, why }),
    onDone: (step, milliseconds) => steps.push(milliseconds >= 0 ? describeStep(step) : 'before it began'),
  })
  return { upgraded, planned: planned[0], steps }
}

const appliedIn = (file: string): number =>
  readFile<{ n: number }>(file, 'select count(*) as n from kysely_migration')[0]?.n ?? 0

t.test('the database is copied, then migrated, and each step is reported once', async (t) => {
  const file = unpack(t)
  const { upgraded, planned, steps } = await upgrade(file)
  t.equal(upgraded, true)
  t.match(planned, { plan: { from: '0001-baseline', pending: addedNames }, copy: `${file}.before-9.9.9`, why: '' })
  t.same(steps, [
    'copying the database',
    ...addedNames.map((name) => `migration ${name}`),
    'writing the log back into the database',
  ])
  t.equal(appliedIn(file), names.length)
  t.same(verifyData(file, migrations), [])
  t.equal(appliedIn(`${file}.before-9.9.9`), 1)
  t.equal(statSync(`${file}.before-9.9.9`).mode & 0o777, 0o600)
  t.same((await upgrade(file)).upgraded, false, 'there is nothing left to do')
  t.equal(appliedIn(`${file}.before-9.9.9`), 1, 'the copy stays')
})

t.test('the way back is the copy, and a later upgrade replaces it', async (t) => {
  const file = unpack(t)
  await upgrade(file)
  const copy = `${file}.before-9.9.9`
  await restoreBackup({ backup: copy, file, migrations, now: Date.UTC(2026, 5, 1) })
  t.match(planUpgrade(file, migrations), { from: '0001-baseline' })
  t.equal((await upgrade(file)).upgraded, true)
  t.equal(appliedIn(file), names.length)
  t.notOk(readdirSync(dirname(file)).some((name) => name.includes('.new') || name.includes('.partial')))
})

t.test('without room, or where it is not wanted, no copy is made and the reason is given', async (t) => {
  const file = unpack(t)
  const full = await upgrade(file, { readSpace: async () => ({ free: 1024 ** 3 + 1000, total: 2 ** 33 }) })
  t.match(full, {
    upgraded: true,
    planned: { copy: null, why: /may need \d+ bytes, 1073742824 of 8589934592 are free/ },
  })
  const other = unpack(t)
  t.match(await upgrade(other, { keepCopy: false }), { upgraded: true, planned: { copy: null, why: '--no-copy' } })
  for (const name of [file, other]) {
    t.notOk(existsSync(`${name}.before-9.9.9`))
    t.equal(appliedIn(name), names.length)
  }
})

t.test('there is nothing to do without a database, and with an empty one', async (t) => {
  const file = join(temporaryFolder(t), 'posthorn.db')
  t.equal((await upgrade(file)).upgraded, false)
  t.notOk(existsSync(file))
})

t.test('a newer database is refused, and the message names the way back', async (t) => {
  const file = unpack(t)
  await upgrade(file)
  const add = `insert into kysely_migration (name, timestamp) values ('9999-later', '2026-01-01') returning name`
  readFile(file, add)
  const refused = new RegExp(
    `newer version: .* its migration 9999-later\\. .*"posthorn restore ${file}\\.before-9\\.9\\.9"`,
  )
  t.throws(() => planUpgrade(file, migrations), { name: 'NewerDatabase', message: refused })
  await t.rejects(openDatabase({ file, migrations }), { name: 'NewerDatabase', message: refused })
  const alone = unpack(t)
  readFile(alone, add)
  t.throws(() => planUpgrade(alone, migrations), {
    message: /or restore a backup that this version or an earlier one made/,
  })
})

t.test('a database of a development build is refused, with its name and what to do', async (t) => {
  const file = join(temporaryFolder(t), 'posthorn.db')
  makeDevelopmentDatabase(file)
  const before = readFileSync(file)
  const message = new RegExp(
    `^${file} was made by a development build from before the first release \\(its last migration is 0050-disk-held\\), ` +
      'and no release upgrades it\\. Move its data folder away and run "posthorn setup"',
  )
  const refusal = { name: 'DevelopmentDatabase', message }
  t.throws(() => planUpgrade(file), refusal)
  t.throws(() => verifyData(file), refusal)
  t.throws(() => openReadOnly(file), refusal)
  await t.rejects(openDatabase({ file }), refusal)
  await t.rejects(openDatabase({ file, migrations }), refusal, 'by a later release too')
  t.ok(before.equals(readFileSync(file)))
})

t.test('an earlier database is left alone where only the daemon upgrades', async (t) => {
  const file = unpack(t)
  const before = appliedIn(file)
  await t.rejects(openDatabase({ file, migrations, refuseEarlier: true }), {
    name: 'EarlierDatabase',
    message: /check --upgrade/,
  })
  t.equal(appliedIn(file), before)
})

t.test('a process that is killed in the middle leaves the database as it was, after each migration', async (t) => {
  const file = unpack(t)
  const child = fileURLToPath(new URL('../../../helpers/database/upgrade-child.js', import.meta.url))
  const contents = (): unknown => readFile(file, 'select id, status from emails order by id')
  readFile(file, 'pragma journal_mode = wal')
  const seeded = contents()
  for (const name of [...addedNames, ...addedNames, ...addedNames]) {
    const process = spawn(globalThis.process.execPath, [child, file, name], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [said] = (await once(process.stdout, 'data')) as [Buffer]
    t.equal(said.toString(), `${name}\n`)
    process.kill('SIGKILL')
    await once(process, 'close')
    t.match(planUpgrade(file, migrations), { from: '0001-baseline', pending: addedNames }, name)
    t.same(readFile(file, 'pragma integrity_check'), [{ integrity_check: 'ok' }])
    t.same(contents(), seeded)
  }
  t.equal((await upgrade(file)).upgraded, true)
  t.same(verifyData(file, migrations), [])
  t.same(contents(), seeded)
})

t.test('what an upgrade has left that was killed while it copied is removed', async (t) => {
  const file = unpack(t)
  for (const left of ['.new', '.new.partial-1', '.new.partial-1-journal'])
    writeFileSync(`${file}.before-9.9.9${left}`, 'x')
  t.equal((await upgrade(file)).upgraded, true)
  t.same(
    readdirSync(dirname(file)).filter((name) => name.includes('before')),
    ['posthorn.db.before-9.9.9'],
  )
})

t.test('the connections of the process keep their locks of the file, whose copy was read beside them', async (t) => {
  const file = unpack(t)
  const db = new SQLite(file)
  db.pragma('journal_mode = WAL')
  db.close()
  const releaseLog = holdLog(file)
  t.equal(countLocks(file), 1)
  await upgrade(file)
  const database = await openDatabase({ file, migrations })
  releaseLog()
  t.equal(countLocks(file), 1)
  await database.close()
  t.equal(countLocks(file), 0)
})

/** Locks of this process. */
function countLocks(file: string): number {
  const place = `:${statSync(file).ino} `
  const lines = readFileSync('/proc/locks', 'utf8').split('\n')
  return lines.filter((line) => line.includes(place) && line.includes(` ${process.pid} `)).length
}
