/** What pages of audiences ask under /ui/api: contacts by parts of address and name and by state, and numbers. */
import fc from 'fast-check'
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'
import { fileForm } from '../../../helpers/http/multipart.js'

interface Listed {
  readonly data: readonly { readonly id: string; readonly email: string; readonly audience_id: string | null }[]
  readonly next_cursor: string | null
}

const app = await testDaemon(t)
await givePassword(app)
const browser = openBrowser(app)
await browser.signIn('owner@a.test')

async function createAudience(name: string, key = app.key): Promise<string> {
  return (await app.rest('POST', '/v1/audiences', { key, body: { name } })).json<{ id: string }>().id
}

async function importContacts(audienceId: string, lines: readonly string[]): Promise<void> {
  const form = fileForm(['email,subscribed', ...lines, ''].join('\n'))
  const { status, text } = await app.rest('POST', `/v1/audiences/${audienceId}/import`, form)
  if (status !== 200) throw new Error(text)
}

type Query = Readonly<Record<string, string>>

/** The addresses of all pages. */
async function listAll(query: Query): Promise<readonly string[]> {
  const found: string[] = []
  let cursor: string | null = null
  do {
    const all: Query = cursor === null ? query : { ...query, cursor }
    const page: Listed = (await browser.ask('GET', `/contacts?${new URLSearchParams(all)}`)).json<Listed>()
    found.push(...page.data.map(({ email }) => email))
    cursor = page.next_cursor
    // The clock of the test stands still, and a user has a limit of requests a second.
    app.advance(50)
  } while (cursor !== null)
  return found
}

const [first, second] = [await createAudience('first'), await createAudience('second')]
await importContacts(first, ['ann@b.test,true', 'Anna@b.test,false', 'bob@b.test,true', 'änne@b.test,true'])
await importContacts(second, ['ann@b.test,true', 'andy@b.test,true'])
await app.rest('POST', '/v1/contacts', { body: { email: 'an@b.test' } })

t.test('contacts are found by the beginning of their address', async (t) => {
  const rows: readonly (readonly [query: Query, found: readonly string[]])[] = [
    [{ search: 'ann' }, ['ann@b.test', 'ann@b.test', 'Anna@b.test']],
    [{ search: ' ANN ' }, ['ann@b.test', 'ann@b.test', 'Anna@b.test']],
    [{ search: 'an' }, ['an@b.test', 'andy@b.test', 'ann@b.test', 'ann@b.test', 'Anna@b.test']],
    [{ search: 'an@b.test' }, ['an@b.test']],
    [{ search: 'ann', audience_id: second }, ['ann@b.test']],
    [{ search: 'ä' }, ['änne@b.test']],
    [{ search: '%' }, []],
    [{ search: 'zz' }, []],
  ]
  for (const [query, found] of rows) {
    for (const limit of ['1', '2', '50']) t.same(await listAll({ ...query, limit }), found, JSON.stringify(query))
  }
})

t.test('any part of an address or a name is found, those that begin with it first, and each once', async (t) => {
  const named = { email: 'carl@b.test', first_name: 'Mary Ann', last_name: 'Öhm' }
  t.equal((await app.rest('POST', '/v1/contacts', { body: named })).status, 201)
  const rows: readonly (readonly [search: string, first: readonly string[], others: readonly string[]])[] = [
    ['nn', [], ['Anna@b.test', 'ann@b.test', 'ann@b.test', 'carl@b.test', 'änne@b.test']],
    ['ann', ['ann@b.test', 'ann@b.test', 'Anna@b.test'], ['carl@b.test']],
    ['ann Öhm', [], ['carl@b.test']],
    [
      'B.TEST',
      [],
      [
        ...new Array<string>(2).fill('ann@b.test'),
        'Anna@b.test',
        'an@b.test',
        'andy@b.test',
        'bob@b.test',
        'carl@b.test',
        'änne@b.test',
      ],
    ],
  ]
  for (const [search, first, others] of rows) {
    for (const limit of ['1', '2', '3', '50']) {
      const found = await listAll({ search, limit })
      t.same(found.slice(0, first.length), first, search)
      t.same(found.slice(first.length).toSorted(), others.toSorted(), `${search} by ${limit}`)
    }
  }
})

t.test('contacts are found by their state, and a suppressed address says why', async (t) => {
  const suppressed = { email: 'ANDY@b.test', reason: 'manual' }
  t.equal((await app.rest('POST', '/v1/suppressions', { body: suppressed })).status, 201)
  t.same(await listAll({ state: 'unsubscribed' }), ['Anna@b.test'])
  t.same(await listAll({ state: 'unsubscribed', audience_id: second }), [])
  t.same(await listAll({ state: 'suppressed' }), ['andy@b.test'])
  t.same(await listAll({ state: 'suppressed', search: 'nd', audience_id: second }), ['andy@b.test'])
  t.same((await listAll({ state: 'subscribed', search: 'ann', audience_id: first })).toSorted(), ['ann@b.test'])
  const page = await browser.ask('GET', `/contacts?${new URLSearchParams({ audience_id: second, sort: 'address' })}`)
  t.match(page.json(), {
    data: [
      { email: 'andy@b.test', suppressed: 'manual' },
      { email: 'ann@b.test', suppressed: null },
    ],
  })
})

t.test('the order of addresses has every contact once', async (t) => {
  const found = await listAll({ sort: 'address', limit: '3' })
  t.same(
    found.map((address) => address.toLowerCase()),
    found.map((address) => address.toLowerCase()).toSorted(),
  )
  t.equal(found.length, 8)
  const refused = await browser.ask('GET', '/contacts?sort=address&search=a')
  t.match([refused.status, refused.json()], [400, { error: { details: { errors: [{ field: 'sort' }] } } }])
})

t.test('without a search the newest come first, page by page', async (t) => {
  const all = await listAll({ limit: '2' })
  t.equal(all.length, 8)
  t.equal(all[0], 'carl@b.test')
  t.same([...(await listAll({ limit: '3', audience_id: second }))].sort(), ['andy@b.test', 'ann@b.test'])
})

t.test('a search finds what comparing all addresses finds, however many there are', async () => {
  const [large, other] = [await createAudience('large'), await createAudience('other')]
  const addresses = Array.from({ length: 900 }, (_, n) => `x${(n * 7919) % 900}@b.test`)
  await importContacts(other, addresses)
  await importContacts(
    large,
    addresses.filter((_, n) => n % 3 === 0),
  )
  await importContacts(await createAudience('third'), addresses)
  const expected = addresses.filter((_, n) => n % 3 === 0).sort()
  await fc.assert(
    fc.asyncProperty(fc.stringMatching(/^x\d{0,2}$/), fc.integer({ min: 20, max: 100 }), async (search, limit) => {
      const found = await listAll({ search, audience_id: large, limit: String(limit) })
      const wanted = expected.filter((address) => address.startsWith(search))
      if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new Error(`${search}: ${found.length}`)
    }),
    { numRuns: 15 },
  )
})

t.test('wrong values are refused by their field, and forged cursors change only where a page begins', async (t) => {
  const fieldOf = async (query: Query): Promise<unknown> => {
    const answer = await browser.ask('GET', `/contacts?${new URLSearchParams(query)}`)
    return [answer.status, answer.json<{ error: { details: { errors?: { field: string }[] } } }>().error.details]
  }
  t.match(await fieldOf({ search: 'a\nb' }), [400, { errors: [{ field: 'search' }] }])
  t.match(await fieldOf({ search: 'a'.repeat(321) }), [400, { errors: [{ field: 'search' }] }])
  t.match(await fieldOf({ cursor: 'x' }), [400, { errors: [{ field: 'cursor' }] }])
  for (const place of ['%zz ', '%ff%fe x', 'ann%40b.test ']) {
    const cursor = Buffer.from(place, 'latin1').toString('base64url')
    const answer = await browser.ask('GET', `/contacts?${new URLSearchParams({ search: 'ann', cursor })}`)
    t.ok(answer.status === 200 || answer.status === 400, `${place}: ${answer.status}`)
  }
})

t.test('the numbers of an audience', async (t) => {
  const numbersOf = async (id: string): Promise<unknown> =>
    (await browser.ask('GET', `/audiences/${id}/numbers`)).json()
  t.same(await numbersOf(first), { contacts: 4, subscribed: 3 })
  t.same(await numbersOf(await createAudience('empty')), { contacts: 0, subscribed: 0 })
})

t.test('contacts of another workspace are in no answer', async (t) => {
  const body = { email: 'annette@other.test' }
  t.equal((await app.rest('POST', '/v1/contacts', { key: app.otherKey, body })).status, 201)
  const theirs = await createAudience('theirs', app.otherKey)
  t.notOk((await listAll({ search: 'ann' })).includes('annette@other.test'))
  const newest = await browser.ask('GET', '/contacts?limit=1')
  t.notMatch(newest.text, /annette/)
  t.equal((await browser.ask('GET', `/audiences/${theirs}/numbers`)).status, 404)
  t.equal((await browser.ask('GET', `/contacts?audience_id=${theirs}`)).status, 404)
  const foreign = await browser.ask('GET', '/contacts', { headers: { 'x-workspace-id': app.otherWorkspaceId } })
  t.equal(foreign.status, 403)
})

t.test('these routes are not under /v1, and need a session', async (t) => {
  t.equal((await app.rest('GET', `/v1/audiences/${first}/numbers`)).status, 404)
  t.equal((await openBrowser(app).ask('GET', '/contacts')).status, 401)
  const withKey = await app.rest('GET', '/ui/api/contacts')
  t.equal(withKey.status, 401, 'a key is no session')
})
