/** Emails that people look for: each filter, all pages, and how far one request looks. */

import SQLite from 'better-sqlite3'
import t from 'tap'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import type { EmailSearch, FoundEmail } from '../../../src/records/messages/email-comparison.js'
import { searchEmails } from '../../../src/records/messages/email-search.js'
import { bulkEmail } from '../../helpers/database/bulk.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { plansOfSqlite, skipOnPostgres } from '../../helpers/database/test-engine.js'

const { database, file } = await temporaryDatabase(t)
const { read, commit } = database

const all = (workspaceId: string): EmailSearch => ({
  ...{ workspaceId, status: null, broadcastId: null, domain: null, tagName: null, tagValue: null, keyId: null },
  ...{ recipient: null, subject: null, text: null, from: null, to: null },
})

async function findSubjects(search: EmailSearch): Promise<readonly string[]> {
  const { emails, next } = await searchEmails(read, search, { after: undefined, limit: 10 })
  t.equal(next, null)
  return emails.map(({ subject }) => subject)
}

async function storeEmail(values: Partial<FoundEmail> & { readonly to: string; readonly at: number }): Promise<string> {
  const { to, at, subject = '', tags = '[]', status = 'queued' } = values
  const { email, writes } = bulkEmail({ workspaceId: 'ws', to, at, from: values.from_email ?? 'app@a.test' })
  const sql = `update emails set subject = ?, tags = ?, status = ?, recipients_bounced = ? where id = ?`
  await commit([...writes, { sql, parameters: [subject, tags, status, Number(status === 'bounced'), email.id] }])
  return email.id
}

t.test('each filter narrows the list, and so do several together', async (t) => {
  const tags = JSON.stringify([{ name: 'campaign', value: 'spring' }]) as FoundEmail['tags']
  await storeEmail({ to: 'bob@b.test', at: 1_000, subject: 'Invoice 7', tags })
  await storeEmail({ to: 'Eve@c.test', at: 2_000, subject: 'your INVOICE 8', status: 'bounced' })
  await storeEmail({ to: 'x@b.test', at: 3_000, subject: '100 % "off"', from_email: 'app@other.test' as never })
  await commit(bulkEmail({ workspaceId: 'foreign', to: 'bob@b.test', at: 1_500 }).writes)
  const cases: readonly (readonly [Partial<EmailSearch>, readonly string[]])[] = [
    [{}, ['100 % "off"', 'your INVOICE 8', 'Invoice 7']],
    [{ recipient: 'eve@' }, ['your INVOICE 8']],
    [{ recipient: '@B.test' }, ['100 % "off"', 'Invoice 7']],
    [{ recipient: '%' }, []],
    [{ subject: 'invoice' }, ['your INVOICE 8', 'Invoice 7']],
    [{ subject: '% "' }, ['100 % "off"']],
    [{ tagName: 'campaign' }, ['Invoice 7']],
    [{ tagName: 'campaign', tagValue: 'spring' }, ['Invoice 7']],
    [{ tagName: 'campaign', tagValue: 'autumn' }, []],
    [{ tagName: 'spring' }, []],
    [{ domain: 'other.test' }, ['100 % "off"']],
    [{ status: 'bounced' }, ['your INVOICE 8']],
    [{ status: 'bounced', subject: '7' }, []],
    [{ from: 2_000 }, ['100 % "off"', 'your INVOICE 8']],
    [{ to: 2_000 }, ['Invoice 7']],
    [{ from: 1_001, to: 3_000 }, ['your INVOICE 8']],
    [{ status: 'bounced', withBroadcasts: true }, ['your INVOICE 8']],
    [{ broadcastId: 'b1' }, []],
  ]
  for (const [filter, expected] of cases) {
    t.same(await findSubjects({ ...all('ws'), ...filter }), expected, JSON.stringify(filter))
    t.same(
      await walkAll({ ...all('ws'), ...filter }),
      expected.toReversed(),
      `the oldest first: ${JSON.stringify(filter)}`,
    )
  }
})

function idOf(at: number, n: number): string {
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0')
  return `${hex(at >> 16, 8)}-${hex(at & 65_535, 4)}-7000-8000-${hex(n, 12)}`
}

/** Emails with the subjects 1 to `count`, three of each millisecond, every tenth bounced. */
async function storeMany(workspaceId: string, count: number): Promise<void> {
  const sql = `
    insert into emails (id, workspace_id, source, message_id, envelope_from, from_email, from_name, to_emails,
      cc_emails, bcc_emails, reply_to, subject, tags, track_opens, track_clicks, priority, size, smtputf8, status,
      recipients_bounced, created_at)
    values (?, ?, 'rest', '', '', 'app@a.test', '', '[]', '[]', '[]', '[]', ?, '[]', 0, 0, 'normal', 1, 0, ?, ?, ?)`
  for (let first = 1; first <= count; first += 5_000) {
    const numbers = Array.from({ length: Math.min(5_000, count - first + 1) }, (_, at) => first + at)
    await commit(
      numbers.map((n) => {
        const [at, isBounced] = [Math.floor(n / 3), n % 10 === 0]
        const status = isBounced ? 'bounced' : 'delivered'
        return { sql, parameters: [idOf(at, n), workspaceId, String(n), status, Number(isBounced), at] }
      }),
    )
  }
}

/** The subjects of all pages, the oldest first. */
async function walkAll(search: EmailSearch): Promise<readonly string[]> {
  const subjects: string[] = []
  let after: string | undefined
  do {
    const { emails, next } = await searchEmails(read, search, { after, order: 'asc', limit: 40 })
    subjects.push(...emails.map(({ subject }) => subject))
    after = next?.id
  } while (after !== undefined)
  return subjects
}

t.test('pages have every match once, however far apart they are, and a request looks at a bounded part', async (t) => {
  const COUNT = 45_000
  await storeMany('many', COUNT)
  for (const status of [null, 'bounced'] as const) {
    const search = { ...all('many'), status, subject: '50' }
    const expected = Array.from({ length: COUNT }, (_, at) => COUNT - at)
      .filter((n) => String(n).includes('50') && (status === null || n % 10 === 0))
      .map(String)
    const subjects: string[] = []
    let [after, requests] = [undefined as string | undefined, 0]
    do {
      const { emails, next } = await searchEmails(read, search, { after, limit: 40 })
      t.ok(emails.length <= 40)
      subjects.push(...emails.map(({ subject }) => subject))
      after = next?.id
      requests += 1
    } while (after !== undefined)
    t.same(subjects, expected, `${status} in ${requests} requests`)
    for (const withBroadcasts of [false, true]) {
      t.same(await walkAll({ ...search, withBroadcasts }), expected.toReversed(), `the oldest first, ${withBroadcasts}`)
    }
  }
  const { emails, next } = await searchEmails(
    read,
    { ...all('many'), subject: 'absent' },
    { after: undefined, limit: 50 },
  )
  t.same(emails, [])
  t.equal(next?.createdAt, Math.floor((COUNT - 25_000 + 1) / 3), 'the page is partial after 25,000 emails')
})

t.test(
  'messages of broadcasts are passed over in an index, and never read',
  { skip: skipOnPostgres(plansOfSqlite) },
  async (t) => {
    const db = new SQLite(file, { readonly: true })
    t.teardown(() => db.close())
    const plans = new Set<string>()
    const readAndExplain: Read = async (sql, parameters) => {
      for (const { detail } of db.prepare(`explain query plan ${sql}`).all(...parameters) as {
        readonly detail: string
      }[])
        plans.add(/emails (?:using|USING).*?INDEX (\w+)/.exec(detail)?.[1] ?? '')
      return read(sql, parameters)
    }
    for (const filter of [
      {},
      { status: 'bounced' },
      { from: 5 },
      { to: 9_000 },
      { subject: 'absent', broadcastId: 'b' },
    ]) {
      for (const order of ['asc', 'desc'] as const) {
        const search = { ...all('many'), ...(filter as object) }
        await searchEmails(readAndExplain, search, { after: undefined, order, limit: 50 })
      }
    }
    plans.delete('')
    t.same([...plans].toSorted(), ['emails_bounced', 'emails_listed'])
    plans.clear()
    const search = { ...all('many'), withBroadcasts: true, status: 'bounced' } as const
    for (const order of ['asc', 'desc'] as const) {
      await searchEmails(readAndExplain, search, { after: undefined, order, limit: 50 })
    }
    plans.delete('')
    t.same([...plans], ['emails_of_workspace'])
  },
)

t.test('a page continues behind an email that is gone, at the time of its id', async (t) => {
  const gone = uuidv7(2_500)
  const { emails } = await searchEmails(read, all('ws'), { after: gone, limit: 10 })
  t.same(
    emails.map(({ created_at }) => created_at),
    [2_000, 1_000],
  )
  const later = await searchEmails(read, { ...all('ws'), to: 2_000 }, { after: gone, limit: 10 })
  t.same(
    later.emails.map(({ created_at }) => created_at),
    [1_000],
    'never before the end of the filter',
  )
})
