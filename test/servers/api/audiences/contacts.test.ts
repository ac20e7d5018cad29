/** Contacts and audiences over REST: records, both forms of lists, bulk requests, concurrent clients. */
import t from 'tap'
import type { ErrorBody } from '../../../../src/servers/api/http/error-answer.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import type { RestAnswer } from '../../../helpers/http/rest-client.js'

interface Contact {
  readonly id: string
  readonly email: string
  readonly first_name: string | null
  readonly audience_id: string | null
  readonly subscribed: boolean
  readonly metadata: Readonly<Record<string, unknown>>
  readonly updated_at: string
}

interface List {
  readonly success?: boolean
  readonly data: readonly Contact[]
  readonly meta?: object
}

const PATH = '/v1/contacts'
const UNKNOWN_ID = '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10'
const error = (answer: RestAnswer): ErrorBody['error'] => answer.json<ErrorBody>().error
const fields = (answer: RestAnswer): unknown => {
  const { details = {} } = error(answer)
  return (details['errors'] as readonly { readonly field: string }[]).map(({ field }) => field)
}

async function createResource<T>(app: TestDaemon, path: string, body: object, key = app.key): Promise<T> {
  const answer = await app.rest('POST', path, { body, key })
  if (answer.status !== 201) throw new Error(answer.text)
  return answer.json<T>()
}
const audience = async (app: TestDaemon, name = 'Readers', key = app.key): Promise<string> =>
  (await createResource<{ id: string }>(app, '/v1/audiences', { name }, key)).id
const contact = (app: TestDaemon, email: string, more: object = {}): Promise<Contact> =>
  createResource(app, PATH, { email, ...more })
const listContacts = async (app: TestDaemon, query = ''): Promise<List> => {
  const answer = await app.rest('GET', `${PATH}?${query}`)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json<List>()
}
const bulk = (app: TestDaemon, body: object): Promise<RestAnswer> => app.rest('POST', `${PATH}/bulk`, { body })
const emails = ({ data }: List): readonly string[] => data.map(({ email }) => email)

t.test('a contact is added, read, updated field by field, and deleted', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const list = await audience(app)
  const first = await app.rest('POST', PATH, { body: { email: 'Ann+x@B.test', audience_id: list } })
  t.equal(first.status, 201)
  t.same(check('POST /contacts', first), [])
  const expected = { email: 'Ann+x@b.test', first_name: null, last_name: null, audience_id: list, subscribed: true }
  t.match(first.json(), { ...expected, metadata: {}, created_at: /Z$/ })
  const { id } = first.json<Contact>()
  t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  const path = `${PATH}/${id}`
  t.match((await app.rest('GET', path)).json(), { ...expected, updated_at: /Z$/ })

  app.advance(60_000)
  const nested = { plan: 'pro', seats: 3, nested: { tags: ['a', null, true] } }
  for (const [change, now] of [
    [
      { first_name: 'Ann', last_name: 'Lee' },
      { first_name: 'Ann', last_name: 'Lee', subscribed: true },
    ],
    [{ subscribed: false }, { first_name: 'Ann', subscribed: false }],
    [{ metadata: nested }, { metadata: nested, subscribed: false }],
    [{ metadata: { only: 1 } }, { metadata: { only: 1 } }],
    [{ first_name: null }, { first_name: null, last_name: 'Lee' }],
    [{ email: 'ANN@b.test' }, { email: 'ANN@b.test' }],
    [{ audience_id: null }, { audience_id: null }],
    [{ audience_id: list }, { audience_id: list }],
    [{}, { email: 'ANN@b.test', last_name: 'Lee' }],
  ] as const) {
    const answer = await app.rest('PATCH', path, { body: change })
    t.equal(answer.status, 200)
    t.same(check('PATCH /contacts/:id', answer), [])
    t.match(answer.json(), now, JSON.stringify(change))
  }
  const { metadata, updated_at } = (await app.rest('GET', path)).json<Contact>()
  t.same(metadata, { only: 1 }, 'metadata is set as a whole')
  t.not(updated_at, first.json<Contact>().updated_at)

  const gone = await app.rest('DELETE', path)
  t.same(
    [gone.status, gone.json()],
    [200, { success: true, data: { id }, object: 'contact', deleted: true, contact: id }],
  )
  t.same(check('DELETE /contacts/:id', gone), [])
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const answer = await app.rest(method, path, method === 'PATCH' ? { body: {} } : {})
    t.match(error(answer), { code: 'contact_not_found', status: 404, details: { id } }, method)
  }
  t.same(app.errors, [])
})

t.test('an invalid contact is refused with its field', async (t) => {
  const app = await testDaemon(t)
  const foreign = await audience(app, 'Theirs', app.otherKey)
  const { id } = await contact(app, 'there@b.test')
  const wrong: readonly (readonly [object, string, string])[] = [
    [{}, 'missing_required_field', 'email'],
    [{ email: 7 }, 'validation_error', 'email'],
    [{ email: 'nobody' }, 'invalid_email_address', 'email'],
    [{ email: 'a@b.test\r\nBcc: c@b.test' }, 'invalid_email_address', 'email'],
    [{ email: 'a@b.test', first_name: 'x\ny' }, 'validation_error', 'first_name'],
    [{ email: 'a@b.test', first_name: '\ud800' }, 'validation_error', 'first_name'],
    [{ email: 'a@b.test', last_name: 'x'.repeat(256) }, 'validation_error', 'last_name'],
    [{ email: 'a@b.test', last_name: 7 }, 'validation_error', 'last_name'],
    [{ email: 'a@b.test', subscribed: 'yes' }, 'validation_error', 'subscribed'],
    [{ email: 'a@b.test', metadata: ['x'] }, 'validation_error', 'metadata'],
    [{ email: 'a@b.test', metadata: { big: 'ä'.repeat(8_192) } }, 'validation_error', 'metadata'],
    [
      JSON.parse('{"email":"a@b.test","metadata":{"__proto__":{"x":1}}}') as object,
      'validation_error',
      'metadata.__proto__',
    ],
    [{ email: 'a@b.test', phone: '1' }, 'validation_error', 'phone'],
  ]
  for (const [body, code, field] of wrong) {
    const answers = [await app.rest('POST', PATH, { body })]
    if (code !== 'missing_required_field') answers.push(await app.rest('PATCH', `${PATH}/${id}`, { body }))
    for (const answer of answers) {
      t.same([error(answer).code, fields(answer)], [code, [field]], JSON.stringify(body).slice(0, 80))
    }
  }
  for (const audience_id of [UNKNOWN_ID, foreign, 'x', '']) {
    for (const answer of [
      await app.rest('POST', PATH, { body: { email: 'a@b.test', audience_id } }),
      await app.rest('PATCH', `${PATH}/${id}`, { body: { audience_id } }),
      await app.rest('GET', `${PATH}?audience_id=${audience_id}`),
    ]) {
      t.match(error(answer), { code: 'audience_not_found', status: 404, details: { id: audience_id } }, audience_id)
    }
  }
  const full = { key: 'x'.repeat(16_384 - '{"key":""}'.length) }
  t.same((await contact(app, 'full@b.test', { metadata: full })).metadata, full, '16 KB is not too much')
  t.same(emails(await listContacts(app)), ['full@b.test', 'there@b.test'])
  t.same(app.errors, [])
})

t.test('an address is unique in each audience, and among contacts without one', async (t) => {
  const app = await testDaemon(t)
  const [one, two] = [await audience(app), await audience(app)]
  const everywhere = [null, one, two]
  const there = await Promise.all(everywhere.map((audience_id) => contact(app, 'x@b.test', { audience_id })))
  for (const [n, audience_id] of everywhere.entries()) {
    const again = await app.rest('POST', PATH, { body: { email: 'X@B.test', audience_id } })
    t.match(error(again), { code: 'conflict', status: 409, details: { audience_id, contact_id: there[n]?.id } })
    const moved = await app.rest('PATCH', `${PATH}/${there[(n + 1) % 3]?.id}`, { body: { audience_id } })
    t.equal(error(moved).code, 'conflict')
  }
  const other = await contact(app, 'y@b.test', { audience_id: one })
  const named = async (query: string): Promise<unknown> =>
    (await listContacts(app, query)).data.map(({ id }) => id).sort()
  t.same(await named('email=X%40B.test'), there.map(({ id }) => id).sort())
  t.same(await named(`email=x@b.test&audience_id=${two}`), [there[2]?.id])
  t.same(await named('email=nobody@b.test'), [])
  t.match(await listContacts(app, 'email=x@b.test&page=2&per_page=2'), {
    data: { length: 1 },
    meta: { total: 3, pages: 2 },
  })
  t.equal(error(await app.rest('GET', `${PATH}?email=x`)).code, 'invalid_email_address')
  t.equal(error(await app.rest('PATCH', `${PATH}/${other.id}`, { body: { email: 'x@b.test' } })).code, 'conflict')
  t.equal((await app.rest('PATCH', `${PATH}/${other.id}`, { body: { email: 'Y@b.test' } })).status, 200)
  t.equal((await app.rest('POST', PATH, { body: { email: 'x@b.test' }, key: app.otherKey })).status, 201)

  const crowd = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      app.rest('POST', PATH, { body: { email: n % 2 === 0 ? 'z@b.test' : 'Z@b.test', audience_id: two } }),
    ),
  )
  t.same(crowd.map(({ status }) => status).sort(), [201, ...Array.from({ length: 11 }, () => 409)])
  t.same(app.errors, [])
})

t.test('the list has two forms, a filter and bounds, and is empty past its end', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const [one, none] = [await audience(app), await audience(app)]
  for (let n = 0; n < 60; n += 1) {
    await contact(app, `n${n}@b.test`, n % 3 === 0 ? { audience_id: one } : {})
    app.advance(1)
  }
  const first = await app.rest('GET', PATH)
  t.same(check('GET /contacts', first), [])
  t.same(emails(first.json<List>()).slice(0, 2), ['n59@b.test', 'n58@b.test'])
  t.equal(first.json<List>().data.length, 50, 'fifty by default')
  t.notOk('meta' in first.json<List>())
  t.same(emails(await listContacts(app, 'limit=2&offset=57')), ['n2@b.test', 'n1@b.test'])
  t.same(emails(await listContacts(app, `audience_id=${one}&limit=2&offset=1`)), ['n54@b.test', 'n51@b.test'])
  t.same((await listContacts(app, 'offset=60')).data, [])

  const page = await app.rest('GET', `${PATH}?page=2&per_page=25`)
  t.same(check('GET /contacts', page), [])
  t.match(page.json(), { success: true, meta: { total: 60, page: 2, page_size: 25, pages: 3 } })
  t.same(emails(page.json<List>()).slice(0, 1), ['n34@b.test'])
  t.match(await listContacts(app, `audience_id=${one}&page=1`), {
    meta: { total: 20, page: 1, page_size: 50, pages: 1 },
  })
  t.same(await listContacts(app, `audience_id=${none}&page=9`), {
    success: true,
    data: [],
    meta: { total: 0, page: 9, page_size: 50, pages: 0 },
  })
  for (const query of ['offset=-1', 'page=1&limit=2', 'order=name']) {
    t.equal(error(await app.rest('GET', `${PATH}?${query}`)).code, 'validation_error', query)
  }
  t.same(app.errors, [])
})

t.test('a bulk request does what it can and counts what it cannot', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const [from, to] = [await audience(app), await audience(app)]
  const ids: string[] = []
  for (const n of [0, 1, 2, 3]) ids.push((await contact(app, `n${n}@b.test`, { audience_id: from })).id)
  const [a = '', b = '', c = '', d = ''] = ids
  const theirs = (await createResource<Contact>(app, PATH, { email: 'n0@b.test' }, app.otherKey)).id
  await contact(app, 'N3@b.test', { audience_id: to })
  const twin = (await contact(app, 'n0@b.test')).id

  const rows: readonly (readonly [object, object])[] = [
    [
      { operation: 'unsubscribe', contact_ids: [a, b, a, UNKNOWN_ID, 'x', theirs] },
      { operation: 'unsubscribe', affected: 2, skipped: 3, message: '2 contacts unsubscribed, 3 skipped' },
    ],
    [
      { operation: 'unsubscribe', contact_ids: [a, c] },
      { affected: 1, skipped: 1 },
    ],
    [
      { operation: 'subscribe', contact_ids: [a, d] },
      { affected: 1, skipped: 1, message: '1 contact subscribed, 1 skipped' },
    ],
    [
      { operation: 'move', contact_ids: [a, twin, b, d], audience_id: to },
      { affected: 2, skipped: 2 },
    ],
    [
      { operation: 'move', contact_ids: [a, b], audience_id: to },
      { affected: 0, skipped: 2 },
    ],
    [
      { operation: 'delete', contact_ids: [a, c, theirs], audience_id: null },
      { affected: 2, skipped: 1 },
    ],
  ]
  for (const [body, expected] of rows) {
    const answer = await bulk(app, body)
    t.equal(answer.status, 200)
    t.same(check('POST /contacts/bulk', answer), [])
    t.match(answer.json(), expected, JSON.stringify(body))
  }
  t.same([...emails(await listContacts(app, `audience_id=${to}`))].sort(), ['N3@b.test', 'n1@b.test'])
  t.same(emails(await listContacts(app, `audience_id=${from}`)), ['n3@b.test'])
  t.equal((await app.rest('GET', `${PATH}/${theirs}`, { key: app.otherKey })).status, 200)
  const counts = (await app.rest('GET', '/v1/audiences')).json<{ data: { id: string; contacts_count: number }[] }>()
  t.same(
    new Map(counts.data.map(({ id, contacts_count }) => [id, contacts_count])),
    new Map([
      [from, 1],
      [to, 2],
    ]),
  )

  const wrong: readonly (readonly [object, string, string])[] = [
    [{ operation: 'delete', contact_ids: [] }, 'validation_error', 'contact_ids'],
    [{ operation: 'delete', contact_ids: a }, 'validation_error', 'contact_ids'],
    [{ operation: 'delete', contact_ids: [a, 7] }, 'validation_error', 'contact_ids[1]'],
    [{ operation: 'delete', contact_ids: Array(1001).fill(a) }, 'validation_error', 'contact_ids'],
    [{ operation: 'delete', contact_ids: [a], audience_id: to }, 'validation_error', 'audience_id'],
  ]
  for (const [body, code, field] of wrong) {
    const answer = await bulk(app, body)
    t.same([error(answer).code, fields(answer)], [code, [field]], JSON.stringify(body).slice(0, 80))
  }
  t.match(error(await bulk(app, { operation: 'delete', contact_ids: Array(1001).fill(a) })).message, /1000/)
  t.same(app.errors, [])
})

t.test('concurrent operations on the same contacts are each counted as if alone', async (t) => {
  const app = await testDaemon(t)
  const lists = [await audience(app), await audience(app)]
  const ids: string[] = []
  for (let n = 0; n < 20; n += 1) ids.push((await contact(app, `n${n}@b.test`)).id)
  const all = (operation: string, more: object = {}): Promise<RestAnswer> =>
    bulk(app, { operation, contact_ids: ids, ...more })
  const affected = (answers: readonly RestAnswer[]): number =>
    answers.reduce((sum, answer) => sum + answer.json<{ affected: number }>().affected, 0)

  const off = await Promise.all(Array.from({ length: 6 }, () => all('unsubscribe')))
  t.equal(affected(off), 20)
  const moves = await Promise.all(lists.map((audience_id) => all('move', { audience_id })))
  t.ok(affected(moves) === 20 || affected(moves) === 40, 'each moved all that were not there')
  const ends = await Promise.all([all('delete'), all('delete'), all('subscribe'), all('delete')])
  t.equal(affected([ends[0], ends[1], ends[3]].flatMap((answer) => answer ?? [])), 20)
  t.same((await listContacts(app)).data, [])
  t.same(
    await app.rows('select list, count from contact_counts where workspace_id = ? and count <> 0', app.workspaceId),
    [],
  )
  t.same(app.errors, [])
})

t.test('an audience is created, listed with its count, updated, and deleted with its contacts', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const first = await app.rest('POST', '/v1/audiences', { body: { name: 'Readers', description: 'Of the\nletter' } })
  t.equal(first.status, 201)
  t.same(check('POST /audiences', first), [])
  t.match(first.json(), { name: 'Readers', description: 'Of the\nletter', created_at: /Z$/ })
  const { id } = first.json<{ id: string }>()
  const path = `/v1/audiences/${id}`
  for (const n of [1, 2, 3]) await contact(app, `n${n}@b.test`, { audience_id: id })
  await contact(app, 'n1@b.test')
  t.match((await app.rest('GET', path)).json(), { id, contacts_count: 3 })
  app.advance(1000)
  const other = await audience(app, 'Writers')
  const list = await app.rest('GET', '/v1/audiences')
  t.same(check('GET /audiences', list), [])
  t.match(list.json(), {
    data: [
      { id: other, contacts_count: 0 },
      { id, contacts_count: 3, updated_at: /Z$/ },
    ],
  })
  t.match((await app.rest('GET', '/v1/audiences?limit=1&offset=1')).json(), { data: [{ id }] })

  for (const [change, now] of [
    [{ name: 'New' }, { name: 'New', description: 'Of the\nletter' }],
    [{ description: null }, { name: 'New', description: null, contacts_count: 3 }],
    [{}, { name: 'New' }],
  ] as const) {
    const answer = await app.rest('PATCH', path, { body: change })
    t.same(check('PATCH /audiences/:id', answer), [])
    t.match(answer.json(), now)
  }
  for (const body of [{}, { name: '' }, { name: 'x'.repeat(101) }, { name: 'a\0' }, { name: 'a', description: '\0' }]) {
    t.equal((await app.rest('POST', '/v1/audiences', { body })).status, 400, JSON.stringify(body))
  }

  const gone = await app.rest('DELETE', path)
  t.same([gone.status, gone.json()], [200, { object: 'audience', deleted: true, id }])
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const answer = await app.rest(method, path, method === 'PATCH' ? { body: { name: 'x' } } : {})
    t.match(error(answer), { code: 'audience_not_found', status: 404, details: { id } }, method)
  }
  t.match(await listContacts(app, 'page=1'), { data: [{ email: 'n1@b.test', audience_id: null }], meta: { total: 1 } })
  t.same(await app.rows('select * from audience_removals'), [])
  const log = (await app.rest('GET', '/v1/audit-log')).json<{ data: readonly object[] }>().data
  t.match(log, [{ action: 'audience.deleted', target: id, details: { name: 'New', contacts: 3 } }])
  t.same(app.errors, [])
})

t.test('nothing enters an audience that is deleted, and all of it is removed', async (t) => {
  const app = await testDaemon(t)
  const id = await audience(app)
  const sql = `
    with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 3000)
    insert into contacts (id, workspace_id, audience_id, email, email_key, subscribed, metadata, created_at, updated_at)
    select printf('0197b9e5-5c1c-7cf4-8d1f-%012d', n), ?, ?, n || '@b.test', n || '@b.test', 1, '{}', 0, 0 from numbers`
  await app.daemon.database.commit([{ sql, parameters: [app.workspaceId, id] }])
  const comers = Array.from({ length: 20 }, (_, n) =>
    app.rest('POST', PATH, { body: { email: `late${n}@b.test`, audience_id: id } }),
  )
  const [gone, ...answers] = await Promise.all([app.rest('DELETE', `/v1/audiences/${id}`), ...comers])
  t.equal(gone.status, 200)
  t.ok(answers.every(({ status }) => status === 201 || status === 404))
  t.same(await app.rows('select id from contacts where workspace_id = ?', app.workspaceId), [])
  t.same(await app.rows('select list from contact_counts where count <> 0'), [])
  t.same(app.errors, [])
})
