/** Imports whose columns the request names, and the preview that shows what an import would do. */
import t from 'tap'
import { OwnerTurns } from '../../../../src/base/platform/owner-turns.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { fileForm } from '../../../helpers/http/multipart.js'
import type { RestAnswer } from '../../../helpers/http/rest-client.js'

interface Preview {
  readonly header: boolean
  readonly delimiter: string
  readonly columns: readonly { readonly title: string | null; readonly field: string | null }[]
  readonly rows: readonly { readonly line: number; readonly cells: readonly string[] }[]
  readonly total: number
  readonly problem: string | null
}

const createAudience = async (app: TestDaemon): Promise<string> =>
  (await app.rest('POST', '/v1/audiences', { body: { name: 'Readers' } })).json<{ id: string }>().id

const upload = (app: TestDaemon, path: string, content: string | Buffer, query: Record<string, string> = {}) =>
  app.rest('POST', `/v1/audiences/${path}?${new URLSearchParams(query)}`, fileForm(content))

const fieldsOf = (answer: RestAnswer) => answer.json<Preview>().columns.map(({ field }) => field)

t.test('a preview shows columns, rows, faults and hints, and stores nothing', async (t) => {
  const app = await testDaemon(t)
  const id = await createAudience(app)
  const lines = ['E-Mail;Vorname;fname;plan', 'bob@gmial.com;Bob;B;pro', 'info@b.test;;;', 'nonsense;x;y;z']
  const answer = await upload(app, `${id}/import/preview`, lines.join('\r\n'))
  t.match(answer.json(), {
    header: true,
    delimiter: 'semicolon',
    total: 3,
    checked: 3,
    problem: null,
    rows: [{ line: 2, cells: ['bob@gmial.com', 'Bob', 'B', 'pro'] }, { line: 3 }, { line: 4 }],
    refused: 1,
    refusals: [{ line: 4, field: 'email', value: 'nonsense' }],
    hinted: { role: 1, disposable: 0, typo: 1 },
    hints: [
      { line: 2, suggestion: 'bob@gmail.com' },
      { line: 3, hint: 'role' },
    ],
  })
  t.same(fieldsOf(answer), ['email', 'metadata.Vorname', 'first_name', 'metadata.plan'])
  t.same(await app.rows('select id from contacts'), [])

  const many = Array.from({ length: 14 }, (_, n) => `c${n}@b.test`).join('\n')
  const plain = await upload(app, `${id}/import/preview`, many)
  t.match(plain.json(), { header: false, total: 14, problem: null, columns: [{ title: null, field: 'email' }] })
  t.equal(plain.json<Preview>().rows.length, 10)
  t.equal((await upload(app, 'unknown/import/preview', many)).status, 404)
})

t.test('an owner has one preview at a time, and four that wait', async (t) => {
  const app = await testDaemon(t)
  const id = await createAudience(app)
  const gate = Promise.withResolvers<void>()
  const { run } = OwnerTurns.prototype
  t.teardown(() => {
    OwnerTurns.prototype.run = run
  })
  const owners = new Set<string>()
  let [running, most] = [0, 0]
  OwnerTurns.prototype.run = async function <Value>(owner: string, work: () => Promise<Value>): Promise<Value> {
    const results: Value[] = []
    owners.add(owner)
    await run.call(this, owner, async () => {
      running += 1
      most = Math.max(most, running)
      await gate.promise
      results.push(await work())
      running -= 1
    })
    const [result] = results
    if (result === undefined) throw new Error('the work was not done')
    return result
  }
  const previews = Array.from({ length: 6 }, () => upload(app, `${id}/import/preview`, 'email\na@b.test\n'))
  const first = await Promise.race(previews)
  t.equal(first.status, 503, first.text)
  gate.resolve()
  const statuses = (await Promise.all(previews)).map(({ status }) => status)
  t.same(statuses.toSorted(), [200, 200, 200, 200, 200, 503])
  t.equal(most, 1)
  t.equal(owners.size, 1)
})

t.test('a file that no import takes says what to do', async (t) => {
  const app = await testDaemon(t)
  const id = await createAudience(app)
  const consent = await upload(app, `${id}/import/preview`, 'email,newsletter group\na@b.test,3\n')
  t.match(consent.json(), { problem: /seems to speak of consent/, columns: [{ field: 'email' }, { field: null }] })
  t.match((await upload(app, `${id}/import/preview`, 'name,x\nann,1\n')).json(), {
    problem: /no column for the address.*with the field columns of the query/,
  })
  for (const path of [`${id}/import/preview`, `${id}/import`]) {
    for (const start of ['504b0304', 'd0cf11e0a1b11ae1']) {
      const answer = await upload(app, path, Buffer.concat([Buffer.from(start, 'hex'), Buffer.alloc(600)]))
      t.equal(answer.status, 400)
      t.match(answer.json(), { error: { message: /\.xlsx.*save it as CSV/ } })
    }
    for (const start of ['[{"email":"a@b.test"}]', '\uFEFF{\n  "items": []}', ' [ ]\n']) {
      t.match(
        (await upload(app, path, start)).json(),
        { error: { message: /is JSON, and not CSV: convert it/ } },
        start,
      )
    }
    t.equal((await upload(app, path, '')).status, 400)
  }
  t.match((await upload(app, `${id}/import`, '[x],{a},email\n1,2,a@b.test\n')).json(), { added: 1 })
})

t.test('an import takes the fields that the request names', async (t) => {
  const app = await testDaemon(t)
  const id = await createAudience(app)
  const columns = JSON.stringify(['metadata.city', 'email', null, 'first_name', 'unsubscribed'])
  const file = 'Wien|ann@b.test|secret|Ann|\nGraz|bob@b.test|secret|Bob|2024-01-01\n'
  const query = { columns, header: 'false', delimiter: 'pipe' }
  t.match((await upload(app, `${id}/import`, file, query)).json(), { added: 2, refused: 0 })
  const found = await app.rows<{ email: string; metadata: string; subscribed: number }>(
    'select email, first_name, metadata, subscribed from contacts order by email',
  )
  t.match(found, [
    { email: 'ann@b.test', first_name: 'Ann', metadata: '{"city":"Wien"}', subscribed: 1 },
    { email: 'bob@b.test', first_name: 'Bob', metadata: '{"city":"Graz"}', subscribed: 0 },
  ])
  const named = { columns: JSON.stringify(['email', null]), header: 'true' }
  t.match((await upload(app, `${id}/import`, 'A,B\ncleo@b.test,x\n', named)).json(), { added: 1 })

  const refused: readonly [Record<string, string>, RegExp][] = [
    [{ header: 'false' }, /columns: is required/],
    [{ columns: '["email"]' }, /names 1 columns, and line 1 of the file has 2/],
    [{ columns: '["first_name",null]' }, /has no \\"email\\"/],
    [{ columns: '["email","email"]' }, /twice/],
    [{ columns: '["email","phone"]' }, /allowed: a JSON array/],
    [{ columns: 'email,first_name' }, /allowed: a JSON array/],
    [{ columns: '["email","metadata.__proto__"]' }, /cannot be a key/],
    [{ delimiter: 'blank' }, /allowed: comma/],
    [{ leave_out: 'typos' }, /allowed: role, disposable, typo/],
  ]
  for (const [bad, rule] of refused) {
    const answer = await upload(app, `${id}/import`, 'email,B\ndora@b.test,x\n', bad)
    t.equal(answer.status, 400, JSON.stringify(bad))
    t.match(answer.text, rule)
  }
  t.equal((await app.rows('select id from contacts')).length, 3)
})

t.test('lines with hints are left out on demand, in short and in long files', async (t) => {
  const app = await testDaemon(t)
  const id = await createAudience(app)
  const hinted = ['bob@gmial.com', 'info@b.test', 'ann@b.test']
  const query = { leave_out: 'typo,disposable' }
  t.match((await upload(app, `${id}/import`, ['email', ...hinted].join('\n'), query)).json(), {
    ...{ added: 2, left_out: 1, hinted: { typo: 0, role: 1 }, hints: [{ email: 'info@b.test' }] },
  })
  const columns = JSON.stringify(['email'])
  const long = [...hinted, ...Array.from({ length: 1_200 }, (_, n) => `c${n}@b.test`)].join('\n')
  const answer = await upload(app, `${id}/import`, long, { leave_out: 'typo,role', columns, header: 'false' })
  t.equal(answer.status, 202)
  const path = `/v1/imports/${answer.json<{ data: { import_id: string } }>().data.import_id}`
  const read = async () =>
    (await app.rest('GET', path)).json<{ readonly status: string; readonly report: object | null }>()
  let state = await read()
  while (state.status === 'processing') state = await read()
  t.match(state, { status: 'completed', report: { added: 1_200, unchanged: 1, left_out: 2 } })
})

t.test('a file of Excel in Windows-1252 is read rightly, short or long', async (t) => {
  const app = await testDaemon(t)
  const id = await createAudience(app)
  const file = (count: number) =>
    Buffer.from(
      ['E-Mail;Vorname;Straße', ...Array.from({ length: count }, (_, n) => `w${n}@b.test;Jörg;Käfergasse`)].join(
        '\r\n',
      ),
      'latin1',
    )
  const preview = await upload(app, `${id}/import/preview`, file(2))
  t.match(preview.json(), {
    ...{ encoding: 'windows-1252', delimiter: 'semicolon', added: 2, refused: 0 },
    columns: [{ field: 'email' }, { title: 'Vorname', field: 'first_name' }, { title: 'Straße' }],
    rows: [{ cells: ['w0@b.test', 'Jörg', 'Käfergasse'] }, {}],
  })
  t.match((await upload(app, `${id}/import`, file(2))).json(), { added: 2, refused: 0 })
  const long = await upload(app, `${id}/import`, file(1_100))
  t.equal(long.status, 202)
  const path = `/v1/imports/${long.json<{ data: { import_id: string } }>().data.import_id}`
  const read = async () => (await app.rest('GET', path)).json<{ readonly status: string }>()
  let state = await read()
  while (state.status === 'processing') state = await read()
  t.match(state, { report: { added: 1_098, unchanged: 2, refused: 0 } })
  t.same(await app.rows('select distinct first_name, metadata from contacts'), [
    { first_name: 'Jörg', metadata: '{"Straße":"Käfergasse"}' },
  ])
  const damaged = Buffer.concat([Buffer.from('email,city\na@b.test,Zürich Köln\nb@b.test,'), Buffer.from([0xe9, 0x0a])])
  t.match((await upload(app, `${id}/import/preview`, damaged)).json(), {
    ...{ encoding: 'utf-8', added: 1, refused: 1 },
    refusal_reasons: [{ field: 'metadata.city', count: 1, lines: [3] }],
  })
})

t.test('a preview says what the import will do with each line', async (t) => {
  const app = await testDaemon(t)
  const id = await createAudience(app)
  const first = 'email,first_name,subscribed\nann@b.test,Ann,yes\nbob@b.test,Bob,no\ncleo@b.test,Cleo,yes\n'
  await upload(app, `${id}/import`, first)
  const lines = ['email,first_name,subscribed', 'ann@b.test,Anna,yes', 'bob@b.test,Bob,yes', 'cleo@b.test,Cleo,yes']
  const file = [...lines, 'dora@b.test,Dora,yes', 'eve@gmial.com,Eve,yes', 'nobody,x,yes'].join('\n')
  const asked = async (query: Record<string, string>) => (await upload(app, `${id}/import/preview`, file, query)).json()
  const counts = { updated: 1, unchanged: 2, still_unsubscribed: 1, refused: 1 }
  t.match(await asked({}), { ...counts, added: 2, left_out: 0 })
  t.match(await asked({ leave_out: 'typo' }), { ...counts, added: 1, left_out: 1, hinted: { typo: 1 } })
  t.match(await asked({ resubscribe: 'true' }), { added: 2, updated: 2, unchanged: 1, still_unsubscribed: 0 })
  t.match((await upload(app, `${id}/import`, file, { leave_out: 'typo' })).json(), { ...counts, added: 1, left_out: 1 })
})

t.test('columns are recognised by the names of eight languages', async (t) => {
  const app = await testDaemon(t)
  const id = await createAudience(app)
  const headers = [
    ...['Email Address,First Name,Last Name', 'E-Mail-Adresse;Vorname;Nachname', 'Adresse e-mail;Prénom;Nom'],
    ...['Correo electrónico;Nombre;Apellidos', 'Indirizzo e-mail;Nome;Cognome', 'E-mailadres\tVoornaam\tAchternaam'],
    ...['Endereço de email;Nome;Apelido', 'Adres e-mail;Imię;Nazwisko', 'Mail,given name,surname', 'Correo,first,last'],
  ]
  for (const header of headers) {
    const answer = await upload(app, `${id}/import/preview`, `${header}\n`)
    t.same(fieldsOf(answer), ['email', 'first_name', 'last_name'], header)
    t.equal((await upload(app, `${id}/import`, `${header}\n`)).status, 200, header)
  }
  const street = await upload(app, `${id}/import/preview`, 'E-Mail;Adresse;Vorname;first name;nom\n')
  t.same(fieldsOf(street), ['email', 'metadata.Adresse', 'metadata.Vorname', 'first_name', 'last_name'])
})

t.test('a file in another encoding is refused line by line until the request says which one', async (t) => {
  const app = await testDaemon(t)
  const id = await createAudience(app)
  const file = Buffer.concat([
    Buffer.from('email,first_name\na@b.test,'),
    Buffer.from([0xc8, 0xe2, 0xe0, 0xed]),
    Buffer.from('\nb@b.test,Bob\n'),
  ])
  const undecided = (await upload(app, `${id}/import/preview`, file)).json<object>()
  t.match(undecided, { encoding: 'utf-8', added: 1, refused: 1 })
  t.match(undecided, {
    refusals: [{ line: 2, field: 'first_name', reason: /save the file as CSV UTF-8, or state its encoding/ }],
  })
  const query = { encoding: 'windows-1251' }
  t.match((await upload(app, `${id}/import/preview`, file, query)).json(), {
    ...{ ...query, added: 2, refused: 0 },
    rows: [{ cells: ['a@b.test', 'Иван'] }, {}],
  })
  t.match((await upload(app, `${id}/import`, file, query)).json(), { ...query, added: 2 })
  t.match(await app.rows("select first_name from contacts where email = 'a@b.test'"), [{ first_name: 'Иван' }])
  t.equal((await upload(app, `${id}/import`, file, { encoding: 'ebcdic' })).status, 400)
  const japanese = Buffer.concat([Buffer.from('email,first_name\nc@b.test,'), Buffer.from([0x8e, 0x52, 0x93, 0x63])])
  t.match((await upload(app, `${id}/import/preview`, japanese, { encoding: 'shift_jis' })).json(), {
    rows: [{ cells: ['c@b.test', '山田'] }],
  })
})
