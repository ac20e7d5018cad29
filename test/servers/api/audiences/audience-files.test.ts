/** Files of contacts and suppressions over REST: the result of each line, import of an export, concurrency. */
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import t from 'tap'
import type { ErrorBody } from '../../../../src/servers/api/http/error-answer.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import { fileForm } from '../../../helpers/http/multipart.js'
import type { RestAnswer } from '../../../helpers/http/rest-client.js'

interface Report {
  readonly added: number
  readonly updated: number
  readonly unchanged: number
  readonly still_unsubscribed: number
  readonly known: number
  readonly provider: string
  readonly refused: number
  readonly refusals: readonly { readonly line: number; readonly field: string; readonly value: string }[]
}

interface Contact {
  readonly email: string
  readonly first_name: string | null
  readonly subscribed: boolean
  readonly metadata: Readonly<Record<string, unknown>>
}

const error = (answer: RestAnswer): ErrorBody['error'] => answer.json<ErrorBody>().error
const audience = async (app: TestDaemon, name = 'Readers'): Promise<string> =>
  (await app.rest('POST', '/v1/audiences', { body: { name } })).json<{ id: string }>().id
const bring = (app: TestDaemon, id: string, content: string | Buffer, query = ''): Promise<RestAnswer> =>
  app.rest('POST', `/v1/audiences/${id}/import${query}`, fileForm(content))

async function importFile(app: TestDaemon, id: string, content: string | Buffer, query = ''): Promise<Report> {
  return reportOf(app, await bring(app, id, content, query))
}

/** The report of an import that finished within its request, or after it. */
async function reportOf(app: TestDaemon, answer: RestAnswer): Promise<Report> {
  if (answer.status === 200) return answer.json<Report>()
  if (answer.status !== 202) throw new Error(answer.text)
  const over = await importOver(app, answer.json<{ data: { import_id: string } }>().data.import_id)
  if (over.report === null) throw new Error(JSON.stringify(over.error))
  return over.report
}

interface Import {
  readonly status: string
  readonly report: Report | null
  readonly error: { readonly code: string } | null
}

async function importOver(app: TestDaemon, id: string): Promise<Import> {
  for (;;) {
    const now = (await app.rest('GET', `/v1/imports/${id}`)).json<Import>()
    if (now.status !== 'processing') return now
    await sleep(20)
  }
}

async function contacts(app: TestDaemon, id: string): Promise<ReadonlyMap<string, Contact>> {
  const { data } = (await app.rest('GET', `/v1/contacts?audience_id=${id}&limit=100`)).json<{ data: Contact[] }>()
  return new Map(data.map((contact) => [contact.email, contact]))
}

t.test('a file adds, updates and refuses contacts line by line', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const id = await audience(app)
  const first = await bring(
    app,
    id,
    'Email,First Name,Last Name,Plan\r\nann@b.test,Ann,,pro\r\nnobody,x\r\n,,,\r\nBob@b.test,Bob,Lee\r\nBOB@b.test,,,free\r\nc@b.test,a,b,c,d\r\n',
  )
  t.equal(first.status, 200)
  t.same(check('POST /audiences/:id/import', first), [])
  t.match(first.json(), {
    added: 2,
    updated: 1,
    unchanged: 0,
    still_unsubscribed: 0,
    refused: 2,
    refusals: [
      { line: 3, field: 'email', value: 'nobody' },
      { line: 7, field: null, value: null },
    ],
  })
  t.match(
    await contacts(app, id),
    new Map([
      ['ann@b.test', { first_name: 'Ann', subscribed: true, metadata: { Plan: 'pro' } }],
      ['Bob@b.test', { first_name: 'Bob', last_name: 'Lee', metadata: { Plan: 'free' } }],
    ]),
  )
  t.match(await importFile(app, id, 'email;first_name;metadata\nann@b.test;Anna;"{""seats"":3}"\nbob@b.test;;'), {
    added: 0,
    updated: 1,
    unchanged: 1,
  })
  t.match((await contacts(app, id)).get('ann@b.test'), { first_name: 'Anna', metadata: { Plan: 'pro', seats: 3 } })
  t.match((await app.rest('GET', `/v1/audiences/${id}`)).json(), { contacts_count: 2 })
  t.same(app.errors, [])
})

t.test('addresses that may not belong on a list are imported, and hinted at', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const id = await audience(app)
  const file = 'email\nann@b.test\nInfo@b.test\nbob@gmial.com\ncid@mailinator.com\nnobody\n'
  const answer = await bring(app, id, file)
  t.same(check('POST /audiences/:id/import', answer), [])
  const hints = {
    hinted: { role: 1, disposable: 1, typo: 1 },
    hints: [
      { line: 3, email: 'Info@b.test', hint: 'role', suggestion: null },
      { line: 4, email: 'bob@gmial.com', hint: 'typo', suggestion: 'bob@gmail.com' },
      { line: 5, email: 'cid@mailinator.com', hint: 'disposable', suggestion: null },
    ],
  }
  t.match(answer.json(), { added: 4, refused: 1, ...hints })
  const begun = await bring(app, id, `${file}${'x@b.test\n'.repeat(1_000)}`)
  const { import_id: importId } = begun.json<{ data: { import_id: string } }>().data
  t.match((await importOver(app, importId)).report, hints, 'over several batches too')
  const added = await app.rest('POST', '/v1/contacts', { body: { email: 'sales@outlok.com' } })
  t.same(check('POST /contacts', added), [])
  t.match(added.json(), {
    hints: [
      { hint: 'typo', suggestion: 'sales@outlook.com' },
      { hint: 'role', suggestion: null },
    ],
  })
  const plain = await app.rest('POST', '/v1/contacts', { body: { email: 'dan@b.test' } })
  t.notOk('hints' in plain.json<object>())
  t.same(app.errors, [])
})

t.test('an unsubscribed contact stays so unless the request says twice to subscribe it', async (t) => {
  const app = await testDaemon(t)
  const id = await audience(app)
  await importFile(app, id, 'email,subscribed\noff@b.test,no\non@b.test,yes\nplain@b.test,')
  const is = async (): Promise<readonly unknown[]> =>
    [...(await contacts(app, id))].map(([email, c]) => [email, c.subscribed]).sort()
  t.same(await is(), [
    ['off@b.test', false],
    ['on@b.test', true],
    ['plain@b.test', true],
  ])
  const list = 'email,subscribed\noff@b.test,true\non@b.test,\nplain@b.test,false'
  t.match(await importFile(app, id, list), { updated: 1, unchanged: 2, still_unsubscribed: 1 })
  t.same(await is(), [
    ['off@b.test', false],
    ['on@b.test', true],
    ['plain@b.test', false],
  ])
  t.match(await importFile(app, id, 'email\noff@b.test', '?resubscribe=true'), { unchanged: 1 })
  t.match(await importFile(app, id, list, '?resubscribe=true'), { updated: 1, still_unsubscribed: 0 })
  t.same(await is(), [
    ['off@b.test', true],
    ['on@b.test', true],
    ['plain@b.test', false],
  ])
  const shop = 'email,Accepts Email Marketing\nnew@b.test,\non@b.test,\nshop@b.test,yes\ngone@b.test,no'
  t.match(await importFile(app, id, shop), { added: 3, unchanged: 1, refused: 0 })
  t.same(await is(), [
    ['gone@b.test', false],
    ['new@b.test', false],
    ['off@b.test', true],
    ['on@b.test', true],
    ['plain@b.test', false],
    ['shop@b.test', true],
  ])
  for (const query of ['?resubscribe=yes', '?resubscribe=', '?x=1']) {
    t.equal((await bring(app, id, list, query)).status, 400, query)
  }
})

t.test('an unreadable file is refused and changes nothing', async (t) => {
  const app = await testDaemon(t)
  const id = await audience(app)
  const good = Array.from({ length: 2_000 }, (_, n) => `n${n}@b.test,x`).join('\n')
  for (const [content, message] of [
    ['', /is empty/],
    ['\r\n\r\n', /is empty/],
    ['name\nAnn', /line 1.*no column for the address/],
    ['email,E-Mail\na@b.test', /twice/],
    [`email,x\n${good}\n"open,x\n`, /line 2002: a quote is opened/],
    [`email,x\n${good}\n${'x'.repeat(140_000)}\n`, /line 2002: a row is longer/],
    [Buffer.from('email\na@b.test', 'utf16le'), /no column for the address/],
    [Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), /no column for the address/],
  ] as const) {
    const answer = await bring(app, id, content)
    t.match(error(answer), { code: 'validation_error', status: 400, message }, String(message))
  }
  const long = await bring(app, id, `email\n${'a\n'.repeat(250_001)}`)
  t.match(error(long), { code: 'payload_too_large', status: 413, message: /250000 lines/ })
  t.equal((await contacts(app, id)).size, 0)
  const plain = await app.rest('POST', `/v1/audiences/${id}/import`, { body: { email: 'a@b.test' } })
  t.equal(error(plain).code, 'unsupported_media_type')
  t.same(app.errors, [])
})

t.test('an export can be imported and restores the same contacts', async (t) => {
  const app = await testDaemon(t)
  const [from, to] = [await audience(app, '../Üsers "x"\r\n'.replace(/[\r\n]/g, '')), await audience(app)]
  const text = fc.string({
    unit: fc.constantFrom('=', '+', '-', '@', "'", '"', ',', ';', ' ', 'ä', '🦊', 'x'),
    maxLength: 8,
  })
  const person = fc.record({ first_name: text, last_name: text, subscribed: fc.boolean(), note: text, n: fc.integer() })
  for (const [n, { note, n: number, ...one }] of fc.sample(person, 40).entries()) {
    const email = `${['=', '+', '-', "'="][n % 4]}n${n}@b.test`
    const body = {
      email,
      audience_id: from,
      ...one,
      metadata: { '=note': note, nested: { number, list: [note, null] } },
    }
    t.equal((await app.rest('POST', '/v1/contacts', { body })).status, 201)
  }
  const file = await app.rest('GET', `/v1/audiences/${from}/export`)
  t.equal(file.status, 200)
  t.equal(file.headers['content-type'], 'text/csv; charset=utf-8')
  t.match(file.headers['content-disposition'], /^attachment; filename="[\x20-\x7e]+"; filename\*=UTF-8''/)
  t.match(file.text, /^id,email,first_name,last_name,subscribed,metadata,created_at,updated_at\r\n/)
  const cells = (parse(file.text) as string[][]).flat()
  t.same(
    cells.filter((cell) => /^[=+\-@\t\r]/.test(cell)),
    [],
    'no cell is a formula',
  )
  t.match(await importFile(app, to, file.text), { added: 40, updated: 0, refused: 0 })
  const known = ({ first_name, subscribed, metadata, ...more }: Contact): unknown => [
    // A name without letters counts as absent in a file.
    first_name || null,
    (more as unknown as { last_name: string | null }).last_name || null,
    subscribed,
    metadata,
  ]
  const [were, are] = [await contacts(app, from), await contacts(app, to)]
  t.equal(are.size, 40)
  for (const [email, contact] of were) t.same(known(are.get(email) ?? contact), known(contact), email)
  t.match(await importFile(app, from, file.text), { added: 0, updated: 0, unchanged: 40 })
  const head = await app.rest('HEAD', `/v1/audiences/${from}/export`)
  t.same([head.status, head.text], [200, ''])
  t.same(app.errors, [])
})

const lines = (from: number, to: number, more = ''): string =>
  ['email,plan', ...Array.from({ length: to - from }, (_, n) => `n${from + n}@b.test,p${(from + n) % 7}${more}`)].join(
    '\n',
  )

t.test('up to a thousand lines finish within the request; more continue after it, with the same report', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const [one, two] = [await audience(app), await audience(app, 'Others')]
  const file = `${lines(0, 998)}\nnobody`
  const short = await bring(app, one, `${file}\nlast@b.test`)
  t.equal(short.status, 200)
  const long = await bring(app, two, `${file}\nlast@b.test\none.more@b.test`)
  t.equal(long.status, 202)
  t.same(check('POST /audiences/:id/import', long), [])
  const { data } = long.json<{ data: { import_id: string; status: string } }>()
  t.equal(data.status, 'processing')
  const at = await app.rest('GET', `/v1/imports/${data.import_id}`)
  t.same(check('GET /imports/:id', at), [])
  const end = await importOver(app, data.import_id)
  const over = await app.rest('GET', `/v1/imports/${data.import_id}`)
  t.same(check('GET /imports/:id', over), [])
  t.match(over.json(), { kind: 'contacts', status: 'completed', rows: 1_001, done: 1_001, error: null })
  t.same(end.report, { ...short.json<Report>(), added: short.json<Report>().added + 1 })
  const list = await app.rest('POST', '/v1/suppressions/import', fileForm(file))
  t.equal(list.status, 200)
  const unknown = await app.rest('GET', '/v1/imports/0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10')
  t.match(error(unknown), { code: 'not_found', details: { id: '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10' } })
  t.same(app.errors, [])
})

t.test(
  'with two files and other clients at once, every address is stored once and every line counted once',
  async (t) => {
    const app = await testDaemon(t)
    const id = await audience(app)
    const mail = { from: 'app@other.test', to: 'x@b.test', subject: 's', text: 't' }
    const [one, two, ...others] = await Promise.all([
      importFile(app, id, lines(0, 3_000)),
      importFile(app, id, lines(1_000, 4_000)),
      ...Array.from({ length: 20 }, (_, n) =>
        app.rest('POST', '/v1/contacts', { body: { email: `n${n * 190}@b.test`, audience_id: id } }),
      ),
      ...Array.from({ length: 20 }, () => app.rest('POST', '/v1/emails', { body: mail, key: app.otherKey })),
    ])
    const sum = (report: Report): number => report.added + report.updated + report.unchanged
    t.same([one, two].map(sum), [3_000, 3_000])
    t.ok(others.slice(0, 20).every(({ status }) => status === 201 || status === 409))
    t.ok(
      others.slice(20).every(({ status }) => status === 201),
      "another workspace's mail is taken meanwhile",
    )
    t.match((await app.rest('GET', `/v1/audiences/${id}`)).json(), { contacts_count: 4_000 })
    const added = others.slice(0, 20).filter(({ status }) => status === 201).length
    t.equal(one.added + two.added + added, 4_000)
    t.same(app.errors, [])
  },
)

t.test('a contact who unsubscribes during an import stays unsubscribed', async (t) => {
  const app = await testDaemon(t)
  const id = await audience(app)
  await importFile(app, id, lines(0, 2_000))
  const ids = (await app.rows<{ id: string }>('select id from contacts where audience_id = ? limit 500', id)).map(
    (row) => row.id,
  )
  const file = lines(0, 2_000, 'x').replace('email,plan', 'email,plan,subscribed').replace(/x$/gm, 'x,true')
  const [answer, off] = await Promise.all([
    importFile(app, id, file),
    app.rest('POST', '/v1/contacts/bulk', { body: { operation: 'unsubscribe', contact_ids: ids } }),
  ])
  t.match(answer, { updated: 2_000, refused: 0 })
  t.match(off.json(), { affected: 500 })
  const counted = 'select count(*) as count from contacts where audience_id = ? and subscribed = 0'
  t.same(await app.rows(counted, id), [{ count: 500 }])
  t.same(app.errors, [])
})

t.test('an audience that is deleted during an import stays deleted, with what was imported', async (t) => {
  const app = await testDaemon(t)
  const id = await audience(app)
  const begun = await bring(app, id, lines(0, 20_000))
  t.equal((await app.rest('DELETE', `/v1/audiences/${id}`)).status, 200)
  const over = await importOver(app, begun.json<{ data: { import_id: string } }>().data.import_id)
  t.match(over, { status: 'failed', error: { code: 'audience_not_found' } })
  t.same(await app.rows('select email from contacts'), [])
  t.same(app.errors, [])
})

t.test('a list of another provider is imported as suppressions, and delivery honours it', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  await app.rest('POST', '/v1/suppressions', { body: { email: 'there@b.test', reason: 'unsubscribe' } })
  t.match(await app.submit({ to: ['gone@b.test'] }), /^250/)
  const take = (content: string, query = ''): Promise<RestAnswer> =>
    app.rest('POST', `/v1/suppressions/import${query}`, fileForm(content))
  const file = await take(
    'EmailAddress,SuppressionReason,Origin,CreatedAt\nGone@b.test,HardBounce,Recipient,2024-01-02T03:04:05-05:00\n' +
      'gone@b.test,SpamComplaint,Recipient,\nthere@b.test,HardBounce,Recipient,\nnobody,HardBounce,,\nodd@b.test,Odd,,\n',
  )
  t.equal(file.status, 200)
  t.same(check('POST /suppressions/import', file), [])
  t.match(file.json(), {
    provider: 'postmark',
    added: 1,
    known: 2,
    refused: 2,
    refusals: [
      { line: 5, field: 'email', value: 'nobody' },
      { line: 6, field: 'reason', value: 'Odd' },
    ],
  })
  t.match(await app.submit({ to: ['gone@b.test'] }), /^554 5\.7\.1/)
  const { data } = (await app.rest('GET', '/v1/suppressions')).json<{ data: readonly { email: string }[] }>()
  t.match(data, [
    {
      email: 'gone@b.test',
      reason: 'hard_bounce',
      metadata: { bounce_type: 'hard', imported_from: 'postmark', suppressed_at: '2024-01-02T08:04:05.000Z' },
    },
    { email: 'there@b.test', reason: 'unsubscribe' },
  ])
  const spam = await take('ip,email,created\n192.0.2.1,s@b.test,1700000000', '?reason=spam_complaint')
  t.match(spam.json(), { provider: 'sendgrid', added: 1 })
  t.match(await app.rows(`select reason, metadata from suppressions where email = 's@b.test'`), [
    { reason: 'spam_complaint', metadata: /2023-11-14T22:13:20.000Z/ },
  ])
  t.match((await take('a@b.test,BOUNCE\nc@b.test,COMPLAINT\n')).json(), { provider: 'ses', added: 2 })
  t.match((await take('a@b.test\nd@b.test\n')).json(), { provider: 'list', added: 1, known: 1 })
  const log = (await app.rest('GET', '/v1/audit-log')).json<{ data: readonly { action: string }[] }>().data
  t.match(log.at(-1), {
    action: 'suppressions.imported',
    details: { provider: 'postmark', added: 1, known: 2, refused: 2 },
  })
  for (const [content, query] of [
    ['name\nAnn', ''],
    ['', ''],
    ['email\na@b.test', '?reason=odd'],
    ['email,x\n"a', ''],
  ] as const) {
    t.equal(error(await take(content, query)).code, 'validation_error', content)
  }

  const many = (n: number): string =>
    ['email', ...Array.from({ length: 1_500 }, (_, at) => `m${at * n}@b.test`)].join('\n')
  const reports = await Promise.all([take(many(1)), take(many(1)), take(many(2))])
  const all = await Promise.all(reports.map((answer) => reportOf(app, answer)))
  t.equal(
    all.reduce((sum, { added }) => sum + added, 0),
    2_250,
  )
  t.ok(all.every(({ added, known }) => added + known === 1_500))
  t.same(app.errors, [])
})

t.test('no bytes in a file make the API answer a 5xx', async (t) => {
  const app = await testDaemon(t)
  const id = await audience(app)
  const cell = fc.oneof(
    fc.constantFrom(
      'email',
      'a@b.test',
      'subscribed',
      'metadata',
      '{"a":1}',
      '__proto__',
      'address',
      'code',
      '"',
      '',
      "'=x",
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
  )
  const csv = fc
    .array(fc.array(cell, { maxLength: 5 }), { maxLength: 8 })
    .map((rows) => rows.map((row) => row.join(',')).join('\n'))
  const named = csv.map((text) => `email,first_name,subscribed,metadata,x\n${text}`)
  const content = fc.oneof(
    csv,
    named,
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  )
  await fc.assert(
    fc.asyncProperty(content, fc.boolean(), async (file, contacts) => {
      const path = contacts ? `/v1/audiences/${id}/import` : '/v1/suppressions/import'
      const answer = await app.rest('POST', path, fileForm(file))
      if (answer.status !== 200 && answer.status !== 400) throw new Error(`${answer.status}: ${answer.text}`)
    }),
    { numRuns: 300 },
  )
  t.equal((await app.rest('GET', `/v1/audiences/${id}/export`)).status, 200)
  t.same(app.errors, [])
})
