/** The tracking of one email: its links in the database, what restores its HTML, and what is too large. */
import t from 'tap'
import { parseDomainName } from '../../../src/base/mail/address.js'
import { findTrackedHtml } from '../../../src/outbound/tracking/links.js'
import { htmlChange } from '../../../src/outbound/tracking/restore-html.js'
import { EmailTracker, type EmailTracking, type TrackedEmail } from '../../../src/outbound/tracking/track-email.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const email: TrackedEmail = {
  workspaceId: 'ws_1',
  emailId: '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee',
  domain: parseDomainName('a.test'),
  opens: true,
  clicks: true,
  now: 1_000,
}
const publicUrl = 'https://mail.test/it&apos;s'
const tracker = new EmailTracker({ trackingHost: { baseFor: () => publicUrl }, publicUrl })

function track(changes: Partial<TrackedEmail> = {}): EmailTracking {
  const tracking = tracker.begin({ ...email, ...changes })
  if (tracking === null) throw new Error('nothing is tracked')
  return tracking
}

t.test('one link for each URL, in all bodies, and the way back by the stored edits', async (t) => {
  const { database } = await temporaryDatabase(t)
  const { read, commit } = database
  const tracking = track()
  const first = '<a href="https://b.test/?x&amp;y">1</a><a href=https://c.test>2</a></body>'
  const second = '<a href="https://b.test/?x&y">3</a>'
  const bodies = [tracking.trackHtml(first), tracking.trackHtml(second, false)]
  t.equal(tracking.skipped(), null)
  await commit(tracking.collectWrites())
  const rows = await read<{ id: string; url: string; clicks: number; created_at: number }>(
    "select id, url, clicks, created_at from links where workspace_id = 'ws_1' and email_id = ? order by url",
    [email.emailId],
  )
  t.match(rows, [
    { url: 'https://b.test/?x&y', clicks: 0, created_at: 1_000 },
    { url: 'https://c.test', clicks: 0, created_at: 1_000 },
  ])
  t.match(bodies[0], `href="https://mail.test/it&amp;apos;s/v1/track/click/${rows[0]?.id}"`)
  t.match(bodies[1], `/v1/track/click/${rows[0]?.id}`)
  t.match(bodies[0], `/v1/track/open/${email.emailId}`)
  t.notMatch(bodies[1], '/v1/track/open/')
  const tracked = await findTrackedHtml(read, email)
  if (tracked === null) throw new Error('no row of edits')
  t.equal(htmlChange.change(bodies.join('<br>'), tracked), `${first}<br>${second}`)
  t.equal(await findTrackedHtml(read, { ...email, workspaceId: 'ws_2' }), null, 'not for another workspace')
})

t.test('opens or clicks alone', async (t) => {
  const html = '<a href="https://b.test/">1</a>'
  const opens = track({ clicks: false })
  t.match(opens.trackHtml(html), new RegExp(`^${html}<img `))
  t.equal(opens.collectWrites().length, 1, 'the edits alone')
  const clicks = track({ opens: false })
  t.notMatch(clicks.trackHtml(html), '<img')
  t.equal(clicks.collectWrites().length, 2)
  const none = track({ opens: false })
  t.equal(none.trackHtml('<a href="mailto:x@b.test">'), '<a href="mailto:x@b.test">')
  t.same(none.collectWrites(), [], 'nothing was changed')
  t.equal(tracker.begin({ ...email, opens: false, clicks: false }), null)
})

t.test('what would take too long stays', async (t) => {
  const table: readonly [string, boolean][] = [
    ['x'.repeat(500_000), true],
    ['x'.repeat(500_001), false],
    [`<img src="data:${'x'.repeat(490_000)}">`, true],
    ['<b>'.repeat(10_000), true],
    ['<b>'.repeat(10_001), false],
    ['<a href="https://b.test/">'.repeat(1_000), true],
    ['<a href="https://b.test/">'.repeat(1_001), false],
  ]
  for (const [html, fits] of table) {
    const tracking = track()
    t.equal(tracking.trackHtml(html) !== html, fits)
    t.equal(tracking.skipped(), fits ? null : 'too-large')
  }
})

t.test('the limits count all HTML of an email', async (t) => {
  const table: readonly string[] = ['x'.repeat(251_000), '<b>'.repeat(5_001), '<a href="https://b.test/">'.repeat(501)]
  for (const half of table) {
    const tracking = track()
    t.not(tracking.trackHtml(half), half)
    t.equal(tracking.skipped(), null)
    t.equal(tracking.trackHtml(half), half)
    t.equal(tracking.skipped(), 'too-large')
    t.equal(tracking.trackHtml('<p>'), '<p>', 'and so is what follows')
  }
})
