/** Emails for the pages: the list, the story and the acts, with a session, and for nobody else's emails. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'
import { openSink } from '../../../helpers/smtp/scripted-sink.js'

let later = true
const sink = await openSink({ script: { rcpt: () => (later ? '450 4.2.0 greylisted' : '250 2.1.5 ok') } })
t.teardown(() => sink.close())
const app = await testDaemon(t, { routes: { 'b.test': sink } })
await givePassword(app)
const browser = openBrowser(app)
t.equal((await browser.signIn('owner@a.test')).status, 201)

interface Story {
  readonly recipients: readonly { readonly id: string }[]
}

t.test('a member reads the story, holds, releases and retries', async (t) => {
  const id = await app.submitAccepted({ to: ['bob@b.test'] })
  await app.waitUntilAttempted(id)
  const story = await app.rest('GET', `/v1/emails/${id}/story`)
  t.match(story.json(), {
    id,
    status: 'queued',
    recipients: [
      {
        email: 'bob@b.test',
        can: ['hold', 'retry'],
        held_by: null,
        steps: [
          { kind: 'accepted' },
          {
            kind: 'attempt',
            title: 'Attempt 1: deferred',
            sentences: [/\(greylisting\)\.$/, 'Posthorn tries again later.'],
            attempt: { mx: 'mx.b.test', outcome: 'deferred', reason: 'greylisted' },
          },
        ],
        next: { before: 'next attempt ', at: /Z$/, after: '' },
      },
    ],
  })
  t.notMatch(story.text, /127\.0\.0\./, 'connected addresses say more about our network than about the email')
  const body = { recipient_ids: story.json<Story>().recipients.map((one) => one.id) }
  t.match((await browser.ask('POST', `/emails/${id}/hold`, { body })).json(), { changed: body.recipient_ids })
  const again = await browser.ask('POST', `/emails/${id}/hold`, { body })
  t.match([again.status, again.json()], [409, { error: { code: 'conflict', message: /^nothing to hold: / } }])
  t.match((await app.rest('GET', `/v1/emails/${id}/story`)).json(), {
    recipients: [{ can: ['release', 'retry'], held_by: 'workspace', next: { before: 'held by the workspace' } }],
  })
  t.equal((await browser.ask('POST', `/emails/${id}/release`, { body })).status, 200)
  later = false
  t.equal((await browser.ask('POST', `/emails/${id}/retry`, { body })).status, 200)
  t.equal((await app.waitUntilSettled(id)).status, 'delivered', 'long before its time')
})

t.test("another workspace's emails are neither found nor changed", async (t) => {
  later = true
  const id = await app.submitAccepted({ key: app.otherKey, from: 'app@other.test', to: ['bob@b.test'] })
  await app.waitUntilAttempted(id)
  const [entry] = await app.rows<{ id: string }>('select id from queue where email_id = ?', id)
  const body = { recipient_ids: [entry?.id] }
  t.equal((await app.rest('GET', `/v1/emails/${id}/story`)).status, 404)
  for (const act of ['hold', 'release', 'retry']) {
    t.equal((await browser.ask('POST', `/emails/${id}/${act}`, { body })).status, 404, act)
  }
  const own = await app.submitAccepted({ to: ['bob@b.test'] })
  t.equal((await browser.ask('POST', `/emails/${own}/hold`, { body })).status, 409, 'under the id of an own email')
  t.match(await app.rows('select held from queue where email_id = ?', id), [{ held: 0 }])
  const listed = await browser.ask('GET', '/emails?recipient=bob@b.test')
  t.notMatch(listed.text, id)
  t.match(listed.json(), { data: [{ id: own }, {}], has_more: false, next_cursor: null, searched_to: null })
  const foreign = await browser.ask('GET', '/emails', { headers: { 'x-workspace-id': app.otherWorkspaceId } })
  t.equal(foreign.status, 403)
})

t.test('pages have a cursor, and wrong filters are refused by name', async (t) => {
  const first = await browser.ask('GET', '/emails?limit=1')
  const { next_cursor: cursor } = first.json<{ readonly next_cursor: string }>()
  t.match(first.json(), { data: [{ recipients: ['bob@b.test'] }], has_more: true, searched_to: /Z$/ })
  const second = await browser.ask('GET', `/emails?limit=1&cursor=${cursor}`)
  t.match(second.json(), { data: [{ status: 'delivered' }], has_more: false, next_cursor: null })
  const cases: readonly (readonly [string, string])[] = [
    ['status=lost', 'status'],
    ['domain=..', 'domain'],
    ['from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'to'],
    ['from=yesterday', 'from'],
    ['tag_value=x', 'tag_value'],
    [`subject=${'x'.repeat(321)}`, 'subject'],
    ['recipient=', 'recipient'],
    ['cursor=x', 'cursor'],
  ]
  for (const [query, field] of cases) {
    const answer = await browser.ask('GET', `/emails?${query}`)
    t.match([answer.status, answer.json()], [400, { error: { details: { errors: [{ field }] } } }], query)
  }
  t.equal((await browser.ask('GET', '/emails?broadcast_id=absent')).status, 404)
  const signedOut = openBrowser(app)
  t.equal((await signedOut.ask('GET', '/emails')).status, 401)
  t.same(app.errors, [])
})
