/** What the unsubscribe link of a broadcast changes, and when that can be undone. */
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { findLinkRecipient, undoUnsubscription, unsubscribe } from '../../../src/records/messages/unsubscribe.js'
import { newContactOf } from '../../../src/workspaces/audiences/contacts.js'
import { sentBroadcast } from '../../helpers/database/broadcast.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { rowOf } from '../../helpers/database/rows.js'

const AT = 1_000_000
const HOUR = 3_600_000

interface World {
  readonly database: Database
  readonly broadcastId: string
  readonly audienceId: string
  readonly emailId: string
  readonly contactId: string
  /** Whose token it is. */
  readonly id: string
  readonly run: (sql: string, ...parameters: readonly unknown[]) => Promise<void>
  readonly rows: (sql: string) => Promise<unknown[]>
  /** Of the contact; undefined: it is gone. */
  readonly subscribed: () => Promise<number | undefined>
  readonly counted: () => Promise<number | undefined>
  readonly events: () => Promise<unknown[]>
}

async function createWorld(t: Test): Promise<World> {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const sent = await sentBroadcast(read, { workspaceId: 'ws_1', to: ['Bob@b.test', 'ann@b.test'], at: 1_000 })
  await commit(sent.writes)
  const [bob] = sent.messages
  if (bob === undefined) throw new Error('no message')
  const rows = async (sql: string): Promise<unknown[]> => read(sql, [])
  return {
    ...{ database, rows, broadcastId: sent.id, audienceId: sent.audienceId },
    ...{ emailId: bob.emailId, contactId: bob.contactId, id: bob.recipientId },
    run: (sql, ...parameters) => commit([{ sql, parameters }]),
    subscribed: async () =>
      (await read<{ subscribed: number }>('select subscribed from contacts where id = ?', [bob.contactId]))[0]
        ?.subscribed,
    counted: async () =>
      (await read<{ unsubscribed: number }>('select unsubscribed from broadcast_counts', []))[0]?.unsubscribed,
    events: () => rows(`select * from events where type = 'email.unsubscribed'`),
  }
}

const stateOf = async ({ database, id }: World, now: number): Promise<unknown> => {
  const found = await findLinkRecipient(database.read, id, now)
  return found && [found.scope, found.isUnsubscribed, found.canUndo]
}

t.test('the contact gets no more broadcasts, and its address is not suppressed', async (t) => {
  const world = await createWorld(t)
  const { database, id, emailId, broadcastId, contactId } = world
  t.match(await findLinkRecipient(database.read, id, AT), {
    ...{ address: 'Bob@b.test', sender: 'news@a.test', scope: 'broadcasts', isUnsubscribed: false, canUndo: false },
    language: 'en',
  })
  t.equal(await unsubscribe(database, id, AT), true)
  t.same([await world.subscribed(), await world.counted()], [0, 1])
  t.same(await world.rows('select * from suppressions'), [])
  t.same(await world.rows(`select subscribed, updated_at from contacts where email = 'ann@b.test'`), [
    { subscribed: 1, updated_at: 1_000 },
  ])
  const [event] = await database.read<{ data: string }>(`select * from events where type = 'email.unsubscribed'`, [])
  t.match(event, { workspace_id: 'ws_1', email_id: emailId, recipient: 'Bob@b.test', created_at: AT })
  t.same(JSON.parse(event?.data ?? ''), {
    ...{ email_id: emailId, from: 'news@a.test', to: 'Bob@b.test', subject: 'news', tags: {} },
    ...{ unsubscribed_at: '1970-01-01T00:16:40.000Z', broadcast_id: broadcastId, contact_id: contactId },
  })
  t.same(await stateOf(world, AT), ['broadcasts', true, true])
})

t.test('requests at the same moment record one event', async (t) => {
  const world = await createWorld(t)
  const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => unsubscribe(world.database, world.id, AT + n)))
  t.same(
    [answers, (await world.events()).length, await world.counted(), await world.subscribed()],
    [Array(5).fill(true), 1, 1, 0],
  )
})

t.test('a contact that is gone: it is recorded all the same, and there is nothing to undo', async (t) => {
  const world = await createWorld(t)
  await world.run('delete from contacts where id = ?', world.contactId)
  t.same(await stateOf(world, AT), ['broadcasts', false, false])
  t.equal(await unsubscribe(world.database, world.id, AT), true)
  t.equal(await unsubscribe(world.database, world.id, AT + 1), true)
  t.same([(await world.events()).length, await world.counted()], [1, 1])
  t.same(await stateOf(world, AT), ['broadcasts', true, false])
  t.equal(await undoUnsubscription(world.database, world.id, AT), false)
})

t.test('which contact it is', async (t) => {
  const added = (audienceId: string | null) => ({
    ...newContactOf({ workspaceId: 'ws_1', audienceId, email: 'bob@B.test', now: 5_000 }),
  })
  await t.test('one that was added again with the address', async (t) => {
    const world = await createWorld(t)
    const again = added(world.audienceId)
    await world.run('delete from contacts where id = ?', world.contactId)
    await world.database.commit([await rowOf(world.database.read)('contacts', again)])
    await unsubscribe(world.database, world.id, AT)
    t.same(await world.rows(`select id from contacts where subscribed = 0`), [{ id: again.id }])
    t.match(await world.events(), [{ data: new RegExp(`"contact_id":"${world.contactId}"`) }])
    t.equal(await undoUnsubscription(world.database, world.id, AT), true)
    t.same(await world.rows(`select id from contacts where subscribed = 0`), [])
  })
  await t.test('none that was moved to another audience, or is of another workspace', async (t) => {
    const world = await createWorld(t)
    await world.run(`update contacts set audience_id = 'other' where id = ?`, world.contactId)
    const foreign = { ...added(world.audienceId), workspace_id: 'ws_2' }
    await world.database.commit([await rowOf(world.database.read)('contacts', foreign)])
    await unsubscribe(world.database, world.id, AT)
    t.same(await world.rows('select id from contacts where subscribed = 0'), [])
    t.equal(await world.counted(), 1)
  })
  await t.test('that of the message, when the broadcast was deleted', async (t) => {
    const world = await createWorld(t)
    await world.run('delete from broadcasts')
    t.match(await findLinkRecipient(world.database.read, world.id, AT), { sender: 'news@a.test' }, 'by the email')
    await unsubscribe(world.database, world.id, AT)
    t.equal(await world.subscribed(), 0)
  })
  await t.test('one that was unsubscribed before: the event tells of it, and there is nothing to undo', async (t) => {
    const world = await createWorld(t)
    await world.run('update contacts set subscribed = 0 where id = ?', world.contactId)
    t.same(await stateOf(world, AT), ['broadcasts', true, false])
    await unsubscribe(world.database, world.id, AT)
    t.same([(await world.events()).length, await world.counted()], [1, 1])
    t.equal(await undoUnsubscription(world.database, world.id, AT), false)
    t.equal(await world.subscribed(), 0)
  })
})

t.test('it can be undone for an hour, by the link that did it', async (t) => {
  const world = await createWorld(t)
  const { database, id } = world
  t.equal(await undoUnsubscription(database, id, AT), false, 'nothing to undo')
  await unsubscribe(database, id, AT)
  t.same(await stateOf(world, AT + HOUR), ['broadcasts', true, true])
  t.same(await stateOf(world, AT + HOUR + 1), ['broadcasts', true, false])
  t.equal(await undoUnsubscription(database, id, AT + HOUR + 1), false)
  t.equal(await world.subscribed(), 0)
  const answers = await Promise.all([1, 2, 3].map(() => undoUnsubscription(database, id, AT + HOUR)))
  t.same(answers.filter(Boolean).length, 1, 'once')
  t.same([await world.subscribed(), await world.counted()], [1, 0])
  t.same(await stateOf(world, AT + HOUR), ['broadcasts', false, false])

  await unsubscribe(database, id, AT + 2 * HOUR)
  t.same(
    [await world.subscribed(), await world.counted(), (await world.events()).length],
    [0, 1, 1],
    'again, without another event',
  )
  await world.run('delete from contacts where id = ?', world.contactId)
  t.equal(await undoUnsubscription(database, id, AT + 2 * HOUR), false, 'the contact is gone')
})

t.test('a contact that its owner subscribes again is unsubscribed again by the link', async (t) => {
  const world = await createWorld(t)
  const { database, id } = world
  await unsubscribe(database, id, AT)
  await world.run('update contacts set subscribed = 1 where id = ?', world.contactId)
  t.same(await stateOf(world, AT + 1), ['broadcasts', false, false])
  t.equal(await undoUnsubscription(database, id, AT + 1), false)
  await unsubscribe(database, id, AT + 2 * HOUR)
  t.same([await world.subscribed(), await world.counted(), (await world.events()).length], [0, 1, 1])
  t.equal(await undoUnsubscription(database, id, AT + 3 * HOUR), true, 'an hour from the latest use')
  t.same([await world.subscribed(), await world.counted()], [1, 0])
})

t.test('a link outlives the email and the broadcast', async (t) => {
  const world = await createWorld(t)
  for (const table of ['recipients', 'emails', 'events']) await world.run(`delete from ${table}`)
  t.match(await findLinkRecipient(world.database.read, world.id, AT), { sender: 'news@a.test' }, 'by the broadcast')
  await unsubscribe(world.database, world.id, AT)
  t.match(await world.events(), [{ data: /"from":"news@a\.test","to":"Bob@b\.test","subject":"","tags":\{\}/ }])
  await world.run('delete from broadcasts')
  t.match(await findLinkRecipient(world.database.read, world.id, AT), { sender: null, isUnsubscribed: true })
})

t.test('none of a workspace that is being erased', async (t) => {
  const world = await createWorld(t)
  await unsubscribe(world.database, world.id, AT)
  await world.run(`insert into erasures (id, asked_at) values ('ws_1', 1)`)
  t.equal(await stateOf(world, AT), null)
  t.equal(await unsubscribe(world.database, world.id, AT), false)
  t.equal(await undoUnsubscription(world.database, world.id, AT), false)
  t.equal(await world.subscribed(), 0)
})
