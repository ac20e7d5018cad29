import t from 'tap'
import { uuidv7 } from '../../../../src/base/platform/ids.js'
import { StorageFault } from '../../../../src/base/storage/db/write.js'
import type { ReadyMessage } from '../../../../src/outbound/delivery/attempt/message-preparer.js'
import { MessageCache } from '../../../../src/outbound/delivery/queue/message-cache.js'
import { SigningKeyCache } from '../../../../src/workspaces/domains/dkim/signing-keys.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { seedDatabase } from '../../../helpers/database/seed-data.js'
import { preparerOf, threadOf } from './preparer.js'

const full = new StorageFault('SQLITE_FULL', 'database or disk is full')

t.test('two recipients of one message that come from the database get the same signature', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { workspaceId } = await seedDatabase(database)
  const cache = new MessageCache(0)
  const preparer = preparerOf(t, database.read, cache)
  const { writes, entries } = bulkEmail({ workspaceId, to: 'one@b.test', at: 1 })
  await database.commit(writes)
  const [entry] = entries
  if (entry === undefined) throw new Error('no entry')
  const other = { ...entry, id: uuidv7(2) }
  const [first, second] = await Promise.all([preparer.prepare(entry, 5_000), preparer.prepare(other, 10_000)])
  const signed = ({ message }: ReadyMessage): string =>
    /DKIM-Signature.*/s.exec(message.pieces[0]?.toString() ?? '')?.[0] ?? ''
  t.ok(signed(first))
  t.equal(signed(first), signed(second), 'though the cache has no room')
  cache.release(entry.email_id, entry.id)
  t.ok(cache.get(entry.email_id, entry.id), 'it is there as long as another has it in hand')
})

t.test('a signature that could not be made is made at the next attempt', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { workspaceId } = await seedDatabase(database)
  const cache = new MessageCache(1_000_000)
  const preparer = preparerOf(t, database.read, cache)
  const { writes, entries } = bulkEmail({ workspaceId, to: 'one@b.test', at: 1 })
  await database.commit(writes)
  const [entry] = entries
  if (entry === undefined) throw new Error('no entry')
  const broken = preparerOf(t, database.read, cache, { sign: () => Promise.reject(new Error('the thread is gone')) })
  const both = await Promise.allSettled([broken.prepare(entry, 5_000), broken.prepare(entry, 5_000)])
  t.strictSame(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  const { message } = await preparer.prepare(entry, 10_000)
  t.match(message.pieces[0]?.toString(), /^X-Posthorn-Reference: .*\r\nDKIM-Signature: /)
})

t.test('a fresh message is made ready without a look into the database', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { workspaceId } = await seedDatabase(database)
  const cache = new MessageCache(1_000_000)
  const { email, entries } = bulkEmail({ workspaceId, to: 'one@b.test', at: 1 })
  const [entry] = entries
  if (entry === undefined) throw new Error('no entry')
  const dsnRequests = new Map([[entry.id, { notify: 'SUCCESS,FAILURE', orcpt: 'rfc822;one@c.test' }]])
  cache.put(
    {
      email,
      raw: Buffer.from('From: app@a.test\r\n\r\ntext\r\n'),
      dsnRequests,
      copies: new Map(),
      isSignatureStored: false,
    },
    [entry.id],
  )
  const unread = (): never => {
    throw full
  }
  const { message } = await preparerOf(t, unread, cache, threadOf(t), new SigningKeyCache(database.read)).prepare(
    entry,
    5_000,
  )
  t.match(message, { notify: ['success', 'failure'], orcpt: 'rfc822;one@c.test' })
})

t.test('recipients of a large message that come at the same time share what one of them has read', async (t) => {
  const { database } = await temporaryDatabase(t, { spool: true })
  const { workspaceId } = await seedDatabase(database)
  const cache = new MessageCache(0)
  const preparer = preparerOf(t, database.read, cache)
  const raw = Buffer.from(`From: app@a.test\r\nSubject: x\r\n\r\n${'some words of a text\r\n'.repeat(60_000)}`)
  const { writes, entries } = bulkEmail({ workspaceId, to: ['one@b.test', 'two@b.test'], at: 1, raw })
  await database.commit(writes)
  const ready = await Promise.all(entries.map((entry) => preparer.prepare(entry, 5_000)))
  const [first, second] = ready.map((one) => one.readRaw())
  t.ok(first?.equals(raw), 'its bytes')
  t.equal(first, second, 'the same memory')
  for (const { email_id, id } of entries) cache.release(email_id, id, true)
  t.equal(first?.length, 0, 'which is freed when the last of them is settled')
  const again = preparer.prepare(entryOf(entries), 5_000)
  await t.resolves(again, 'the room of all of them is free')
})

function entryOf<Entry>([entry]: readonly Entry[]): Entry {
  if (entry === undefined) throw new Error('no entry')
  return entry
}
