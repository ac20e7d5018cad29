/** Suppression lists through Mailgun's own client library. */
import t from 'tap'
import { failsWith, openMailgun } from '../../../helpers/http/mailgun-client.js'

const { app, host, client, connect } = await openMailgun(t)
const { suppressions } = client

interface Listed {
  readonly items: readonly { readonly address: string }[]
  readonly pages: Readonly<Record<'next' | 'previous' | 'first' | 'last', { readonly page: string }>>
}

async function list(type: 'bounces' | 'complaints' | 'unsubscribes', query: object = {}): Promise<Listed> {
  return (await suppressions.list('a.test', type, query as never)) as unknown as Listed
}

t.test('addresses are added, shown, listed and removed', async (t) => {
  const one = await suppressions.create('a.test', 'bounces', {
    address: 'Bob@b.test',
    code: 550,
    error: '551 gone',
  } as never)
  t.match(one, { status: 200, message: 'Address has been added to the bounces table' })
  const many = await suppressions.create('a.test', 'complaints', [
    { address: 'carol@b.test' },
    { address: 'bob@b.test' },
  ] as never)
  t.match(many, { message: '2 addresses have been added to the complaints table' })
  await suppressions.create('a.test', 'unsubscribes', { address: 'dan@b.test', tag: '*' } as never)
  t.match(await suppressions.get('a.test', 'bounces', 'bob@b.test'), {
    ...{ type: 'bounces', address: 'bob@b.test', code: 551, error: '551 gone' },
    created_at: Date,
  })
  t.match(await suppressions.get('a.test', 'unsubscribes', 'dan@b.test'), { address: 'dan@b.test', tags: ['*'] })
  t.match(await list('bounces'), { items: [{ address: 'bob@b.test' }] })
  t.match(
    (await list('complaints')).items.map(({ address }) => address),
    ['carol@b.test'],
    'the first reason stays',
  )
  t.match(await app.rows('select reason, metadata from suppressions where email = ?', 'bob@b.test'), [
    { reason: 'hard_bounce' },
  ])
  t.match(await suppressions.destroy('a.test', 'bounces', 'bob@b.test'), {
    ...{ status: 200, message: 'Bounced address has been removed', address: 'bob@b.test' },
  })
  t.equal((await app.rows("select id from audit_log where action = 'suppression.deleted'")).length, 1)
  const gone = { status: 404, details: 'Address not found in bounces table' }
  await failsWith(t, suppressions.destroy('a.test', 'bounces', 'bob@b.test'), gone)
  await failsWith(t, suppressions.get('a.test', 'bounces', 'carol@b.test'), gone, 'it is in another list')
})

t.test('pages', async (t) => {
  const addresses = Array.from({ length: 250 }, (_, at) => `u${String(at).padStart(3, '0')}@b.test`)
  await suppressions.create('a.test', 'complaints', addresses.map((address) => ({ address })) as never)
  const found: string[] = []
  let page = await list('complaints', { limit: 100, term: 'u' })
  const first = page
  while (page.items.length > 0) {
    found.push(...page.items.map(({ address }) => address))
    page = await list('complaints', { page: page.pages.next.page })
  }
  t.same(found, addresses)
  const back: string[] = []
  for (page = await list('complaints', { page: page.pages.last.page }); page.items.length > 0; ) {
    back.unshift(...page.items.map(({ address }) => address))
    page = await list('complaints', { page: page.pages.previous.page })
  }
  t.same(back, addresses, 'the same from the last page back')
  t.same(
    (await list('complaints', { page: page.pages.next.page })).items,
    first.items,
    'after the page before the first',
  )
  t.same((await list('complaints', { page: page.pages.first.page })).items, first.items)
})

t.test('a form adds an address too', async (t) => {
  const body = new URLSearchParams({ address: 'eve@b.test', code: '550' })
  const headers = { authorization: `Basic ${Buffer.from(`api:${app.key}`).toString('base64')}` }
  const answer = await fetch(`http://${host}/v3/a.test/bounces`, { method: 'POST', body, headers })
  t.match([answer.status, await answer.json()], [200, { address: 'eve@b.test' }])
})

t.test('wrong requests', async (t) => {
  await failsWith(t, suppressions.create('a.test', 'bounces', { address: 'nobody' } as never), {
    status: 400,
    details: /address/,
  })
  await failsWith(t, suppressions.list('c.test', 'bounces'), { status: 404, details: 'Domain not found: c.test' })
  await failsWith(t, suppressions.list('a.test', 'bounces', { limit: 1_001 }), { status: 400, details: /^limit: / })
  const many = Array.from({ length: 1_001 }, (_, at) => ({ address: `u${at}@b.test` }))
  await failsWith(t, suppressions.create('a.test', 'bounces', many as never), {
    status: 400,
    details: /at most 1000 addresses/,
  })
  const other = connect(app.otherKey)
  await failsWith(t, other.suppressions.get('a.test', 'bounces', 'eve@b.test'), {
    status: 404,
    details: 'Domain not found: a.test',
  })
})
