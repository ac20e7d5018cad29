/** The links of a broadcast that were clicked, as its page asks for them under /ui/api. */
import t from 'tap'
import { SHORT_CLICK_URL } from '../../../../src/base/storage/schema/events.js'
import { listClickedLinks } from '../../../../src/outbound/broadcasts/broadcast-clicks.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { sentBroadcast } from '../../../helpers/database/broadcast.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'
import { waitUntil } from '../../../helpers/wait-until.js'

const BROWSER = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
/** The second is longer than a key of the database may be. */
const [SPRING, OFFERS] = ['https://shop.example/spring', `https://shop.example/offers?m=${'5'.repeat(5_000)}`]

async function storeBroadcast(app: TestDaemon, workspaceId: string, to: readonly string[]) {
  const { read, commit } = app.daemon.database
  const at = app.now() - 120_000
  const sent = await sentBroadcast(read, {
    workspaceId,
    to: [...to],
    at,
    links: [SPRING, OFFERS],
    deliveredAt: at + 1_000,
  })
  await commit(sent.writes)
  return { id: sent.id, emailIds: sent.messages.map(({ emailId }) => emailId) }
}

t.test('the first click of each recipient counts, those of programs do not', async (t) => {
  const app = await testDaemon(t)
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn('owner@a.test')
  const own = await storeBroadcast(app, app.workspaceId, ['a@b.test', 'b@b.test', 'c@b.test', 'd@b.test'])
  const theirs = await storeBroadcast(app, app.otherWorkspaceId, ['e@b.test'])
  const click = async (emailId: string | undefined, url: string, agent = BROWSER): Promise<void> => {
    const path = `/v1/track/click/${emailId}?${new URLSearchParams({ url })}`
    const { status } = await app.rest('GET', path, { key: null, headers: { 'user-agent': agent } })
    if (status !== 302) throw new Error(String(status))
  }
  const [a, b, c, d] = own.emailIds
  await click(a, OFFERS)
  await click(a, SPRING)
  await click(b, SPRING)
  await click(c, SPRING)
  await click(d, OFFERS, 'Slackbot-LinkExpanding 1.0')
  await click(theirs.emailIds[0], SPRING)
  const clicks = (): Promise<unknown[]> => app.rows(`select 1 from events where type = 'email.clicked'`)
  await waitUntil('the clicks are recorded', async () => (await clicks()).length === 5)

  const ask = (id: string) => browser.ask('GET', `/broadcasts/${id}/links`)
  t.same((await ask(own.id)).json(), {
    data: [
      { url: SPRING, clicks: 2 },
      { url: OFFERS, clicks: 1 },
    ],
  })
  t.equal((await ask(theirs.id)).status, 404)
  const { read } = app.daemon.database
  t.same(await listClickedLinks(read, { workspaceId: app.workspaceId, id: theirs.id }, 10), [])
  t.equal((await listClickedLinks(read, { workspaceId: app.workspaceId, id: own.id }, 1)).length, 1)
})

t.test('the clicks of one broadcast are read from an index alone', async (t) => {
  const app = await testDaemon(t)
  const [plan] = await app.rows<{ detail: string }>(
    `explain query plan select seq, json_extract(data, '$.machine'), ${SHORT_CLICK_URL} from events
      where workspace_id = 'x' and json_extract(data, '$.broadcast_id') = 'y' and type = 'email.clicked'
      and email_id >= 'bc-' and email_id < 'bc.' and seq > 5 order by seq limit 1000`,
  )
  t.match(plan?.detail, /^SEARCH events USING (?:COVERING )?INDEX clicks_of_broadcasts \(.*seq>\?\)$/)
})
