/** One journey through everything: from the second factor to the end of all sessions, with a second person on the way. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { type MutableZone, mutableZone } from '../helpers/dns/mutable-zone.js'
import { PASSWORD } from '../helpers/http/browser-client.js'
import { type WebhookReceiver, webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { deliverInbound, idOfReply, inboundText, openMxSession } from '../helpers/smtp/deliver-inbound.js'
import { openSink, type ScriptedSink, type SinkMessage } from '../helpers/smtp/scripted-sink.js'
import { type Dashboard, openDashboard } from '../helpers/ui/dashboard.js'
import {
  acceptInvitation,
  addDomain,
  chooseInAccountMenu,
  closeNotices,
  compose,
  fillSignIn,
  importContacts,
  readCode,
  readFigure,
  readRecords,
  sectionOf,
  startSecondFactor,
} from '../helpers/ui/steps.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')
const OWNER = 'owner@a.test'
/** Milliseconds for which a code counts. */
const STEP = 30_000

interface World {
  readonly app: TestDaemon
  readonly zone: MutableZone
  readonly sink: ScriptedSink
  readonly receiver: WebhookReceiver
  readonly dashboard: Dashboard
  readonly page: Page
}

async function openWorld(t: Test): Promise<World> {
  const zone = await mutableZone(t)
  zone.set('mx.b.test', { A: ['127.0.0.1'] })
  zone.set('b.test', { TXT: ['v=spf1 ip4:127.0.0.1 -all'] })
  let deferred = false
  const greylist = ({ line }: { readonly line: string }): string => {
    const isFirst = line.includes('carol@') && !deferred
    deferred ||= isFirst
    return isFirst ? '450 4.2.0 greylisted, come back' : '250 2.1.5 ok'
  }
  const sink = await openSink({ script: { rcpt: greylist } })
  t.teardown(() => sink.close())
  const receiver = await webhookReceiver(t)
  const settings = { dns: { servers: [zone.address] }, webhooks: { allowed_private_networks: ['127.0.0.0/8'] } }
  const app = await testDaemon(t, { zone: 'dns.servers', routes: { 'b.test': sink }, settings })
  const dashboard = await openDashboard(t, app, true)
  return { app, zone, sink, receiver, dashboard, page: dashboard.page }
}

/** The message to an address that has arrived last. */
async function waitForMessage({ sink }: World, address: string, words: string): Promise<SinkMessage> {
  return waitUntil(`a message to ${address} with “${words}”`, () =>
    sink.messages.findLast(({ rcptTo, raw }) => rcptTo.join().includes(address) && raw.includes(words)),
  )
}

async function signInWithCode({ app }: World, { open, page }: Dashboard, secret: string): Promise<void> {
  // Each code counts once.
  app.advance(STEP)
  await open('/')
  await fillSignIn(page, OWNER)
  await page.getByRole('heading', { name: 'Second factor' }).waitFor()
  await page.getByLabel('Code').fill(readCode(app, secret))
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Account: ' }).waitFor()
}

/** Turns it on, signs out, and signs in with a code. */
async function useSecondFactor(world: World): Promise<string> {
  const { app, dashboard, page } = world
  await dashboard.signIn()
  await chooseInAccountMenu(page, 'Account')
  const secret = await startSecondFactor(page)
  await page.getByLabel('Code from the app').fill(readCode(app, secret))
  await page.getByRole('button', { name: 'Turn it on' }).click()
  await page.getByText('Keep these recovery codes').waitFor()
  await page.getByRole('button', { name: 'I have kept them' }).click()
  await page.getByText('Enabled', { exact: true }).waitFor()
  await chooseInAccountMenu(page, 'Sign out')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await signInWithCode(world, dashboard, secret)
  return secret
}

async function verifyDomain({ app, zone, page }: World): Promise<void> {
  await addDomain(page, 'shop.test')
  await page.getByRole('heading', { level: 1, name: 'shop.test' }).waitFor()
  const { records } = await readRecords(app, 'shop.test')
  await page.getByRole('button', { name: 'Check the records now' }).click()
  await page.getByText('Missing or wrong').first().waitFor()
  await closeNotices(page)
  for (const { name, value } of records) zone.set(name, { CNAME: value })
  await page.getByRole('button', { name: 'Check the records now' }).click()
  await page.getByText('The domain is verified.').waitFor()
  await page.getByRole('tab', { name: 'Receiving' }).click()
  await page.getByLabel('Receive mail').check()
  await page.getByRole('button', { name: 'Save the settings' }).click()
  await page.getByText('The settings are saved.').waitFor()
}

async function chooseShop(page: Page): Promise<void> {
  await page.getByLabel('Domain', { exact: true }).selectOption('shop.test')
}

/** The page follows the delivery by itself: nothing reloads it. */
async function sendAndWatch(t: Test, world: World): Promise<void> {
  const { page } = world
  await compose(page, 'Your order', ['bob@b.test', 'carol@b.test'])
  await chooseShop(page)
  await page.getByRole('button', { name: 'Send the email' }).click()
  await page.getByRole('heading', { level: 1, name: 'Your order' }).waitFor()
  const [bob, carol] = [sectionOf(page, 'bob@b.test'), sectionOf(page, 'carol@b.test')]
  await bob.getByText('Delivered', { exact: true }).first().waitFor()
  await carol.getByText('The receiving side asks unknown senders to try again later (greylisting).').waitFor()
  await carol.getByText('450 4.2.0 greylisted, come back').first().waitFor()
  await carol.getByRole('button', { name: 'Retry now: carol@b.test' }).click()
  await carol.getByText('Attempt 2').waitFor()
  await page.locator('.page-title').getByText('Delivered').waitFor()
  await bob.getByText(/^mx\.b\.test, not encrypted, \d+\sms$/).waitFor()
  const { raw } = await waitForMessage(world, 'carol@b.test', 'Your order')
  t.match(raw.toString(), /^DKIM-Signature: [\s\S]*d=shop\.test[\s\S]*This is a test\./m)
}

async function receiveAndAnswer(t: Test, world: World): Promise<void> {
  const { app, page } = world
  const client = await openMxSession(t, app)
  await client.sendCommand('EHLO mx.b.test')
  await waitUntil('the listener knows the domain', async () => {
    await client.sendCommand('MAIL FROM:<>')
    const reply = await client.sendCommand('RCPT TO:<info@shop.test>')
    await client.sendCommand('RSET')
    return reply.startsWith('250')
  })
  const raw = inboundText({ from: 'bob@b.test', to: 'info@shop.test', subject: 'Where is my order' })
  idOfReply(await deliverInbound(t, app, { from: 'bob@b.test', to: ['info@shop.test'], raw }))
  await page.getByRole('link', { name: 'Inbound' }).click()
  await page.getByRole('link', { name: 'Where is my order' }).click()
  await page.getByRole('heading', { level: 1, name: 'Where is my order' }).waitFor()
  await page.getByText('How do you do?').waitFor()
  await page.getByRole('button', { name: 'Reply' }).click()
  await page.getByRole('textbox', { name: 'Text' }).fill('It is on its way.')
  await page.getByRole('button', { name: 'Send the reply' }).click()
  await page.getByRole('link', { name: 'Follow its delivery' }).click()
  await page.locator('.page-title').getByText('Delivered').waitFor()
  const answer = await waitForMessage(world, 'bob@b.test', 'It is on its way.')
  t.match(answer.raw.toString(), /^In-Reply-To: <Whereismyorder@b\.test>/m)
}

async function importAudience({ page }: World): Promise<void> {
  await page.getByRole('link', { name: 'Audiences' }).click()
  await page.getByRole('link', { name: 'Create an audience' }).click()
  await page.getByLabel('Name').fill('Readers')
  await page.getByRole('button', { name: 'Create the audience' }).click()
  await page.getByRole('heading', { level: 1, name: 'Readers' }).waitFor()
  await importContacts(page, [
    'email,first_name,subscribed',
    'ann@b.test,Ann,true',
    'bob@b.test,Bob,true',
    'not an address,Eve,true',
    'dora@b.test,Dora,false',
  ])
  await page.getByRole('heading', { name: 'The file is imported' }).waitFor()
  await page.getByRole('cell', { name: 'not an address' }).waitFor()
  await page.getByRole('link', { name: 'Open the audience' }).click()
  await page.getByRole('link', { name: 'ann@b.test' }).waitFor()
}

async function sendBroadcast(t: Test, world: World): Promise<void> {
  const { page } = world
  await page.getByRole('link', { name: 'Broadcasts' }).click()
  await page.getByRole('link', { name: 'Write a broadcast' }).click()
  await page.getByLabel('Name', { exact: true }).fill('May')
  await page.getByLabel('From').fill('News <news@shop.test>')
  await page.getByLabel('Subject').fill('News for {{first_name|you}}')
  await page.getByRole('button', { name: 'Write HTML instead' }).click()
  await page.getByLabel('HTML').fill('<p>Hello {{first_name|you}}, <a href="https://shop.example/spring">look</a></p>')
  await page.getByRole('button', { name: 'Save the draft' }).click()
  await page.getByRole('heading', { level: 1, name: 'May' }).waitFor()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('button', { name: 'Send to 2 contacts now' }).click()
  await page.locator('.badge', { hasText: 'Sent' }).waitFor()
  await waitUntil('the numbers follow', async () => /^2100/.test((await readFigure(page, 'figure', 'Delivered')) ?? ''))
  t.equal(await readFigure(page, 'fact', 'Recipients'), '2')
  await followLink(t, world)
  await page.reload()
  await page.getByText('https://shop.example/spring', { exact: true }).waitFor()
  t.match(await readFigure(page, 'figure', 'Clicked'), /^150/)
}

/** As a recipient does, with the link of the message. */
async function followLink(t: Test, world: World): Promise<void> {
  const { raw } = await waitForMessage(world, 'ann@b.test', 'News for Ann')
  const text = raw.toString().replaceAll('=\r\n', '').replaceAll('=3D', '=').replaceAll('&amp;', '&')
  const path = /href="https:\/\/[^/"]+(\/[^"]+)">look/.exec(text)?.[1] ?? ''
  // Shortly after a delivery a click may be that of a scanner.
  world.app.advance(120_000)
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
  const answer = await world.app.rest('GET', path, { key: null, headers: { 'user-agent': agent } })
  t.same([answer.status, answer.headers['location']], [302, 'https://shop.example/spring'])
  await waitUntil('the click is recorded', async () => {
    return (await world.app.rows(`select 1 from events where type = 'email.clicked'`)).length > 0
  })
}

async function replayDelivery(t: Test, world: World): Promise<void> {
  const { page, receiver } = world
  await page.getByRole('link', { name: 'Webhooks' }).click()
  await page.getByRole('link', { name: 'Create a webhook' }).click()
  await page.getByLabel('URL').fill(receiver.url)
  await page.getByRole('checkbox', { name: 'email.delivered' }).check()
  await page.getByRole('button', { name: 'Create the webhook' }).click()
  await page.getByRole('heading', { name: 'The webhook is created' }).waitFor()
  await compose(page, 'For the webhook', ['bob@b.test'])
  await chooseShop(page)
  await page.getByRole('button', { name: 'Send the email' }).click()
  await page.locator('.page-title').getByText('Delivered').waitFor()
  await waitUntil('the event comes', () => receiver.requests.length === 1)
  await page.getByRole('link', { name: 'Webhooks' }).click()
  await page.getByRole('link', { name: receiver.url }).click()
  await page.getByRole('rowheader', { name: 'email.delivered' }).waitFor()
  await page.getByRole('button', { name: /^Details of email.delivered/ }).click()
  await page.getByRole('dialog').getByText('ok', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Deliver it again' }).click()
  await page.getByText('The event is delivered again.').waitFor()
  await waitUntil('it comes again', () => receiver.requests.length === 2)
  const [first, second] = receiver.events()
  t.equal(second?.id, first?.id, 'the same event')
  t.match(first, { type: 'email.delivered' })
}

/** Nina joins in another browser, and owns the workspace at the end. */
async function handOver(t: Test, world: World): Promise<Dashboard> {
  const { app, page } = world
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('button', { name: 'Invite a person' }).click()
  await page.getByLabel('E-mail address').fill('nina@b.test')
  await page.getByRole('radio', { name: /^Admin/ }).check()
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  await page.getByText('The invitation of nina@b.test is sent.').waitFor()
  const { raw } = await waitForMessage(world, 'nina@b.test', '/ui/invitation')
  const nina = await openDashboard(t, app)
  await acceptInvitation(nina, { email: 'nina@b.test', name: 'Nina', mail: raw })
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('button', { name: /^Make Nina/ }).click()
  await page.getByLabel('to confirm').fill('Own')
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Transfer the workspace' }).click()
  await page.getByText('owns the workspace now.').waitFor()
  await nina.open('/audit-log')
  await nina.page.getByText('transferred the workspace from owner@a.test to Nina (nina@b.test)').waitFor()
  t.same(await app.rows(`select role from members where workspace_id = ? order by role`, app.workspaceId), [
    { role: 'admin' },
    { role: 'owner' },
  ])
  return nina
}

/** All sessions of the former owner end; that of Nina does not. */
async function signOutEverywhere(t: Test, world: World, secret: string): Promise<void> {
  const { app, dashboard, page } = world
  const elsewhere = await openDashboard(t, app)
  await signInWithCode(world, elsewhere, secret)
  await chooseInAccountMenu(page, 'Account')
  await page.getByRole('button', { name: 'Sign out everywhere' }).click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await elsewhere.page.getByRole('link', { name: 'Domains' }).click()
  await elsewhere.page.getByText('Your session has ended.').waitFor()
  await elsewhere.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await dashboard.open('/domains')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.same(elsewhere.faults, [])
}

t.test('from the second factor to the end of all sessions', { skip }, async (t) => {
  const world = await openWorld(t)
  const secret = await useSecondFactor(world)
  await verifyDomain(world)
  await sendAndWatch(t, world)
  await receiveAndAnswer(t, world)
  await importAudience(world)
  await sendBroadcast(t, world)
  await replayDelivery(t, world)
  const nina = await handOver(t, world)
  await signOutEverywhere(t, world, secret)
  await nina.open('/emails')
  await nina.page.getByRole('link', { name: 'Your order' }).waitFor()
  t.same([world.dashboard.faults, nina.faults], [[], []])
  t.same(world.app.errors, [])
})
