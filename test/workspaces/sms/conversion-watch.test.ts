/** Which prefixes are held: at each edge of the rule, against a recount, and when requests arrive together. */
import fc from 'fast-check'
import t from 'tap'
import { tryCommit } from '../../../src/base/storage/db/write.js'
import type { SmsStatus } from '../../../src/base/storage/tables/sms-tables.js'
import { ConversionWatch } from '../../../src/workspaces/sms/conversion-watch.js'
import { type HeldPrefix, insertHold, readNewestHold, releaseHolds } from '../../../src/workspaces/sms/holds.js'
import { type PlannedSend, SendCharger } from '../../../src/workspaces/sms/send-limits.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'
import { ampleLimits } from '../../helpers/sms/ample-limits.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const noon = Date.UTC(2026, 10, 22, 12)

const { database } = await temporaryDatabase(t)
const { read, commit } = database
const row = rowOf(read)
const warnings: object[] = []
const log = { warn: (fields: object) => void warnings.push(fields) }
const watch = (percent = 10) =>
  new ConversionWatch({ read, commit }, log, () => ({ limits: { ...ampleLimits, min_verified_percent: percent } }))
let serial = 0
const nextPlace = (): HeldPrefix => {
  serial += 1
  return { workspaceId: `ws_${serial}`, prefix: `+43${String(100 + (serial % 900))}` }
}

function planned({ workspaceId, prefix }: HeldPrefix, now: number): PlannedSend {
  return { workspaceId, prefix, range: `${prefix}0000`, phone: `${prefix}00001234`, now }
}

interface Code {
  readonly at: number
  readonly status: SmsStatus
}

let codes = 0
async function store({ workspaceId, prefix }: HeldPrefix, stored: readonly Code[]): Promise<void> {
  const common = { workspace_id: workspaceId, prefix }
  await commit(
    await Promise.all(
      stored.map(async ({ at, status }) => {
        codes += 1
        const phone = `${prefix}${String(codes).padStart(8, '0')}`
        return row('sms_codes', { ...common, id: `sms_${codes}`, phone, status, created_at: at, expires_at: at + HOUR })
      }),
    ),
  )
}

const many = (count: number, status: SmsStatus, at: number): Code[] =>
  Array.from({ length: count }, () => ({ at, status }))

async function reasonAt(place: HeldPrefix, now: number, percent = 10): Promise<unknown> {
  return (await watch(percent).findHold(planned(place, now)))?.details['reason'] ?? null
}

const half = noon - HOUR / 2
const cases = [
  { name: '20 codes, none verified', codes: many(20, 'pending', half), isHeld: true },
  { name: '19 codes', codes: many(19, 'pending', half), isHeld: false },
  { name: 'ten percent', codes: [...many(18, 'expired', half), ...many(2, 'verified', half)], isHeld: false },
  { name: 'below ten percent', codes: [...many(19, 'expired', half), ...many(2, 'verified', half)], isHeld: true },
  {
    name: 'states of codes that were accepted',
    codes: statesOf(['replaced', 'max_attempts', 'expired', 'pending']),
    isHeld: true,
  },
  { name: 'codes that were not accepted', codes: statesOf(['void', 'sending']), isHeld: false },
  { name: 'sent five minutes ago', codes: many(20, 'pending', noon - 5 * MINUTE), isHeld: true },
  { name: 'sent just less than five minutes ago', codes: many(20, 'pending', noon - 5 * MINUTE + 1), isHeld: false },
  { name: 'sent just less than an hour ago', codes: many(20, 'pending', noon - HOUR + 1), isHeld: true },
  { name: 'sent an hour ago', codes: many(20, 'pending', noon - HOUR), isHeld: false },
  {
    name: 'the newest 500 decide',
    codes: [...many(500, 'pending', half), ...many(500, 'verified', half - 1)],
    isHeld: true,
  },
] as const

function statesOf(states: readonly SmsStatus[]): readonly Code[] {
  return states.flatMap((status) => many(20, status, half))
}

t.test('a change of the setting is in force for the next code', async (t) => {
  const place = nextPlace()
  await store(place, many(20, 'pending', half))
  const limits = { ...ampleLimits, min_verified_percent: 0 }
  const watching = new ConversionWatch({ read, commit }, { warn: () => undefined }, () => ({ limits }))
  t.equal(await watching.findHold(planned(place, noon)), null)
  limits.min_verified_percent = 10
  t.not(await watching.findHold(planned(place, noon)), null)
})

for (const { name, codes: stored, isHeld } of cases) {
  t.test(name, async (t) => {
    const place = nextPlace()
    await store(place, stored)
    t.equal(await reasonAt(place, noon, 0), null, 'not when the watch is off')
    t.equal(await reasonAt(place, noon), isHeld ? 'prefix_held' : null)
    t.equal(await reasonAt({ ...place, prefix: '+43999' }, noon), null, 'another prefix')
    t.equal(await reasonAt({ ...place, workspaceId: 'ws_other' }, noon), null, 'another workspace')
  })
}

t.test('a hold ends after an hour, and what was sent before it does not count again', async (t) => {
  const place = nextPlace()
  await store(place, many(40, 'pending', half))
  const refusal = await watch().findHold(planned(place, noon))
  t.match(refusal, {
    kind: 'rate-limited',
    message: `0 of 40 codes sent to numbers that begin with ${place.prefix} were verified, so no more are sent for a while: try again in 3600 s`,
    details: { reason: 'prefix_held', prefix: place.prefix, sent: 40, verified: 0, retry_after: 3600, remaining: 0 },
  })
  await store(place, many(40, 'pending', noon - 1))
  t.match(await watch().findHold(planned(place, noon + HOUR - 1)), {
    details: { reason: 'prefix_held', retry_after: 1 },
  })
  t.equal(await reasonAt(place, noon + HOUR), null)
  await store(place, many(20, 'pending', noon + HOUR))
  t.equal(await reasonAt(place, noon + HOUR + 5 * MINUTE - 1), null)
  t.equal(await reasonAt(place, noon + HOUR + 5 * MINUTE), 'prefix_held', 'traffic that goes on is held again')
  t.match(warnings.at(-1), { workspace_id: place.workspaceId, prefix: place.prefix, sent: 20, verified: 0 })
})

t.test('a release begins the count anew', async (t) => {
  const place = nextPlace()
  await store(place, [...many(40, 'pending', half), ...many(19, 'pending', noon + 2)])
  t.equal(await reasonAt(place, noon), 'prefix_held')
  const released = await releaseHolds(database, { prefix: place.prefix, workspaceId: place.workspaceId, now: noon + 1 })
  t.match(released, [{ workspace_id: place.workspaceId, sent: 40 }])
  t.equal(await reasonAt(place, noon + 1), null)
  t.equal(await reasonAt(place, noon + 6 * MINUTE), null, 'the 59 codes before and after are not 20 after it')
  await store(place, many(1, 'pending', noon + 2))
  t.equal(await reasonAt(place, noon + 6 * MINUTE), 'prefix_held')
})

t.test('a decision that was made before a release is not carried out after it', async (t) => {
  const place = nextPlace()
  const hold = { workspace_id: place.workspaceId, prefix: place.prefix, sent: 20, verified: 0 }
  await commit([insertHold({ ...hold, held_at: noon, until_at: noon + HOUR, since: 0 })])
  const again = { ...hold, held_at: noon + 2, until_at: noon + 2 + HOUR, since: noon - HOUR }
  t.notOk(await tryCommit(commit([insertHold(again)])), 'it is held')
  await releaseHolds(database, { ...place, now: noon + 1 })
  t.notOk(await tryCommit(commit([insertHold(again)])), 'it was released since the count')
  t.ok(await tryCommit(commit([insertHold({ ...again, since: noon + 1 })])), 'codes after the release')
})

t.test('requests at the same moment place one hold, and none of them passes', async (t) => {
  const place = nextPlace()
  await store(place, many(25, 'pending', half))
  const events = async (): Promise<unknown[]> =>
    read(`select data from events where type = 'sms.held' and workspace_id = ?`, [place.workspaceId])
  const charge = await new SendCharger(read, () => ({ limits: ampleLimits })).charge(planned(place, noon))
  const answers = await Promise.all(Array.from({ length: 50 }, () => watch().findHold(planned(place, noon))))
  t.ok(answers.every((answer) => answer?.details['reason'] === 'prefix_held'))
  t.equal((await read('select * from sms_holds where workspace_id = ?', [place.workspaceId])).length, 1)
  t.strictSame(
    (await events()).map((event) => JSON.parse((event as { data: string }).data)),
    [
      {
        ...{ prefix: place.prefix, sent: 25, verified: 0, min_verified_percent: 10 },
        ...{ held_at: '2026-11-22T12:00:00.000Z', until_at: '2026-11-22T13:00:00.000Z' },
      },
    ],
  )
  t.notOk(await tryCommit(commit(charge.writes)), 'nor does one that asked before the hold and commits after it')
  t.match(await charge.findRefusal(), { details: { reason: 'prefix_held', retry_after: 3600 } })
})

const states = ['sending', 'pending', 'verified', 'expired', 'max_attempts', 'replaced', 'void'] as const

t.test('any history agrees with a recount', async (t) => {
  const age = fc.oneof(
    fc.integer({ min: -10, max: HOUR + 10 * MINUTE }),
    fc.constantFrom(5 * MINUTE - 1, 5 * MINUTE, 5 * MINUTE + 1, HOUR - 1, HOUR, HOUR + 1),
  )
  const status = fc.constantFrom(...states, ...states.slice(3, 6), ...states.slice(3, 6))
  const history = fc.array(fc.tuple(age, status), { minLength: 20, maxLength: 60, size: 'max' })
  const percent = fc.integer({ min: 1, max: 40 })
  const release = fc.option(fc.integer({ min: 20 * MINUTE, max: HOUR }), { freq: 2 })
  let [held, passed] = [0, 0]
  await fc.assert(
    fc.asyncProperty(history, percent, release, async (ages, minPercent, releasedAgo) => {
      const place = nextPlace()
      await store(
        place,
        ages.map(([ago, status]) => ({ at: noon - ago, status })),
      )
      if (releasedAgo !== null) {
        const [at, key] = [noon - releasedAgo, { workspace_id: place.workspaceId, prefix: place.prefix }]
        const hold = { ...key, held_at: at - 1, until_at: at + HOUR, sent: 20, verified: 0, since: 0 }
        await commit([insertHold(hold)])
        await releaseHolds(database, { ...place, now: at })
      }
      const counted = ages.filter(
        ([ago, status]) =>
          ago >= 5 * MINUTE && ago < Math.min(HOUR, releasedAgo ?? HOUR) && status !== 'sending' && status !== 'void',
      )
      const verified = counted.filter(([, status]) => status === 'verified').length
      const isDue = counted.length >= 20 && verified / counted.length < minPercent / 100
      held += isDue ? 1 : 0
      passed += isDue ? 0 : 1
      t.equal(await reasonAt(place, noon, minPercent), isDue ? 'prefix_held' : null)
      const newest = await readNewestHold(read, place)
      t.equal(newest?.held_at === noon, isDue)
    }),
    { numRuns: 200 },
  )
  t.ok(held > 20 && passed > 20, `${held} held, ${passed} not`)
})
