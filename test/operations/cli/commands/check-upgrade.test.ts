/** `check --upgrade` as an operator runs it: beside a daemon, with a configuration of the version before, in JSON. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../../src/base/config/load.js'
import { lockDataFolder } from '../../../../src/base/storage/db/data-lock.js'
import { openStore } from '../../../../src/base/storage/open.js'
import type { Answer } from '../../../../src/operations/cli/command/command.js'
import { failureOf } from '../../../../src/operations/cli/command/failure.js'
import { check } from '../../../../src/operations/cli/commands/check.js'
import { createInstallation } from '../../../helpers/cli/command-line.js'
import { addedNames, laterMigrations, makeDevelopmentDatabase } from '../../../helpers/database/later-migrations.js'
import { readFile, unpackFixture } from '../../../helpers/database/schema-fixtures.js'

interface Tried {
  readonly answer: Answer
  /** What is printed on standard error meanwhile. */
  readonly reported: string
}

interface Earlier extends ReturnType<typeof createInstallation> {
  readonly file: string
  /** `check --upgrade` of a later version. */
  readonly tryUpgrade: (more?: { readonly copyTo: string }) => Promise<Tried>
}

/** An installation with a database of the first release, and a daemon that holds it. */
function createEarlier(t: Test): Earlier {
  const made = createInstallation(t)
  const file = join(made.data, 'posthorn.db')
  unpackFixture('0001', file)
  const lock = lockDataFolder(made.data)
  t.teardown(() => lock.release())
  return {
    ...made,
    file,
    tryUpgrade: async (more) => {
      const lines: string[] = []
      const load = () => loadConfig({ file: made.config, env: {}, needsCredentials: false })
      const options = { upgrade: true, ...(more === undefined ? {} : { 'copy-to': more.copyTo }) }
      const report = (line: string): void => void lines.push(line)
      return { answer: await check(load, { options, report, migrations: laterMigrations }), reported: lines.join('\n') }
    },
  }
}

const copiesIn = (folder: string): string[] => readdirSync(folder).filter((name) => name.includes('upgrade-check'))
const appliedIn = (file: string): number => readFile(file, 'select name from kysely_migration').length

t.test('the migrations, their times and the verdict are printed, beside a daemon', async (t) => {
  const { tryUpgrade, data, file } = createEarlier(t)
  const { answer, reported } = await tryUpgrade()
  const out = answer.lines.join('\n')
  t.not(answer.failed, true)
  t.match(out, /no problems\n/)
  t.match(out, new RegExp(`last changed by 0001-baseline, needs ${addedNames.length} migrations for version`))
  for (const name of addedNames) t.match(out, new RegExp(`^ {2}${name} +[\\d.]+ m?s$`, 'm'))
  t.match(out, /the migrated copy has no problems: the upgrade can be made$/)
  t.match(
    reported,
    /^the copy takes [\d.]+ [KM]B in .*, at most [\d.]+ [KM]B with the migration; [\d.]+ [MGT]B are free\n/,
  )
  t.ok(reported.indexOf('copying the database') < reported.indexOf(`migration ${addedNames[0]}`))
  t.same(copiesIn(data), [])
  t.equal(appliedIn(file), 1)
})

t.test('in JSON, with the copy in another folder', async (t) => {
  const { run, folder, tryUpgrade } = createEarlier(t)
  const other = join(folder, 'other')
  t.match(await run('check', '--upgrade', '--copy-to', other), { status: 1, err: /--copy-to: ENOENT/ })
  mkdirSync(other)
  const { answer, reported } = await tryUpgrade({ copyTo: other })
  t.match(answer.json, {
    ok: true,
    upgrade: { needed: true, from: '0001-baseline', problems: [], migrations: addedNames.map((name) => ({ name })) },
  })
  t.ok(reported.includes(` in ${other},`))
  t.same(readdirSync(other), [])
})

t.test('keys that this version does not know are named, and the database is tried all the same', async (t) => {
  const { run, config, tryUpgrade } = createEarlier(t)
  appendFileSync(config, '\n[of_another_version]\nkey = 1\n')
  const { answer } = await tryUpgrade()
  t.equal(answer.failed, true)
  const out = answer.lines.join('\n')
  t.match(out, /of_another_version: found a key that is not known here; allowed: .*service.*\n/)
  t.match(out, /the migrated copy has no problems/)
  writeFileSync(config, 'not = toml =\n')
  t.match(await run('check', '--upgrade'), { status: 1, out: /line 1, column/ })
})

t.test('problems of the data make it fail', async (t) => {
  const { tryUpgrade, file } = createEarlier(t)
  readFile(file, 'delete from raw_messages returning email_id')
  const { answer } = await tryUpgrade()
  t.equal(answer.failed, true)
  t.match(answer.lines.join('\n'), /verify-data found problems in the migrated copy.*\nemail-raw: 1 unsettled emails/)
})

t.test('a database of this version and none at all need nothing', async (t) => {
  const { run } = createInstallation(t)
  t.match(await run('check', '--upgrade'), { status: 0, out: /there is no database yet/ })
  await run('setup', '--workspace', 'Acme', '--email', 'o@acme.test')
  t.match(await run('check', '--upgrade'), { status: 0, out: /the database is of this version .*nothing to upgrade/ })
  t.match(await run('check', '--copy-to', '/tmp'), { status: 2, err: /--copy-to belongs to --upgrade/ })
})

t.test('other commands leave a database of an earlier version to the daemon', async (t) => {
  const { file } = createEarlier(t)
  const refused = await openStore({ file, migrations: laterMigrations, refuseEarlier: true }).catch(failureOf)
  t.match(refused, { status: 1, text: /is of an earlier version: \(re\)start the daemon/ })
  t.equal(appliedIn(file), 1)
})

t.test('every command refuses a database of a development build, and leaves it as it is', async (t) => {
  const { run, folder, data } = createInstallation(t)
  mkdirSync(data)
  const file = join(data, 'posthorn.db')
  makeDevelopmentDatabase(file)
  const before = readFileSync(file)
  const line = new RegExp(
    `${file} was made by a development build .*, and no release upgrades it\\. Move its data folder away`,
  )
  for (const words of [
    ...[
      ['setup', '--workspace', 'Acme', '--email', 'o@acme.test'],
      ['queue', 'list'],
    ],
    ...[['backup', join(folder, 'copy.db')], ['verify-data'], ['top', '--once'], ['log', 'a@b.test'], ['key', 'list']],
  ]) {
    const { status, err } = await run(...words)
    t.equal(status, 1, words.join(' '))
    t.match(err, line, words.join(' '))
    t.notMatch(err, /\n.*\n/, 'in one line')
  }
  t.match(await run('check'), { status: 1, out: line })
  const tried = await run('check', '--upgrade', '--json')
  t.match([tried.status, tried.json()], [1, { ok: true, upgrade: { needed: false, problems: [line] } }])
  t.match(await run('doctor', 'disk'), { status: 1, out: line })
  t.match(await run('restore', file), {
    status: 1,
    err: /development build .* Restore it with the build that made it\n$/,
  })
  t.ok(before.equals(readFileSync(file)))
  t.same(readdirSync(folder).sort(), ['data', 'posthorn.toml'])
})
