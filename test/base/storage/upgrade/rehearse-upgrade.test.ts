/** The trial of an upgrade on a copy: what it reports, what it leaves, and what it refuses. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { rehearseUpgrade } from '../../../../src/base/storage/upgrade/rehearse-upgrade.js'
import type { UpgradePlan } from '../../../../src/base/storage/upgrade/upgrade-plan.js'
import { describeStep } from '../../../../src/base/storage/upgrade/upgrade-protocol.js'
import { temporaryFolder } from '../../../helpers/database/database.js'
import { addedNames, laterMigrations } from '../../../helpers/database/later-migrations.js'
import { listFixtures, readFile, unpackFixture } from '../../../helpers/database/schema-fixtures.js'

const migrations = laterMigrations
const ample = async (): Promise<{ free: number; total: number }> => ({ free: 9e12, total: 1e13 })

interface Place {
  readonly file: string
  readonly folder: string
  readonly digest: () => string
}

function unpack(t: Test): Place {
  const file = join(temporaryFolder(t), 'posthorn.db')
  unpackFixture('0001', file)
  return { file, folder: dirname(file), digest: () => createHash('sha256').update(readFileSync(file)).digest('hex') }
}

t.test('the copy is migrated and verified in the order of the steps, and nothing is left of it', async (t) => {
  const { file, folder, digest } = unpack(t)
  const other = join(folder, 'elsewhere')
  mkdirSync(other)
  const before = digest()
  const steps: string[] = []
  const plans: UpgradePlan[] = []
  const onPlan = (plan: UpgradePlan): void => void plans.push(plan)
  const onBegin = (step: Parameters<typeof describeStep>[0]): void => void steps.push(describeStep(step))
  for (const place of [folder, other]) {
    const done = await rehearseUpgrade({ file, folder: place, onPlan, onBegin, readSpace: ample, migrations })
    t.match(done, { plan: { from: '0001-baseline', pending: addedNames }, problems: [] })
    t.same(
      done?.migrations.map(({ name }) => name),
      addedNames,
    )
    t.ok(done?.migrations.every(({ milliseconds }) => milliseconds >= 0))
    t.equal(steps[0], 'copying the database')
    t.equal(steps.at(-1), 'verifying the data')
    t.same(readdirSync(other), [])
    t.same(
      readdirSync(folder).filter((name) => name.includes('check')),
      [],
    )
  }
  t.ok(plans[0] !== undefined && plans[0].bytes > 100_000 && plans[0].room === 3 * plans[0].bytes)
  t.equal(digest(), before, 'the database itself is as it was')
})

t.test('what is wrong with the data is found in the copy', async (t) => {
  const { file, folder } = unpack(t)
  readFile(file, `delete from raw_messages returning email_id`)
  const done = await rehearseUpgrade({ file, folder, onPlan: () => undefined, readSpace: ample, migrations })
  t.match(done?.problems, [/^email-raw: 1 unsettled emails without their raw message/])
})

t.test('without room nothing is written', async (t) => {
  const { file, folder } = unpack(t)
  const readSpace = async (): Promise<{ free: number; total: number }> => ({ free: 1024 ** 3 + 5, total: 2 ** 33 })
  const begun: unknown[] = []
  const trial = rehearseUpgrade({
    file,
    folder,
    readSpace,
    onPlan: () => undefined,
    onBegin: (step) => begun.push(step),
    migrations,
  })
  await t.rejects(trial, { name: 'NoRoomForCopy', message: /1073741829 of 8589934592 are free.*--copy-to/ })
  t.same(begun, [])
})

t.test('a copy that a killed process left is removed, and that of a running one stays', async (t) => {
  const { file, folder } = unpack(t)
  const [left, running] = [`${file}.upgrade-check-999999999`, `${file}.upgrade-check-${process.ppid}`]
  for (const name of [left, `${left}-wal`, running]) writeFileSync(name, '')
  await rehearseUpgrade({ file, folder, onPlan: () => undefined, readSpace: ample, migrations })
  t.same(
    readdirSync(folder).filter((name) => name.includes('check')),
    [`posthorn.db.upgrade-check-${process.ppid}`],
  )
})

t.test('an end that is asked for removes the copy', async (t) => {
  const { file, folder } = unpack(t)
  const ended = new AbortController()
  const onBegin = (): void => ended.abort(new Error('enough'))
  const trial = rehearseUpgrade({
    file,
    folder,
    onPlan: () => undefined,
    onBegin,
    signal: ended.signal,
    readSpace: ample,
    migrations,
  })
  await t.rejects(trial, { message: 'enough' })
  t.same(
    readdirSync(folder).filter((name) => name.includes('check')),
    [],
  )
})

t.test('a database of this version, and none at all, need no copy', async (t) => {
  const folder = temporaryFolder(t)
  const onPlan = (): void => void t.fail('no plan')
  const file = join(folder, 'posthorn.db')
  t.equal(await rehearseUpgrade({ file, folder, onPlan }), null)
  unpackFixture(listFixtures().at(-1) ?? '', file)
  t.match(await rehearseUpgrade({ file, folder, onPlan }), { plan: { pending: [] }, migrations: [], problems: [] })
})
