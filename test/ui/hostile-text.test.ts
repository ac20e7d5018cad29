/**
 * Each field that a stranger fills, on each page that shows it, in the true browser: the text is there as it was written,
 * nothing of it becomes an element, nothing of it runs.
 */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { TestDaemon } from '../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser, PASSWORD } from '../helpers/http/browser-client.js'
import { fileForm } from '../helpers/http/multipart.js'
import { webhookReceiver } from '../helpers/http/webhook-receiver.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { deliverInbound, idOfReply, waitUntilProcessed } from '../helpers/smtp/deliver-inbound.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { addMember } from '../helpers/ui/add-member.js'
import { type Dashboard, openDashboard } from '../helpers/ui/dashboard.js'
import { hostileMessage, ATTACK as INBOUND, receivingDaemon } from '../helpers/ui/receiving.js'
import { importContacts } from '../helpers/ui/steps.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

/** Ends an attribute and an element, and sets `hacked` in the page that takes it for HTML. */
const attack = (field: string): string =>
  `${field} "'></td><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`
const quoteCsv = (field: string): string => `"${attack(field).replaceAll('"', '""')}"`
/** As header fields have it before an address. */
const quoteName = (field: string): string => `"${attack(field).replaceAll('"', '\\"')}"`

interface Ids {
  readonly email: string
  readonly inbound: string
  readonly audience: string
  readonly contact: string
  readonly template: string
  readonly broadcast: string
  readonly webhook: string
  readonly domain: string
  readonly otherWorkspace: string
}

/** A daemon whose world is hostile: remote servers, senders, contacts, endpoints, DNS, members, other workspaces. */
async function openWorld(t: Test): Promise<{ readonly app: TestDaemon; readonly ids: Ids }> {
  const sink = await openSink({
    script: {
      rcpt: ({ line }) => {
        if (line.includes('gone@')) return `550 5.1.1 ${attack('refusal')}`
        return line.includes('later@') ? `450 4.2.0 ${attack('deferral')}` : '250 2.1.5 ok'
      },
    },
  })
  t.teardown(() => sink.close())
  const receiver = await webhookReceiver(t)
  receiver.answer((response) => response.end(attack('answer')))
  const settings = { webhooks: { allowed_private_networks: ['127.0.0.0/8'] } }
  const zone = { 'dkim1._domainkey.c.test': { CNAME: [attack('record')] } }
  const app = await receivingDaemon(t, { zone, settings, routes: { 'b.test': sink }, level: 'info' })
  const create = createAt(app)
  const webhook = await create('/webhooks', { url: receiver.url, events: ['email.sent'] })
  await app.rest('POST', `/v1/webhooks/${webhook}/test`)
  await waitUntil('the webhook was attempted', () => receiver.requests.length === 1)
  const email = await sendEmail(app)
  const raw = hostileMessage
  const inbound = idOfReply(await deliverInbound(t, app, { from: 'ann@b.test', to: ['info@home.test'], raw }))
  await waitUntilProcessed(app, inbound)
  const otherWorkspace = await nameEverything(app)
  const ids = { email, inbound, webhook, otherWorkspace, domain: await create('/domains', { domain: 'c.test' }) }
  return { app, ids: { ...ids, ...(await createContent(app)) } }
}

const createAt =
  ({ rest }: TestDaemon) =>
  async (path: string, body: object): Promise<string> => {
    const answer = await rest('POST', `/v1${path}`, { body })
    if (answer.status !== 201) throw new Error(answer.text)
    return answer.json<{ id: string }>().id
  }

/** To recipients that are refused and deferred; it was opened by a hostile program. */
async function sendEmail(app: TestDaemon): Promise<string> {
  const id = await createAt(app)('/emails', {
    from: `${quoteName('sender')} <app@a.test>`,
    to: ['gone@b.test', 'later@b.test', 'bob@b.test'],
    subject: attack('subject'),
    text: attack('text'),
    html: `<p>Good day</p>${attack('html')}<a href="javascript:window.top.hacked=1">here</a><svg onload="top.hacked=1"/>`,
    headers: { 'X-Attack': attack('header') },
    tags: [{ name: 'campaign', value: attack('tag') }],
    attachments: [{ filename: attack('file').replaceAll('/', '_'), content: 'eA==', content_type: 'text/html' }],
    tracking: { open: true, click: true },
  })
  await app.waitUntilAttempted(id)
  app.advance(120_000)
  const headers = { 'user-agent': attack('agent') }
  await app.rest('GET', `/v1/track/open/${id}`, { key: null, headers })
  await waitUntil(
    'the opening is recorded',
    async () => (await app.rows(`select 1 from events where type = 'email.opened'`))[0],
  )
  return id
}

/** Names of people, workspaces and keys, and the browser of a session. Returns the id of another workspace. */
async function nameEverything(app: TestDaemon): Promise<string> {
  await createAt(app)('/api-keys', { name: attack('key') })
  await app.rest('PATCH', `/v1/workspaces/${app.workspaceId}`, { body: { name: attack('workspace') } })
  await addMember(app, 'ann@b.test', 'admin')
  await app.daemon.database.commit([
    { sql: `update users set full_name = ? where email = 'ann@b.test'`, parameters: [attack('person')] },
    { sql: 'update workspaces set name = ? where id = ?', parameters: [attack('tenant'), app.otherWorkspaceId] },
  ])
  await app.cli('workspace', 'set-operator', app.workspaceId)
  await givePassword(app)
  const body = { email: 'owner@a.test', password: PASSWORD }
  await openBrowser(app).ask('POST', '/session', { body, headers: { 'user-agent': attack('browser') } })
  return app.otherWorkspaceId
}

async function createContent(app: TestDaemon): Promise<Pick<Ids, 'audience' | 'contact' | 'template' | 'broadcast'>> {
  const create = createAt(app)
  const audience = await create('/audiences', { name: attack('audience') })
  const csv = [
    'email,first_name,last_name,plan',
    `ann@b.test,${quoteCsv('first')},${quoteCsv('last')},${quoteCsv('plan')}`,
    '',
  ]
  await app.rest('POST', `/v1/audiences/${audience}/import`, fileForm(csv.join('\n')))
  const [{ id: contact = '' } = {}] = await app.rows<{ id: string }>(
    'select id from contacts where audience_id is not null',
  )
  const words = { subject: attack('words'), html: `<p>${attack('page')}</p>` }
  const template = await create('/templates', { name: attack('template'), ...words })
  const broadcast = await create('/broadcasts', {
    name: attack('broadcast'),
    audience_id: audience,
    from: `${quoteName('author')} <news@a.test>`,
    ...words,
  })
  return { audience, contact, template, broadcast }
}

/** Pages with the fields that they show, as `attack` names them; and parts of `hostileMessage`. */
function listPages(ids: Ids): readonly (readonly [path: string, ...texts: string[]])[] {
  const fields = (...names: string[]): string[] => names.map(attack)
  return [
    ['/overview'],
    ['/emails', ...fields('subject')],
    [`/emails/${ids.email}`, ...fields('subject', 'tag', 'refusal', 'deferral')],
    [`/emails/${ids.email}?tab=message&view=text`, ...fields('text'), attack('file').replaceAll('/', '_')],
    [`/emails/${ids.email}?tab=message&view=header`, 'X-Attack: header'],
    [`/emails/${ids.email}?tab=events`, ...fields('refusal', 'agent')],
    ['/inbound', INBOUND, '<script>window.hacked=1</script>'],
    [
      `/inbound/${ids.inbound}`,
      INBOUND,
      '<script>window.hacked=1</script>',
      '<img src=x onerror=window.hacked=1>.html',
    ],
    [`/inbound/${ids.inbound}?tab=text`, `How do you do? ${INBOUND}`],
    [`/inbound/${ids.inbound}?tab=header`, INBOUND],
    [`/inbound/${ids.inbound}?tab=raw`, `X-Attack: ${INBOUND}`],
    [`/inbound/${ids.inbound}?tab=checks`],
    ['/audiences', ...fields('audience')],
    [`/audiences/${ids.audience}`, ...fields('audience', 'first')],
    ['/contacts', ...fields('first')],
    [`/contacts/${ids.contact}`],
    ['/templates', ...fields('template')],
    [`/templates/${ids.template}`, ...fields('template')],
    ['/broadcasts', ...fields('broadcast')],
    [`/broadcasts/${ids.broadcast}`, ...fields('broadcast', 'words', 'audience'), quoteName('author')],
    ['/suppressions', ...fields('refusal')],
    [`/domains/${ids.domain}`],
    ['/keys', ...fields('key')],
    ['/members', ...fields('person', 'workspace')],
    ['/audit-log', `created the key “${attack('key')}”`, `renamed the workspace to “${attack('workspace')}”`],
    ['/workspace', ...fields('workspace')],
    ['/account', 'Unknown browser'],
    ['/operator/workspaces', ...fields('tenant', 'workspace')],
    [`/operator/workspaces/${ids.otherWorkspace}`, ...fields('tenant')],
    ['/operator/queue?tab=entries', ...fields('subject', 'deferral')],
    ['/operator/queue?tab=providers', ...fields('deferral')],
    ['/operator/queue?tab=reasons'],
    ['/operator/log', '<script>window.hacked=1</script>'],
    ['/operator/health'],
  ]
}

/** The browser names what the frame of a message refuses by its own policy; the pages must cause nothing. */
const refusedInFrame = /^Blocked script execution in '[^']+\/ui\/api\/frames\/|directive: "img-src data:"/

/** What ran, and elements that strangers have made. */
const look = `[typeof window.hacked, document.querySelectorAll('img[src="x"], body script, [onload]').length]`

async function expectHarmless(t: Test, { page, faults }: Dashboard, what: string): Promise<void> {
  t.same(await page.evaluate(look), ['undefined', 0], `nothing is an element, nothing has run: ${what}`)
  const own = faults.filter((fault) => !refusedInFrame.test(fault))
  t.same(own, [], `no fault: ${what}`)
}

async function expectText(t: Test, page: Page, text: string): Promise<void> {
  const element = page.getByText(text).first()
  const isThere = await element.waitFor({ state: 'attached', timeout: 15_000 }).then(
    () => true,
    () => false,
  )
  t.ok(isThere, `${new URL(page.url()).pathname} shows ${text}`)
}

t.test('what strangers write stays text on every page', { skip }, async (t) => {
  const { app, ids } = await openWorld(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  for (const [path, ...texts] of listPages(ids)) {
    await dashboard.open(path)
    await page.locator('h1:focus').waitFor()
    for (const text of texts) await expectText(t, page, text)
    await expectHarmless(t, dashboard, path)
  }
  await importHostileFile(t, dashboard, ids)
  await openDetails(t, dashboard, ids)
  await expectPolicy(t, dashboard)
  t.same(app.errors, [])
})

/** The second line: markup that does become an element runs nothing. It also shows that `expectHarmless` would see it. */
async function expectPolicy(t: Test, { page, faults }: Dashboard): Promise<void> {
  await page.evaluate(`document.querySelector('main').innerHTML = ${JSON.stringify(attack('planted'))}`)
  await waitUntil('the browser refuses to run it', () => faults.some((fault) => /CSP script-src/.test(fault)))
  t.same(await page.evaluate(look), ['undefined', 2])
}

/** The report of an import names the values that it refused. */
async function importHostileFile(t: Test, dashboard: Dashboard, { audience }: Ids): Promise<void> {
  const { page } = dashboard
  await dashboard.open(`/audiences/${audience}`)
  await importContacts(page, ['email,first_name', 'good@b.test,y', `${quoteCsv('address')},x`])
  await page.getByRole('heading', { name: 'The file is imported' }).waitFor()
  await expectText(t, page, attack('address').slice(0, 40))
  await expectHarmless(t, dashboard, 'the report of an import')
}

/** What is loaded after a click: found DNS records, the answer of an endpoint, HTML in its frame, values in fields. */
async function openDetails(t: Test, dashboard: Dashboard, ids: Ids): Promise<void> {
  const { page } = dashboard
  await dashboard.open(`/domains/${ids.domain}`)
  await page.getByRole('button', { name: 'Check the records now' }).click()
  await expectText(t, page, attack('record'))
  await expectHarmless(t, dashboard, 'a found record')
  await dashboard.open(`/webhooks/${ids.webhook}`)
  await page.getByRole('button', { name: /^Details of webhook.test/ }).click()
  await page.getByRole('dialog').getByText(attack('answer')).waitFor()
  await expectHarmless(t, dashboard, 'a delivery')
  await dashboard.open(`/contacts/${ids.contact}`)
  await waitUntil('the fields have their values', async () => {
    return (await page.getByLabel('Last name').inputValue()) === attack('last')
  })
  t.equal(await page.getByLabel('Value of plan').inputValue(), attack('plan'))
  await expectHarmless(t, dashboard, 'a contact')
  for (const [path, words] of [
    [`/emails/${ids.email}?tab=message`, 'Good day'],
    [`/inbound/${ids.inbound}?tab=html`, 'Good day'],
    [`/templates/${ids.template}`, 'page "'],
    [`/broadcasts/${ids.broadcast}`, 'page "'],
  ] as const) {
    await dashboard.open(path)
    await page.frameLocator('iframe').getByText(words).first().waitFor()
    await expectHarmless(t, dashboard, `the frame of ${path}`)
  }
}
