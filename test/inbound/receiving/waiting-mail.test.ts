/** Each message is taken once, also while others are taken and finished at the same time. */
import t, { type Test } from 'tap'
import type { Database } from '../../../src/base/storage/db/database.js'
import { WaitingMail } from '../../../src/inbound/receiving/waiting-mail.js'
import { removeInbound, removeInboundRaw, storeInbound } from '../../../src/records/messages/inbound/inbound-email.js'
import { collect } from '../../helpers/collect.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { inboundMail } from '../../helpers/mail/inbound-mail.js'

async function openMail(t: Test, ids: readonly string[]) {
  const { database } = await temporaryDatabase(t)
  for (const id of ids) await store(database, id)
  /** A read has its rows, and gives them when `next` is called. */
  const state = { isHeld: false, release: (): void => undefined, reads: 0 }
  const mail = new WaitingMail(async (sql, parameters) => {
    state.reads += 1
    const rows = await database.read<never>(sql, parameters)
    if (state.isHeld) await new Promise<void>((resolve) => (state.release = resolve))
    return rows
  }, database.node.name)
  return { database, mail, state }
}

function store({ commit }: Database, id: string): Promise<void> {
  return commit(storeInbound(inboundMail({ id, workspace_id: 'ws_1' }), Buffer.from('From: a@b.test')))
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

const idsOf = (emails: readonly { readonly id: string }[]): readonly string[] => emails.map(({ id }) => id)

t.test('several callers at once get each message once', async (t) => {
  const { mail } = await openMail(t, ['a', 'b', 'c'])
  const taken = await Promise.all([
    mail.takeOfWorkspace('ws_1'),
    collect(mail.takeAll()),
    mail.takeOfWorkspace('ws_1'),
    collect(mail.takeAll()),
  ])
  t.same(idsOf(taken.flat()), ['a', 'b', 'c'])
})

t.test('a message that is finished while the next page is read is not taken again', async (t) => {
  const { database, mail, state } = await openMail(t, ['a'])
  const [first] = await mail.takeOfWorkspace('ws_1')
  if (first === undefined) throw new Error('nothing is taken')
  state.isHeld = true
  const taking = collect(mail.takeAll())
  await nextTurn()
  state.release()
  await nextTurn()
  const place = { id: 'a', workspaceId: 'ws_1' }
  await database.commit([removeInbound(place), removeInboundRaw(place)])
  mail.finish(first)
  state.isHeld = false
  state.release()
  t.same(await taking, [])
  await store(database, 'b')
  t.same(idsOf(await mail.takeOfWorkspace('ws_1')), ['b'])
})

t.test('a message that could not be finished is taken again', async (t) => {
  const { mail } = await openMail(t, ['a'])
  const [first] = await mail.takeOfWorkspace('ws_1')
  if (first === undefined) throw new Error('nothing is taken')
  mail.finish(first)
  t.same(idsOf(await collect(mail.takeAll())), ['a'])
})
