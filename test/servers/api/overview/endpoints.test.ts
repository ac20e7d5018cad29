/** Where programs send their mail: the true ports, and the certificate that they must trust. */
import t from 'tap'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'

interface Endpoints {
  readonly api_url: string
  readonly smtp: readonly { readonly port: number; readonly tls: string; readonly host: string }[]
  readonly certificate: { readonly pem: string; readonly for_api: boolean }
}

t.test('they are those that the daemon serves', async (t) => {
  const app = await testDaemon(t)
  await givePassword(app)
  const browser = openBrowser(app)
  t.equal((await browser.signIn('owner@a.test')).status, 201)
  const { api_url: url, smtp, certificate } = (await browser.ask('GET', '/endpoints')).json<Endpoints>()
  t.equal(url, app.config.service.public_url)
  t.same(
    smtp.map(({ port, tls }) => [port, tls === 'implicit']),
    app.daemon.submission.map(({ port, tls }) => [port, tls]),
  )
  t.same([...new Set(smtp.map(({ host }) => host))], ['localhost'], 'the test daemon listens on loopback only')
  t.equal(certificate.pem, app.daemon.tls.cert)
})
