/** A provider that asks for a slower pace, and one that blocks our address: what waits, what is shown, what goes on. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../helpers/http/browser-client.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const BLOCK = '554 5.7.1 blocked: your address [127.0.0.1] is listed for poor reputation'

t.test('a block of the address', async (t) => {
  const script: { mail?: string } = { mail: BLOCK }
  const sink = await openSink({ script })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const first = await app.submitAccepted({ to: ['x@b.test'] })
  await app.waitUntilAttempted(first)
  const provider = `mx.b.test:${sink.port}`

  await t.test('bounces nothing: mail waits without an attempt, and the reason is shown', async (t) => {
    const second = await app.submitAccepted({ to: ['y@b.test'] })
    await waitUntil(
      'it is postponed',
      async () =>
        (await app.rows<{ waits_for: string | null }>(`select waits_for from queue where recipient = 'y@b.test'`)).at(0)
          ?.waits_for,
    )
    t.match(await app.rows(`select attempts, waits_for from queue where recipient = 'y@b.test'`), [
      { attempts: 0, waits_for: `${provider} blocks our address: ${BLOCK}` },
    ])
    const { out } = await app.cli('explain', second)
    t.match(out, `: ${provider} blocks our address: ${BLOCK}; no attempt is counted`)
    t.match(out, /waits until \d{4}-/)
    t.match((await app.cli('queue', 'list', '--reason', 'provider-pause')).out, `waits: ${provider} blocks`)
    t.match((await app.cli('explain', first)).out, '554 5.7.1 blocked')
  })

  await t.test('operators see it, and nobody else', async (t) => {
    await givePassword(app)
    const browser = openBrowser(app)
    await browser.signIn('owner@a.test')
    t.equal((await browser.ask('GET', '/operator/shaping')).status, 403)
    await app.cli('workspace', 'set-operator', app.workspaceId)
    await waitUntil('it is on disk', async () => (await app.rows('select provider from provider_paces')).length > 0)
    const [listed] = (await browser.ask('GET', '/operator/shaping')).json<{ readonly data: readonly object[] }>().data
    t.match(listed, { provider, name: provider, state: 'paused', sessions: null })
  })

  await t.test('it is in the list of paces, and a reset ends it', async (t) => {
    const { data } = (await app.cli('shaping', '--json')).json() as { readonly data: readonly object[] }
    const [listed] = data
    t.match(listed, {
      provider,
      state: 'paused',
      source_address: null,
      reason: `${provider} blocks our address: ${BLOCK}`,
    })
    t.match((await app.cli('shaping')).out, BLOCK)
    t.match((await app.cli('shaping', 'reset', 'nobody.test')).err, 'no pace of nobody.test is kept')
    delete script.mail
    t.match((await app.cli('shaping', 'reset', provider)).out, `the pace of ${provider} is learned again`)
    await app.cli('queue', 'retry', '--domain', 'b.test')
    await waitUntil('both are delivered', () => sink.messages.length === 2)
    t.match((await app.cli('shaping')).out, 'no provider has refused anything for its pace')
  })
})
