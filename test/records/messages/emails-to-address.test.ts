/** Emails to one address: which event each stands at, and how many statements a request with many events takes. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import type { EventType } from '../../../src/base/storage/tables/email-tables.js'
import type { EmailSearch } from '../../../src/records/messages/email-comparison.js'
import { findEmailsTo } from '../../../src/records/messages/emails-to-address.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { buildEventWrite } from '../../helpers/database/store-events.js'

const { database } = await temporaryDatabase(t)
const { read, commit } = database
const workspaceId = 'ws'
const recipient = parseAddress('ann@b.test')

const search: EmailSearch = {
  ...{ workspaceId, status: null, broadcastId: null, domain: null, tagName: null, tagValue: null, keyId: null },
  ...{ recipient: null, subject: null, text: null, from: null, to: null },
}

/** Events of an email that is there, in their order. An id with the prefix makes it one of a broadcast. */
async function store(id: string, types: readonly EventType[], to = 'ann@b.test'): Promise<void> {
  const { email, writes } = bulkEmail({ workspaceId, to, at: 1_000 })
  const events = types.map((type) => buildEventWrite({ workspaceId, type, emailId: id, recipient: to, at: 1_000 }))
  // The email keeps its own event of the acceptance, which is of another id.
  await commit([
    ...writes,
    { sql: 'delete from events where email_id = ?', parameters: [email.id] },
    { sql: 'delete from recipients where email_id = ?', parameters: [email.id] },
    { sql: 'update emails set id = ?, subject = ? where id = ?', parameters: [id, id, email.id] },
    ...events,
  ])
}

async function findIds(order: 'asc' | 'desc', limit: number, reader: Read = read): Promise<readonly string[]> {
  const ids: string[] = []
  let after: number | null = null
  do {
    const page = await findEmailsTo(reader, recipient, search, { after, order, limit })
    ids.push(...page.emails.map(({ id }) => id))
    after = page.next
  } while (after !== null)
  return ids
}

t.test('each email stands at its first event, once', async (t) => {
  await store('bc-1', ['email.deferred', 'email.deferred', 'email.delivered'])
  await store('accepted', ['email.queued', 'email.suppressed'])
  await store('bc-2', ['email.sent', 'email.bounced'])
  await store('suppressed', ['email.suppressed'])
  await store('bc-other', ['email.sent'], 'bob@b.test')
  const ids = ['bc-1', 'accepted', 'bc-2', 'suppressed']
  for (const limit of [1, 2, 10]) {
    t.same(await findIds('asc', limit), ids)
    t.same(await findIds('desc', limit), ids.toReversed())
  }
})

t.test('an address with many events of broadcasts takes few statements for each step', async (t) => {
  for (let at = 0; at < 100; at += 1) await store(`bc-many-${at}`, ['email.deferred', 'email.delivered'])
  const statements: string[] = []
  const counted: Read = Object.assign(<Row>(sql: string, parameters: readonly unknown[]) => {
    statements.push(sql)
    return read<Row>(sql, parameters)
  }, {})
  t.equal((await findIds('asc', 100, counted)).length, 104)
  const ofEmails = statements.filter((sql) => /from "emails"|"email_id"/.test(sql) && !/"seq" = /.test(sql))
  // The two hundred events are five steps, and each page may end one of them.
  t.ok(ofEmails.length < 20, `${ofEmails.length} statements about emails`)
  t.ok(statements.length < 500, `${statements.length} statements`)
})
