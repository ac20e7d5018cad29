/** One daemon at a time works on a name, whatever happens to the one that does. */
import t, { type Test } from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { WriteConflict } from '../../../src/base/storage/db/write.js'
import { NameLeases } from '../../../src/operations/certificates/name-leases.js'
import { newNameRecord } from '../../../src/operations/certificates/name-record.js'
import { readState, requestRenewal } from '../../../src/operations/certificates/name-rows.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const name = parseDomainName('mail.a.test')
const MINUTE = 60_000
const order = { url: 'https://ca.test/order/1', account: 'https://ca.test/account/1', key: 'a key' }

async function openTwo(t: Test) {
  const { database, openAgain } = await temporaryDatabase(t)
  const time = { now: Date.UTC(2026, 10, 23) }
  const clock = (): number => time.now
  const first = new NameLeases({ ...database, clock, holder: 'first' })
  const second = new NameLeases({ ...(await openAgain()), clock, holder: 'second' })
  return { read: database.read, commit: database.commit, first, second, time }
}

t.test('of two daemons that want a name at once, one gets it, until it gives it back', async (t) => {
  const { first, second } = await openTwo(t)
  const taken = await Promise.all([first.take(name), second.take(name)])
  t.equal(taken.filter(Boolean).length, 1)
  const [winner, other] = taken[0] === true ? [first, second] : [second, first]
  t.equal(await other.take(name), false)
  t.equal(await winner.take(name), true, 'also after a restart')
  t.equal(await other.take(parseDomainName('b.test')), true, 'other names are free')
  await other.release(name)
  t.equal(await other.take(name), false, 'nobody gives back what another has')
  await winner.release(name)
  t.equal(await other.take(name), true)
})

t.test('a daemon that was killed loses the name, and its order goes on at the other', async (t) => {
  const { first, second, time, read } = await openTwo(t)
  await first.take(name)
  await first.storeOrder(name, order)
  time.now += 9 * MINUTE
  t.equal(await second.take(name), false)
  time.now += MINUTE
  t.equal(await second.take(name), true)
  t.same(await second.readOrder(name), order)
  await t.rejects(first.storeOrder(name, { ...order, url: 'https://ca.test/order/2' }), WriteConflict)
  await t.rejects(first.settle(name, { ...newNameRecord, failures: 1 }), WriteConflict)
  await t.rejects(first.settleOrder(name, newNameRecord, [requestRenewal({ name, now: 1 })]), WriteConflict)
  t.same(await second.readOrder(name), order)
  t.match(await readState(read, name), { record: newNameRecord, isAsked: false })
})

t.test('each write prolongs the lease', async (t) => {
  const { first, second, time } = await openTwo(t)
  await first.take(name)
  for (let writes = 0; writes < 3; writes += 1) {
    time.now += 9 * MINUTE
    await first.storeOrder(name, order)
  }
  time.now += 9 * MINUTE
  t.equal(await second.take(name), false)
})

t.test('a lease of a clock that was years ahead counts for nothing', async (t) => {
  const { first, second, time } = await openTwo(t)
  time.now += 3 * 365 * 24 * 60 * MINUTE
  await first.take(name)
  time.now -= 3 * 365 * 24 * 60 * MINUTE
  t.equal(await second.take(name), true)
})

t.test('a clock that is a little behind does not take a lease early', async (t) => {
  const { first, second, time } = await openTwo(t)
  await first.take(name)
  time.now -= 5 * MINUTE
  t.equal(await second.take(name), false)
})

t.test('an end of a try is stored, and meets the request', async (t) => {
  const { first, read, commit } = await openTwo(t)
  await commit([requestRenewal({ name, now: 1 })])
  await first.take(name)
  t.equal(await first.readOrder(name), null)
  const record = { failures: 2, fault: 'no', triedAt: 5, nextTryAt: 7, orders: [1, 2], issued: [3] }
  await first.storeOrder(name, order)
  await first.settle(name, record)
  t.match(await readState(read, name), { record, isAsked: false })
  t.same(await first.readOrder(name), order, 'a failure keeps the order')
  await first.removeOrder(name)
  t.equal(await first.readOrder(name), null)
  await first.storeOrder(name, order)
  await first.settleOrder(name, newNameRecord, [])
  t.equal(await first.readOrder(name), null)
})
