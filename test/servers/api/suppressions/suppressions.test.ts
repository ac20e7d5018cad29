/** The suppression list over REST: added to, paged through under concurrent changes, removed from. */
import fc from 'fast-check'
import t from 'tap'
import type { ErrorBody } from '../../../../src/servers/api/http/error-answer.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { schemaCheck } from '../../../helpers/http/answer-schemas.js'
import type { RestAnswer } from '../../../helpers/http/rest-client.js'

interface Suppression {
  readonly id: string
  readonly email: string
  readonly reason: string
  readonly source_email_id: string | null
  readonly metadata: Readonly<Record<string, unknown>>
  readonly created_at: string
}

interface Page {
  readonly data: readonly Suppression[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

const PATH = '/v1/suppressions'
const error = (answer: RestAnswer): ErrorBody['error'] => answer.json<ErrorBody>().error
const add = (app: TestDaemon, email: string, more: object = {}): Promise<RestAnswer> =>
  app.rest('POST', PATH, { body: { email, ...more } })

async function listPage(app: TestDaemon, query = ''): Promise<Page> {
  const answer = await app.rest('GET', `${PATH}?${query}`)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json<Page>()
}

t.test('an address is added once, read, and sent to again after removal', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  const first = await add(app, 'Bob+News@B.test')
  t.equal(first.status, 201)
  t.same(check('POST /suppressions', first), [])
  t.match(first.json(), { email: 'bob+news@b.test', reason: 'manual' })
  const { id } = first.json<Suppression>()
  app.advance(60_000)
  const again = await add(app, 'bob+news@b.test', { reason: 'unsubscribe' })
  t.same([again.status, again.json()], [200, first.json()], 'the first reason stays')

  const shown = await app.rest('GET', `${PATH}/${id}`)
  t.same(check('GET /suppressions/:id', shown), [])
  t.match(shown.json(), { id, source_email_id: null, metadata: {} })
  t.match(await app.submit({ to: ['bob+news@b.test'] }), /^554 5\.7\.1/)

  const removed = await app.rest('DELETE', `${PATH}/${id}`)
  t.same([removed.status, removed.text], [204, ''])
  t.same(check('DELETE /suppressions/:id', removed), [])
  for (const method of ['GET', 'DELETE']) {
    t.match(error(await app.rest(method, `${PATH}/${id}`)), { code: 'not_found', details: { id } })
  }
  t.match(await app.submit({ to: ['bob+news@b.test'] }), /^250/)
  const log = (await app.rest('GET', '/v1/audit-log')).json<{ data: readonly object[] }>().data
  t.match(log, [{ action: 'suppression.deleted', target: id, details: { email: 'bob+news@b.test', reason: 'manual' } }])
  t.equal(log.length, 1)
})

t.test('an address is removed by its name, however it is written', async (t) => {
  const app = await testDaemon(t)
  const names: readonly (readonly [kept: string, asked: string])[] = [
    ['bob+news@b.test', 'bob%2Bnews%40b.test'],
    ['bob+news@b.test', 'bob+news@b.test'],
    ['bob+news@b.test', 'BOB%2BNEWS%40B.TEST'],
    ['"odd local"@b.test', '%22odd%20local%22@b.test'],
    ['"odd local"@b.test', '%22odd+local%22@b.test'],
    ['jürgen@xn--mnchen-3ya.test', 'J%C3%BCrgen@m%C3%BCnchen.test'],
  ]
  for (const [kept, asked] of names) {
    const { id } = (await add(app, kept)).json<Suppression>()
    const answer = await app.rest('DELETE', `${PATH}?email=${asked}`)
    t.equal(answer.status, 204, `${asked}: ${answer.text}`)
    t.equal((await app.rest('GET', `${PATH}/${id}`)).status, 404)
  }
  t.match(error(await app.rest('DELETE', `${PATH}?email=bob%2Bnews@b.test`)), {
    code: 'not_found',
    details: { id: 'bob+news@b.test' },
  })
  for (const query of ['', '?email=', '?email=nobody', '?email=a@b.test&email=c@b.test', '?email=a@b.test&id=1']) {
    t.equal((await app.rest('DELETE', `${PATH}${query}`)).status, 400, query)
  }
})

t.test('exactly one of many concurrent requests adds an address, and exactly one removes it', async (t) => {
  const app = await testDaemon(t)
  const attempts = Array.from({ length: 20 })
  const added = await Promise.all(attempts.map((_, n) => add(app, n % 2 === 0 ? 'x@b.test' : 'X@B.test')))
  t.same(added.map(({ status }) => status).sort(), [...attempts.slice(1).map(() => 200), 201])
  t.equal(new Set(added.map(({ text }) => text)).size, 1, 'all hear of the same record')
  const removed = await Promise.all(
    attempts.map((_, n) =>
      app.rest('DELETE', n % 2 === 0 ? `${PATH}?email=x@b.test` : `${PATH}/${added[0]?.json<Suppression>().id}`),
    ),
  )
  t.same(removed.map(({ status }) => status).sort(), [204, ...attempts.slice(1).map(() => 404)])
  const turns = await Promise.all(
    attempts.map((_, n) => (n % 2 === 0 ? add(app, 'y@b.test') : app.rest('DELETE', `${PATH}?email=y@b.test`))),
  )
  t.ok(turns.every(({ status }) => [200, 201, 204, 404].includes(status)))
  t.same(app.errors, [])
})

t.test('pages: bounds, order, reasons, invalid cursors', async (t) => {
  const app = await testDaemon(t)
  const check = schemaCheck(app.daemon.routes)
  for (let n = 0; n < 60; n += 1) {
    await add(app, `n${n}@b.test`, n % 3 === 0 ? { reason: 'unsubscribe' } : {})
    app.advance(1)
  }
  const first = await app.rest('GET', PATH)
  t.same(check('GET /suppressions', first), [])
  const page = first.json<Page>()
  t.equal(page.data.length, 50)
  t.match(page, { has_more: true, next_cursor: /^[\w-]+$/, data: [{ email: 'n59@b.test' }, { email: 'n58@b.test' }] })
  const rest = await listPage(app, `cursor=${page.next_cursor}`)
  t.match(rest, { has_more: false, next_cursor: null, data: [{ email: 'n9@b.test' }] })
  t.equal(rest.data.length, 10)
  t.match(await listPage(app, 'limit=60'), { has_more: false, next_cursor: null }, 'a full last page is the last')
  const left = await listPage(app, 'reason=unsubscribe&limit=15')
  t.match(left.data, [{ email: 'n57@b.test' }, { email: 'n54@b.test' }])
  t.equal(left.data.length, 15)
  t.equal((await listPage(app, `reason=unsubscribe&cursor=${left.next_cursor}`)).data.length, 5)
  t.same((await listPage(app, 'reason=spam_complaint')).data, [])

  const { id } = (await add(app, 'last@b.test')).json<Suppression>()
  const cursors = ['', 'x', '%21%21', id, `${page.next_cursor}A`, `${page.next_cursor}%3D`]
  for (const cursor of cursors) {
    const answer = await app.rest('GET', `${PATH}?cursor=${cursor}`)
    t.match(error(answer), { code: 'validation_error', details: { errors: [{ field: 'cursor' }] } }, cursor)
  }
  const theirs = await app.rest('GET', `${PATH}?cursor=${page.next_cursor}`, { key: app.otherKey })
  t.same(
    theirs.json(),
    { object: 'list', data: [], has_more: false, next_cursor: null },
    'a place in another list is only a place',
  )
  for (const limit of ['-1', 'ten', '1.5', '', '1e1', '0x10', '1&limit=2']) {
    t.equal(error(await app.rest('GET', `${PATH}?limit=${limit}`)).code, 'validation_error', limit)
  }
  t.equal((await listPage(app, 'limit=100')).data.length, 61)
})

t.test('paging returns each row once under concurrent changes', async (t) => {
  const app = await testDaemon(t)
  let serial = 0
  const more = async (count: number): Promise<string[]> => {
    const names = Array.from({ length: count }, () => `p${serial++}@b.test`)
    await Promise.all(names.map((name) => add(app, name)))
    return names
  }
  const step = fc.record({ limit: fc.integer({ min: 1, max: 7 }), adds: fc.nat(3), removes: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), fc.array(step, { minLength: 1 }), async (count, steps) => {
      await more(count)
      const before = (await listPage(app, 'limit=100')).data.map(({ email }) => email)
      const removed = new Set<string>()
      const met: string[] = []
      let cursor: string | null = ''
      for (let n = 0; cursor !== null; n += 1) {
        const { limit, adds, removes } = steps[n % steps.length] ?? { limit: 1, adds: 0, removes: false }
        const answer: [Page, unknown] = await Promise.all([
          listPage(app, `limit=${limit}${cursor === '' ? '' : `&cursor=${cursor}`}`),
          more(adds),
        ])
        met.push(...answer[0].data.map(({ email }) => email))
        cursor = answer[0].next_cursor
        const last = removes ? met.at(-1) : undefined
        if (last === undefined || removed.has(last)) continue
        removed.add(last)
        await app.rest('DELETE', `${PATH}?email=${encodeURIComponent(last)}`)
      }
      const old = met.filter((email) => before.includes(email))
      if (JSON.stringify(old) !== JSON.stringify(before)) throw new Error(`${old.join(' ')} for ${before.join(' ')}`)
      if (new Set(met).size !== met.length) throw new Error('a row was met twice')
      await app.daemon.database.commit([{ sql: 'delete from suppressions', parameters: [] }])
    }),
    { numRuns: 15 },
  )
  t.same(app.errors, [])
})
