/** `check --upgrade` as an operator runs it: beside a daemon, with a configuration of the version before, in JSON. */
import { appendFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { lockDataFolder } from '../../../src/storage/data-lock.js'
import { migrations } from '../../../src/storage/migrations.js'
import { createInstallation } from '../../helpers/cli/command-line.js'
import { readFile, unpackFixture } from '../../helpers/database/schema-fixtures.js'

const names = Object.keys(migrations)
const pending = names.filter((name) => name > '0027')

/** An installation with a database of schema 0026, and a daemon that holds it. */
function createEarlier(t: Test): ReturnType<typeof createInstallation> & { readonly file: string } {
  const made = createInstallation(t)
  const file = join(made.data, 'posthorn.db')
  unpackFixture('0026', file)
  const lock = lockDataFolder(made.data)
  t.teardown(() => lock.release())
  return { ...made, file }
}

const copiesIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.includes('upgrade-check'))

t.test('the migrations, their times and the verdict are printed, beside a daemon', async (t) => {
  const { run, data, file } = createEarlier(t)
  const { status, out, err } = await run('check', '--upgrade')
  t.equal(status, 0)
  t.match(out, /no problems\n/)
  t.match(out, new RegExp(`last changed by 0026-sms, needs ${pending.length} migrations for version`))
  for (const name of pending) t.match(out, new RegExp(`^ {2}${name} +[\\d.]+ m?s$`, 'm'))
  t.match(out, /the migrated copy has no problems: the upgrade can be made\n$/)
  t.match(
    err,
    /^posthorn: the copy takes [\d.]+ KB in .*, at most [\d.]+ [KM]B with the migration; [\d.]+ [MGT]B are free\n/,
  )
  t.ok(err.indexOf('copying the database') < err.indexOf('migration 0027'))
  t.same(copiesIn(data), [])
  t.equal(readFile(file, 'select name from kysely_migration').length, names.length - pending.length)
})

t.test('in JSON, with the copy in another folder', async (t) => {
  const { run, folder } = createEarlier(t)
  const other = join(folder, 'other')
  t.match(await run('check', '--upgrade', '--copy-to', other), { status: 1, err: /--copy-to: ENOENT/ })
  mkdirSync(other)
  const { status, json, err } = await run('check', '--upgrade', '--copy-to', other, '--json')
  t.equal(status, 0)
  t.match(json(), {
    ok: true,
    upgrade: { needed: true, from: '0026-sms', problems: [], migrations: pending.map((name) => ({ name })) },
  })
  t.ok(err.includes(` in ${other},`))
  t.same(readdirSync(other), [])
})

t.test('keys that this version does not know are named, and the database is tried all the same', async (t) => {
  const { run, config } = createEarlier(t)
  appendFileSync(config, '\n[of_another_version]\nkey = 1\n')
  const { status, out } = await run('check', '--upgrade')
  t.equal(status, 1)
  t.match(out, /of_another_version: found a key that is not known here; allowed: .*service.*\n/)
  t.match(out, /the migrated copy has no problems/)
  writeFileSync(config, 'not = toml =\n')
  t.match(await run('check', '--upgrade'), { status: 1, out: /line 1, column/ })
})

t.test('problems of the data make it fail', async (t) => {
  const { run, file } = createEarlier(t)
  readFile(file, 'delete from raw_messages returning email_id')
  const { status, out } = await run('check', '--upgrade')
  t.equal(status, 1)
  t.match(out, /verify-data found problems in the migrated copy.*\nemail-raw: 1 unsettled emails/)
})

t.test('a database of this version and none at all need nothing', async (t) => {
  const { run } = createInstallation(t)
  t.match(await run('check', '--upgrade'), { status: 0, out: /there is no database yet/ })
  await run('setup', '--workspace', 'Acme', '--email', 'o@acme.test')
  t.match(await run('check', '--upgrade'), { status: 0, out: /the database is of this version .*nothing to upgrade/ })
  t.match(await run('check', '--copy-to', '/tmp'), { status: 2, err: /--copy-to belongs to --upgrade/ })
})

t.test('other commands leave a database of an earlier version to the daemon', async (t) => {
  const { run, file } = createEarlier(t)
  t.match(await run('queue', 'list'), { status: 1, err: /is of an earlier version: \(re\)start the daemon/ })
  t.equal(readFile(file, 'select name from kysely_migration').length, names.length - pending.length)
})
