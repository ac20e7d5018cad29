/**
 * A recipient opens a tracked message in a browser, follows a link and unsubscribes; the record, the event log and the
 * webhook agree on what happened.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { simpleParser } from 'mailparser'
import type { BrowserContext, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { freePort } from '../helpers/free-port.js'
import type { Json } from '../helpers/http/rest-client.js'
import { type ReceivedEvent, type WebhookReceiver, webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { CHROMIUM, openBrowser } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

interface WebSite {
  readonly url: string
  /** Serves this HTML at `/mail`, as web mail does. */
  readonly show: (html: string) => void
}

/** The site of the sender's shop, and the recipient's web mail. */
async function openSite(t: Test): Promise<WebSite> {
  let mail = ''
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(request.url === '/mail' ? mail : `<!doctype html><title>Shop</title><h1>${request.url}</h1>`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    show: (html) => {
      mail = html
    },
  }
}

/** The daemon under the address that its links name, and a webhook for all that recipients do. */
async function trackedDaemon(
  t: Test,
): Promise<{ app: TestDaemon; sinkHtml: () => Promise<string>; receiver: WebhookReceiver }> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const port = await freePort()
  const app = await testDaemon(t, {
    routes: { 'b.test': sink },
    settings: {
      service: { public_url: `https://127.0.0.1:${port}` },
      api: { listen: [`127.0.0.1:${port}`] },
      webhooks: { allowed_private_networks: ['127.0.0.0/8'] },
    },
  })
  const receiver = await webhookReceiver(t)
  const events = ['email.opened', 'email.clicked', 'email.unsubscribed']
  const created = await app.rest('POST', '/v1/webhooks', { body: { url: receiver.url, events } })
  t.equal(created.status, 201, created.text)
  const sinkHtml = async (): Promise<string> => {
    const { html } = await simpleParser(sink.messages.at(-1)?.raw ?? '', {
      skipImageLinks: true,
      skipHtmlToText: true,
      skipTextToHtml: true,
      skipTextLinks: true,
    })
    return html === false ? '' : html
  }
  return { app, sinkHtml, receiver }
}

const DAY_LATER = 86_400_000

async function sendTracked(app: TestDaemon, html: string): Promise<string> {
  const { status, text, json } = await app.rest('POST', '/v1/emails', {
    body: { from: 'app@a.test', to: 'bob@b.test', subject: 'Offers', html },
  })
  if (status !== 201) throw new Error(text)
  const id = String(json()['id'])
  await app.waitUntilSettled(id)
  // What happens within seconds of the delivery counts as a machine.
  app.advance(DAY_LATER)
  return id
}

async function openMail(browser: BrowserContext, site: WebSite, html: string): Promise<Page> {
  site.show(html)
  const page = await browser.newPage()
  await page.goto(`${site.url}/mail`, { waitUntil: 'load' })
  return page
}

function waitForEvent(receiver: WebhookReceiver, type: string): Promise<ReceivedEvent> {
  return waitUntil(`${type} at the webhook`, () => receiver.events().find((event) => event.type === type))
}

async function eventsOf(app: TestDaemon, id: string, type: string): Promise<readonly Json[]> {
  const { json } = await app.rest('GET', `/v1/emails/${id}/events?type=${type}`)
  return json<{ data: readonly Json[] }>().data
}

t.test('a browser opens, clicks and unsubscribes', { skip }, async (t) => {
  const { app, sinkHtml, receiver } = await trackedDaemon(t)
  const site = await openSite(t)
  const browser = await openBrowser(t)
  const id = await sendTracked(
    app,
    `<html><body><h1>Offers</h1><p><a href="${site.url}/shoes?a=1&amp;b=2">Shoes</a> ` +
      `<a href="{{unsubscribe_url}}">Unsubscribe</a></p></body></html>`,
  )
  const page = await openMail(browser, site, await sinkHtml())
  const opened = await waitForEvent(receiver, 'email.opened')
  t.match(opened.data, { email_id: id, machine: false, user_agent: /Chrome/ })

  await page.getByText('Shoes', { exact: true }).click()
  await page.waitForURL(`${site.url}/shoes?a=1&b=2`)
  const clicked = await waitForEvent(receiver, 'email.clicked')
  t.match(clicked.data, { email_id: id, link: `${site.url}/shoes?a=1&b=2`, machine: false })

  await page.goBack()
  await page.getByText('Unsubscribe', { exact: true }).click()
  await page.waitForURL(/\/v1\/unsubscribe\//)
  t.same((await app.rest('GET', '/v1/suppressions')).json()['data'], [], 'a look at the page changes nothing')
  await page.getByRole('button').click()
  const gone = await waitForEvent(receiver, 'email.unsubscribed')
  t.match(gone.data, { to: 'bob@b.test', email_id: id })
  t.match((await app.rest('GET', '/v1/suppressions')).json()['data'], [{ email: 'bob@b.test', reason: 'unsubscribe' }])

  const record = await waitUntil('the click is on the record', async () => {
    const { json } = await app.rest('GET', `/v1/emails/${id}`)
    return json()['clicked_at'] === null ? null : json()
  })
  t.match(record, { opened_at: String, clicked_at: String, tracking: { open: true, click: true } })
  t.match((await app.rest('GET', `/v1/emails/${id}/clicks`)).json(), {
    email_id: id,
    clicked: true,
    total_clicks: 1,
    unique_links_clicked: 1,
    links: [{ url: `${site.url}/shoes?a=1&b=2`, clicks: 1 }],
  })
  for (const event of [opened, clicked, gone]) {
    const logged = await eventsOf(app, id, event.type)
    t.ok(
      logged.some((one) => String(one['id']) === event.id),
      `${event.type} is in the log under the id that the webhook got`,
    )
  }
  t.strictSame(app.errors, [])
})
