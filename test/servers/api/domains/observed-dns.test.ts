/** The look-up of a domain's records for its page: in its workspace alone, and so often a minute. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'

t.test('it shows what is found, and is limited', async (t) => {
  const app = await testDaemon(t, { zone: { 'c.test': { mx: [[10, 'old.test']] } } })
  await givePassword(app)
  const client = openBrowser(app)
  await client.signIn('owner@a.test')
  const { id } = (await app.rest('POST', '/v1/domains', { body: { domain: 'c.test' } })).json<{ id: string }>()
  const path = `/domains/${id}/dns`
  const shown = await client.ask('GET', path)
  t.match(shown.json(), {
    nameservers: [],
    records: [{}, {}, {}, { type: 'MX', found: ['10 old.test'], state: 'other' }, { type: 'TXT', state: 'missing' }],
  })
  t.equal((await client.ask('GET', '/domains/0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10/dns')).status, 404)
  for (let at = 0; at < 59; at += 1) await client.ask('GET', path)
  t.equal((await client.ask('GET', path)).status, 429)
})
