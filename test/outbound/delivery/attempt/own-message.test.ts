/** Which bytes a recipient gets when recipients have messages of their own, and how they are signed. */
import t, { type Test } from 'tap'
import { domainOf } from '../../../../src/base/mail/address.js'
import type { Database } from '../../../../src/base/storage/db/database.js'
import { SERVICE_WORKSPACE } from '../../../../src/base/storage/tables/tables.js'
import type { ReadyMessage } from '../../../../src/outbound/delivery/attempt/message-preparer.js'
import { ensureSignature, findOwnMessage } from '../../../../src/outbound/delivery/attempt/own-message.js'
import { type CachedMessage, MessageCache } from '../../../../src/outbound/delivery/queue/message-cache.js'
import { type Email, emailById } from '../../../../src/records/messages/email/email.js'
import { headOfRecipient, insertCopy } from '../../../../src/records/messages/email/recipient-copies.js'
import { SigningKeyCache } from '../../../../src/workspaces/domains/dkim/signing-keys.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../../helpers/database/database.js'
import { seedDatabase } from '../../../helpers/database/seed-data.js'
import { preparerOf, threadOf } from './preparer.js'

const raw = Buffer.from('From: app@a.test\r\n\r\nlink 1 end\r\n')
const prefix = raw.indexOf('1')
const suffix = raw.length - prefix - 1

async function storeEmail(t: Test, to: readonly string[], copies: readonly number[]) {
  const { database } = await temporaryDatabase(t)
  const { workspaceId } = await seedDatabase(database)
  const { email, entries, writes } = bulkEmail({ workspaceId, to, at: 1, raw })
  await database.commit([
    ...writes,
    { sql: 'update emails set has_copies = 1', parameters: [] },
    ...copies.map((place) =>
      insertCopy({
        ...{ recipient_id: entries[place]?.id ?? '', email_id: email.id, workspace_id: workspaceId, created_at: 1 },
        ...{ prefix, suffix, bytes: Buffer.from(String(place + 1)) },
      }),
    ),
  ])
  return { database, workspaceId, entries, emailId: email.id }
}

const bodyOf = ({ message }: ReadyMessage): string =>
  Buffer.concat(message.pieces)
    .toString()
    .replace(/^.*\r\n\r\n/s, '')
const signatureOf = ({ message }: ReadyMessage): string =>
  /b=[^;]*$/.exec(/DKIM-Signature: .*?\r\n(?=\S)/s.exec(Buffer.concat(message.pieces).toString())?.[0] ?? '')?.[0] ?? ''

const signatures = async (database: Database): Promise<unknown> =>
  (
    await database.read(
      'select (select count(*) from dkim_signatures) first, count(signature) others from recipient_copies',
      [],
    )
  )[0]

t.test('each recipient gets its own bytes, signed once, before and after they are read back', async (t) => {
  const to = ['one@b.test', 'two@b.test', 'three@b.test']
  const { database, workspaceId, entries, emailId } = await storeEmail(t, to, [1, 2])
  const make = async (): Promise<ReadyMessage[]> => {
    const preparer = preparerOf(t, database.read, new MessageCache(0))
    return Promise.all(entries.map((entry) => preparer.prepare(entry, 5_000)))
  }
  const first = await make()
  t.same(first.map(bodyOf), ['link 1 end\r\n', 'link 2 end\r\n', 'link 3 end\r\n'])
  t.equal(new Set(first.map(signatureOf)).size, 3)
  t.notOk(first.map(signatureOf).includes(''))
  await database.commit(first.flatMap(({ writes }) => writes))
  t.same(await signatures(database), { first: 1, others: 2 })
  const second = await make()
  t.same(second.map(signatureOf), first.map(signatureOf), 'the stored ones')
  t.same(
    second.flatMap(({ writes }) => writes),
    [],
  )
  t.same(
    await Promise.all(
      entries.map(async ({ id: recipientId }) =>
        (await headOfRecipient(database.read, { workspaceId, emailId, recipientId })).toString(),
      ),
    ),
    first.map(({ readRaw }) => readRaw().toString()),
  )
})

t.test('a recipient whose copy is missing never gets the message of another one', async (t) => {
  const { database, entries } = await storeEmail(t, ['one@b.test', 'two@b.test'], [])
  const preparer = preparerOf(t, database.read, new MessageCache(0))
  const [first, second] = await Promise.allSettled(entries.map((entry) => preparer.prepare(entry, 5_000)))
  t.equal(first?.status, 'fulfilled')
  t.match(second, { status: 'rejected', reason: { message: 'a recipient has no copy of its message' } })
})

t.test('large copies are joined one after another for their signatures', async (t) => {
  const { database, entries } = await storeEmail(t, ['one@b.test', 'two@b.test', 'three@b.test'], [1, 2])
  const cache = new MessageCache(0)
  const [one, ...others] = entries
  if (one === undefined) throw new Error('no entry')
  await preparerOf(t, database.read, cache).prepare(one, 5_000)
  const cached = cache.get(one.email_id, one.id)
  if (cached === undefined) throw new Error('it is not cached')
  const large: CachedMessage = { ...cached, raw: Buffer.concat([raw, Buffer.alloc(300_000, 'a')]) }
  let atOnce = 0
  let most = 0
  const deps = {
    signingKeys: new SigningKeyCache(database.read),
    signing: {
      sign: async (): Promise<string> => {
        most = Math.max(most, ++atOnce)
        await new Promise((resolve) => setImmediate(resolve))
        atOnce -= 1
        return 'DKIM-Signature: x\r\n'
      },
    },
  }
  const fields = await Promise.all(
    await Promise.all(
      others.map(async (entry) => ensureSignature(deps, large, await findOwnMessage(database.read, large, entry), 1)),
    ),
  )
  t.same([fields.length, most], [2, 1])
})

t.test('what is passed on is not signed, from the null sender either', async (t) => {
  const { database, emailId, workspaceId, entries } = await storeEmail(t, ['one@b.test'], [])
  const [row] = entries
  const keys = new SigningKeyCache(database.read)
  const signing = threadOf(t)
  const [stored] = await emailById(database.read, { workspaceId, id: emailId })
  if (row === undefined || stored === undefined) throw new Error('nothing was stored')
  const key = await keys.find(workspaceId, domainOf(stored.from_email))
  const signingKeys = { find: async () => key }
  const sign = async (more: Partial<Email>): Promise<string | null> => {
    const message: CachedMessage = { email: { ...stored, ...more }, raw, copies: new Map(), isSignatureStored: false }
    return ensureSignature({ signing, signingKeys }, message, await findOwnMessage(database.read, message, row), 1)
  }
  const passedOn = { workspace_id: SERVICE_WORKSPACE, priority: 'low' } as const
  t.equal(await sign({ ...passedOn, envelope_from: stored.from_email }), null)
  t.equal(await sign({ ...passedOn, envelope_from: '' }), null)
  t.match(await sign({ workspace_id: SERVICE_WORKSPACE, envelope_from: '' }), /^DKIM-Signature: /, 'a notice is')
})
