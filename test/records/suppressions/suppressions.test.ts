/** The suppression list and the event log. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { oldestEvent, recordEvent, removeOldEvents } from '../../../src/records/events/event-log.js'
import { addSuppression, isSuppressed } from '../../../src/records/suppressions/suppressions.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

t.test('an address is suppressed in its workspace, however it is written; the first reason stays', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const add = {
    workspaceId: 'ws_1',
    email: parseAddress('Bob@B.test'),
    sourceEmailId: 'e1',
    metadata: { a: 1 },
    at: 1000,
  }
  await commit([addSuppression({ ...add, reason: 'hard_bounce' })])
  await commit([addSuppression({ ...add, reason: 'manual', email: parseAddress('bob@b.test'), at: 2000 })])
  t.match(await read('select email, reason, source_email_id, metadata, created_at from suppressions', []), [
    { email: 'bob@b.test', reason: 'hard_bounce', source_email_id: 'e1', metadata: '{"a":1}', created_at: 1000 },
  ])
  for (const address of ['bob@b.test', 'BOB@b.test'])
    t.equal(await isSuppressed(read, 'ws_1', parseAddress(address)), true)
  t.equal(await isSuppressed(read, 'ws_2', parseAddress('bob@b.test')), false)
  t.equal(await isSuppressed(read, 'ws_1', parseAddress('bob+x@b.test')), false)
})

t.test('events keep their order and their numbers are never reused', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const event = { workspaceId: 'ws_1', emailId: 'e1', recipient: null, data: { text: 'Grüße "x"' } }
  for (const [n, type] of (['invitation.created', 'domain.broken', 'webhook.test'] as const).entries()) {
    await commit([recordEvent({ ...event, type, at: 3000 - n })])
  }
  const rows = await read('select seq, id, type, data from events order by seq limit 2', [])
  t.match(rows, [
    { seq: 1, type: 'invitation.created', id: /^evt_[0-9a-f-]{36}$/, data: '{"text":"Grüße \\"x\\""}' },
    { seq: 2, type: 'domain.broken' },
  ])
  t.match(await oldestEvent(read, {}), [{ seq: 1, created_at: 3000 }])
  await commit([removeOldEvents({ before: 9000, seq: 2 })])
  t.match(await oldestEvent(read, {}), [{ seq: 3 }])
  await commit([removeOldEvents({ before: 9000, seq: 100 })])
  await commit([recordEvent({ ...event, type: 'webhook.test', at: 1 })])
  t.match(await oldestEvent(read, {}), [{ seq: 4 }])
})
