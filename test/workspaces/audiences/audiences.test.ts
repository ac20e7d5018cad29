/** What the columns of a contacts file mean, and that no list of contacts is counted or sorted. */
import fc from 'fast-check'
import t from 'tap'
import type { Address } from '../../../src/base/mail/address.js'
import { Refusal } from '../../../src/base/mail/refusal.js'
import type { CsvRow } from '../../../src/base/platform/csv/rows.js'
import type { Read } from '../../../src/base/storage/db/prepared.js'
import { StorageFault } from '../../../src/base/storage/db/write.js'
import {
  createAudienceRemovalRunner,
  deleteAudience,
  listPendingRemovals,
} from '../../../src/workspaces/audiences/audience-removal.js'
import { audienceById, insertAudience, listAudiences } from '../../../src/workspaces/audiences/audiences.js'
import { parseContactColumns, parseContactLine } from '../../../src/workspaces/audiences/contact-columns.js'
import {
  countContacts,
  findContactIds,
  listContacts,
  readContactPages,
} from '../../../src/workspaces/audiences/contact-list.js'
import { contactById, findContactInAudience } from '../../../src/workspaces/audiences/contacts.js'
import { temporaryDatabase } from '../../helpers/database/database.js'
import { plansOfSqlite, skipOnPostgres } from '../../helpers/database/test-engine.js'
import { waitUntil } from '../../helpers/wait-until.js'

const { database } = await temporaryDatabase(t)

const row = (...cells: readonly string[]): CsvRow => ({ line: 7, cells })
const kinds = (...names: readonly string[]): readonly string[] =>
  parseContactColumns(row(...names)).map((column) => (column.kind === 'key' ? `key ${column.key}` : column.kind))
const read = (names: readonly string[], ...cells: readonly string[]): unknown =>
  parseContactLine(parseContactColumns(row(...names)), row(...cells))

t.test('columns are recognized by name in any spelling; all others become metadata', async (t) => {
  for (const name of ['email', 'Email', 'E-Mail', ' EMAIL_ADDRESS ', 'Email Address', 'emailAddress']) {
    t.same(kinds(name), ['email'], name)
  }
  t.same(kinds('Email', 'First Name', 'lname', 'Subscribed', 'metadata'), [
    'email',
    'first_name',
    'last_name',
    'subscribed',
    'metadata',
  ])
  t.same(kinds('email', 'id', 'Created At', '', 'Unsubscribed'), ['email', 'none', 'none', 'none', 'unsubscribed'])
  t.same(kinds('email', 'Plan', 'metadata.seats', "'=x", 'constructor'), [
    'email',
    'key Plan',
    'key seats',
    'key =x',
    'key constructor',
  ])
  for (const names of [
    ['name'],
    ['email', 'E-Mail'],
    ['email', 'a', 'a'],
    ['email', '__proto__'],
    ['email', 'a\0'],
    [''],
  ]) {
    t.throws(() => kinds(...names), Refusal, names.join())
  }
})

t.test('a line sets what its cells hold, and nothing where they are empty', async (t) => {
  const names = ['email', 'first_name', 'last_name', 'subscribed', 'metadata', 'plan']
  t.same(read(names, ' a@B.test '), { email: 'a@b.test' })
  t.same(read(names, 'a@b.test', 'Ann', '', 'no', '{"a":1,"plan":"x"}', 'pro'), {
    email: 'a@b.test',
    first_name: 'Ann',
    subscribed: false,
    metadata: { a: 1, plan: 'pro' },
  })
  t.same(read(names, "'=x@b.test", "'+Ann"), { email: '=x@b.test', first_name: '+Ann' })
  for (const [word, expected] of [
    ['TRUE', true],
    ['Yes', true],
    ['1', true],
    ['subscribed', true],
    ['false', false],
    ['n', false],
    ['Unsubscribed', false],
  ] as const) {
    t.match(read(['email', 'subscribed'], 'a@b.test', word), { subscribed: expected }, word)
  }
  for (const [word, expected] of [
    ['yes', false],
    ['0', true],
    ['unsubscribed', false],
    ['subscribed', true],
  ] as const) {
    t.match(read(['email', 'unsubscribed'], 'a@b.test', word), { subscribed: expected }, word)
  }
})

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

t.test('an invalid contact is refused by its line number, its field and the rule', async (t) => {
  const names = ['email', 'first_name', 'subscribed', 'metadata', 'note']
  const table: readonly (readonly [readonly string[], string | null, RegExp])[] = [
    [[''], 'email', /required/],
    [['nobody'], 'email', /not a mail address/],
    [['a\u200bb@b.test'], 'email', /U\+200B/],
    [['a@xn--zzzzzz999999'], 'email', /xn--zzzzzz999999/],
    [['a@b.test', 'x\u0007'], 'first_name', /control/],
    [['a@b.test', 'x'.repeat(256)], 'first_name', /255/],
    [['a@b.test', 'M\ufffdller'], 'first_name', /UTF-8/],
    [['a@b.test', '', 'perhaps'], 'subscribed', /must be true or false/],
    [['a@b.test', '', '', '[1]'], 'metadata', /object/],
    [['a@b.test', '', '', '{"__proto__":1}'], 'metadata', /object/],
    [['a@b.test', '', '', '{"a":'], 'metadata', /object/],
    [['a@b.test', '', '', nested(32)], 'metadata', /31 levels/],
    [['a@b.test', '', '', nested(10_000)], 'metadata', /31 levels/],
    [['a@b.test', '', '', nested(50_000)], 'metadata', /longer than 65536 bytes/],
    [['a@b.test', '', '', `{${' '.repeat(65_536)}}`], 'metadata', /longer than 65536 bytes/],
    [['a@b.test', '', '', '{"a":["b\\u0000"]}'], 'metadata', /NUL/],
    [['a@b.test', '', '', '{"a\\ud83d":1}'], 'metadata', /surrogate/],
    [['a@b.test', '', '', '', 'x\0'], 'metadata.note', /NUL/],
    [['a@b.test', '', '', '', 'x'.repeat(17_000)], 'metadata', /16384/],
    [['a@b.test', '', '', '', '', 'more'], null, /more cells/],
  ]
  for (const [cells, field, reason] of table)
    t.match(read(names, ...cells), { line: 7, field, reason }, cells.join().slice(0, 60))
  t.match(read(names, 'a@b.test', '', '', `{"a":${' '.repeat(60_000)}1}`), { metadata: { a: 1 } }, 'blanks are no JSON')
  t.match(read(names, 'a@b.test', '', '', nested(31)), { email: 'a@b.test' })
  t.match(read(['email'], 'a@b.test', '', ''), { email: 'a@b.test' }, 'cells without anything are no more')
  fc.assert(
    fc.property(fc.array(fc.string(), { maxLength: 8 }), (cells) => {
      const found = read(names, ...cells)
      return typeof found === 'object' && found !== null && ('email' in found || 'reason' in found)
    }),
  )
})

async function many(workspaceId: string, audienceId: string | null, count: number): Promise<void> {
  const sql = `
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?)
    insert into contacts (id, workspace_id, audience_id, email, email_key, subscribed, metadata, created_at, updated_at)
    select ? || '-' || substr(cast(100000000 + n as text), 2), ?, ?, n || '@b.test', n || '@b.test', 1, '{}', 0, 0 from numbers`
  const prefix = `0-${audienceId ?? 'none'}`
  await database.commit([{ sql, parameters: [count, prefix, workspaceId, audienceId] }])
}

t.test('a cursor far down the list points to the row that counting would find', async (t) => {
  await many('ws_1', 'a', 25_000)
  await many('ws_1', null, 100)
  await many('ws_2', 'b', 50)
  const inA = { workspaceId: 'ws_1', audienceId: 'a' }
  t.same(
    await Promise.all(
      [inA, { ...inA, audienceId: null }, { ...inA, audienceId: 'b' }].map((filter) =>
        countContacts(database.read, filter),
      ),
    ),
    [25_000, 25_100, 0],
  )
  for (const [offset, id] of [
    [0, '0-a-00025000'],
    [9_999, '0-a-00015001'],
    [10_000, '0-a-00015000'],
    [10_001, '0-a-00014999'],
    [24_999, '0-a-00000001'],
  ] as const) {
    t.match(await listContacts(database.read, inA, { offset, limit: 1 }), [{ id }], String(offset))
  }
  t.same(await listContacts(database.read, inA, { offset: 25_000, limit: 1 }), [])
  let met = 0
  for await (const page of readContactPages(database.read, inA, 999)) met += page.length
  t.equal(met, 25_000)
})

t.test('every read walks an index, and nothing is sorted', { skip: skipOnPostgres(plansOfSqlite) }, async (t) => {
  const seen = new Map<string, readonly unknown[]>()
  const watching: Read = async (sql, parameters) => {
    seen.set(sql, parameters)
    return database.read(sql, parameters)
  }
  for (const audienceId of ['a', null]) {
    const filter = { workspaceId: 'ws_1', audienceId }
    await countContacts(watching, filter)
    await listContacts(watching, filter, { offset: 50, limit: 10 })
  }
  await contactById(watching, 'ws_1', 'x')
  await findContactInAudience(watching, 'ws_1', 'a', 'x')
  await findContactIds(watching, { workspaceId: 'ws_1', audienceId: 'a' }, 'a@b.test' as Address)
  await audienceById(watching, 'ws_1', 'a')
  await listAudiences(watching, 'ws_1', { limit: 1, offset: 1 })
  t.equal(seen.size, 10)
  for (const [sql, parameters] of seen) {
    const plan = (await database.read<{ detail: string }>(`explain query plan ${sql}`, parameters)).map(
      ({ detail }) => detail,
    )
    t.ok(
      plan.every((detail) => /^SEARCH |^CORRELATED SCALAR SUBQUERY /.test(detail) && !/TEMP B-TREE/.test(detail)),
      `${sql}: ${plan.join('; ')}`,
    )
    if (/"email_key" =/.test(sql)) t.match(plan.join(), /email_key=\?/, 'an address is found, not looked for')
    if (/coalesce\("audience_id"/.test(sql)) t.match(plan.join(), /<expr>=\?/, 'nor in other audiences')
    if (/offset/.test(sql) && /"contacts"/.test(sql)) t.match(plan.join(), /COVERING INDEX/, 'a step reads no rows')
  }
  t.same(await listPendingRemovals(database.read, {}), [])
})

t.test('a removal that a fault interrupts resumes by itself', async (t) => {
  const times = { created_at: 1, updated_at: 1 }
  const audience = { id: 'broken', workspace_id: 'ws_3', name: 'x', description: null, ...times }
  await database.commit([insertAudience(audience)])
  await many('ws_3', 'broken', 1_200)
  await database.commit(deleteAudience(audience, 1))
  let commits = 0
  const faults: unknown[] = []
  const removals = createAudienceRemovalRunner({
    read: database.read,
    commit: async (writes) => {
      commits += 1
      if (commits === 2) throw new StorageFault('SQLITE_FULL', 'no room')
      await database.commit(writes)
    },
    log: { error: (about: unknown) => faults.push(about) },
    retryDelay: 1,
  })
  await removals.resume()
  await waitUntil('all are gone', async () => (await listPendingRemovals(database.read, {})).length === 0)
  t.equal(await countContacts(database.read, { workspaceId: 'ws_3', audienceId: null }), 0)
  t.equal(faults.length, 1)
  await removals.stop()
})
