/** What slows down a domain: its own warm-up, and providers, without what they said about the mail of others. */
import t from 'tap'
import { DAY } from '../../../../src/base/platform/time-units.js'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { rowOf } from '../../../helpers/database/rows.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'

t.test('the warm-up of the domain and the limits of providers', async (t) => {
  const app = await testDaemon(t, { settings: { outbound: { domain_warm_up: true, warm_up_plan: [50, 100, 200] } } })
  const { read, commit } = app.daemon.database
  const build = rowOf(read)
  const day = Math.floor(app.now() / DAY)
  const warmUp = { subject: 'a.test', provider: 'google', step: 1, day, sent: 100, deferred: 2, ended: 0 }
  const pause = { pause_kind: 'rate', pause_reply: '421 4.7.28 secret', pause_since: 0, pause_probes: 0 }
  await commit([
    await build('warm_ups', { ...warmUp, workspace_id: app.workspaceId }),
    await build('warm_ups', { ...warmUp, workspace_id: 'ws_other' }),
    await build('provider_paces', {
      ...{ provider: 'google', source: '', reset: 0, updated_at: app.now(), rate: 2_500 },
      ...{ ...pause, pause_until: app.now() + DAY },
    }),
  ])
  await givePassword(app)
  const client = openBrowser(app)
  await client.signIn('owner@a.test')
  const { data } = (await app.rest('GET', '/v1/domains')).json<{ data: readonly { id: string; domain: string }[] }>()
  const id = data.find(({ domain }) => domain === 'a.test')?.id
  const answer = await client.ask('GET', `/domains/${id}/pace`)
  t.match(answer.json(), {
    warms_up: true,
    plan: [50, 100, 200],
    warm_up: [{ name: 'Google', ended: false, day: 2, cap: 100, sent: 100, deferred: 2, next_cap: 200 }],
    providers: [{ name: 'Google', state: 'paused', refusal: 'rate', rate: 2.5 }],
  })
  t.equal(answer.json<{ warm_up: readonly unknown[] }>().warm_up.length, 1, 'only of this workspace')
  t.notMatch(JSON.stringify(answer.json()), /secret/)
})
