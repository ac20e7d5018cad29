/** To whom a domain has sent mail: what is noted and when, under which names a provider is known, and what is removed. */
import t, { type Test } from 'tap'
import type { Commit } from '../../../../src/base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../../src/base/storage/tables/tables.js'
import {
  MailReceivers,
  rememberReceivers,
  removeOldReceivers,
} from '../../../../src/inbound/receiving/domain-reports/mail-receivers.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { createWorkspaces } from '../../../helpers/sms/test-codes.js'

const DAY = 86_400_000
const taken = { workspaceId: 'ws_1', senderDomain: 'News.a.co.uk', recipientDomain: 'b.test', mx: null }

async function openReceivers(t: Test) {
  const { database } = await temporaryDatabase(t)
  await createWorkspaces(database, ['ws_1', 'ws_2'])
  const state = { now: 1_000, isBroken: false, commits: 0 }
  const errors: unknown[] = []
  const commit: Commit = async (writes) => {
    state.commits += 1
    if (state.isBroken) throw new Error('no room')
    await database.commit(writes)
  }
  const log = { error: (line: unknown) => errors.push(line) }
  const receivers = new MailReceivers({ commit, clock: () => state.now, log })
  t.teardown(() => receivers.stop())
  const isKnown = (reporter: string, workspace_id = 'ws_1', domain = 'a.co.uk'): Promise<boolean> =>
    rememberReceivers(database.read)({ workspace_id, domain, reporter })
  return { database, state, errors, receivers, isKnown }
}

t.test('recipients and hosts are noted by organizational domain, of one workspace and domain', async (t) => {
  const { receivers, isKnown } = await openReceivers(t)
  receivers.note({ ...taken, recipientDomain: 'mail.shop.test', mx: 'mx1.mail.host.test' })
  await receivers.stop()
  t.ok(await isKnown('shop.test'))
  t.ok(await isKnown('host.test'))
  t.ok(await isKnown('host.test', 'ws_1', 'other.a.co.uk'), 'a report may name a domain below it')
  t.notOk(await isKnown('elsewhere.test'))
  t.notOk(await isKnown('host.test', 'ws_2'))
  t.notOk(await isKnown('host.test', 'ws_1', 'b.co.uk'))
})

t.test('a provider is known under all its names', async (t) => {
  const { receivers, isKnown } = await openReceivers(t)
  receivers.note({ ...taken, recipientDomain: 'gmail.com' })
  receivers.note({ ...taken, recipientDomain: 'customer.test', mx: 'customer-test.mail.protection.outlook.com' })
  await receivers.stop()
  for (const reporter of ['google.com', 'microsoft.com', 'outlook.com']) t.ok(await isKnown(reporter), reporter)
  t.notOk(await isKnown('yahoo.com'))
})

t.test('a receiver is stored once a day, and again after a fault', async (t) => {
  const { receivers, state, isKnown, errors } = await openReceivers(t)
  state.isBroken = true
  receivers.note(taken)
  await receivers.stop()
  t.equal(errors.length, 1)
  state.isBroken = false
  for (let times = 0; times < 3; times += 1) {
    receivers.note(taken)
    await receivers.stop()
  }
  t.ok(await isKnown('b.test'))
  t.equal(state.commits, 2)
  state.now += DAY
  receivers.note(taken)
  await receivers.stop()
  t.equal(state.commits, 3)
})

t.test('a deleted workspace gets no rows, the service does', async (t) => {
  const { receivers, isKnown } = await openReceivers(t)
  receivers.note({ ...taken, workspaceId: 'ws_gone' })
  receivers.note({ ...taken, workspaceId: SERVICE_WORKSPACE })
  await receivers.stop()
  t.notOk(await isKnown('b.test', 'ws_gone'))
  t.ok(await isKnown('b.test', SERVICE_WORKSPACE))
})

t.test('what was not noted for long is removed', async (t) => {
  const { receivers, state, isKnown, database } = await openReceivers(t)
  receivers.note(taken)
  state.now += DAY
  receivers.note({ ...taken, recipientDomain: 'c.test' })
  await receivers.stop()
  t.notOk(await removeOldReceivers(database, state.now))
  t.notOk(await isKnown('b.test'))
  t.ok(await isKnown('c.test'))
})
