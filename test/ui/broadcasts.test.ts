/** The pages of broadcasts: write, test, send, watch, pause, resume, schedule, cancel, delete. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { fileForm } from '../helpers/http/multipart.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink, type ScriptedSink, type SinkScript } from '../helpers/smtp/scripted-sink.js'
import { type Dashboard, expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'
import { readFigure } from '../helpers/ui/steps.js'
import { waitUntil } from '../helpers/wait-until.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

interface World {
  readonly app: TestDaemon
  readonly sink: ScriptedSink
  readonly dashboard: Dashboard
  readonly page: Page
}

async function openWorld(t: Test, script: SinkScript = {}): Promise<World> {
  const sink = await openSink({ script })
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const { id } = (await app.rest('POST', '/v1/audiences', { body: { name: 'Readers' } })).json<{ id: string }>()
  const lines = [
    'email,first_name,subscribed',
    'ann@b.test,Ann,true',
    'bob@b.test,,true',
    'carol@b.test,Carol,false',
    '',
  ]
  await app.rest('POST', `/v1/audiences/${id}/import`, fileForm(lines.join('\n')))
  const dashboard = await openDashboard(t, app)
  await dashboard.signIn()
  return { app, sink, dashboard, page: dashboard.page }
}

async function writeDraft({ dashboard, page }: World, name: string): Promise<void> {
  await dashboard.open('/broadcasts/new')
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByLabel('From').fill('News <news@a.test>')
  await page.getByLabel('Subject').fill('News for {{first_name|you}}')
  await page.getByRole('button', { name: 'Write HTML instead' }).click()
  await page
    .getByLabel('HTML')
    .fill('<p>Hello {{first_name|reader}}, <a href="https://shop.example/spring">look</a></p>')
  await page.getByRole('button', { name: 'Save the draft' }).click()
  await page.getByRole('heading', { level: 1, name }).waitFor()
}

t.test('a broadcast is written, tested, sent, and its numbers are seen', { skip }, async (t) => {
  const world = await openWorld(t)
  const { app, sink, dashboard, page } = world
  await dashboard.open('/broadcasts')
  await page.getByText('No broadcast yet').waitFor()
  await page.getByRole('link', { name: 'Write a broadcast' }).click()
  await page.getByLabel('Name', { exact: true }).fill('May')
  await page.getByLabel('From').fill('nobody')
  page.once('dialog', (question) => void question.dismiss())
  await page.getByRole('link', { name: 'Domains' }).click()
  await expectEqual(t, () => page.evaluate('document.activeElement.name'), 'from', 'who stays is back in the field')
  await page.getByRole('link', { name: 'settings of the workspace' }).waitFor()
  await page.getByRole('button', { name: 'Write HTML instead' }).click()
  await page.getByLabel('HTML').fill('<p>{{secret}}</p>')
  await page.getByRole('button', { name: 'Save the draft' }).click()
  await page.waitForSelector('input[name="from"][aria-invalid="true"]')
  await page.waitForSelector('input[name="subject"][aria-invalid="true"]')
  await page.getByText('Not saved yet. Write a subject. Then it is saved by itself.').waitFor()
  t.equal(await page.getByText('template_id').count(), 0)
  await page.getByLabel('From').fill('news@a.test')
  await page.getByLabel('Subject').fill('News')
  await page.getByRole('button', { name: 'Save the draft' }).click()
  await page.getByText('Contacts have no variable with this name.').waitFor()
  await page.waitForSelector('textarea[name="html"][aria-invalid="true"]')
  await expectPresentable(t, dashboard, 'the editor with an error')

  await writeDraft(world, 'News in <b>May</b>')
  await page.frameLocator('iframe').getByText('Hello Ann').waitFor()
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByLabel('Reply to').fill('help@a.test')
  await page.getByRole('button', { name: 'Save the draft' }).click()
  await page.getByText('help@a.test').waitFor()
  await page.getByRole('button', { name: 'Send a test' }).click()
  await page.getByLabel('To', { exact: true }).fill('tester@b.test')
  await page.getByRole('button', { name: 'Send the test' }).click()
  await page.getByText('A test is sent to tester@b.test.').waitFor()
  await waitUntil('the test has come', () => sink.messages.length === 1)
  await expectEqual(t, () => page.evaluate('document.activeElement.textContent'), 'Send a test', 'the focus is back')

  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('Recipients now').waitFor()
  await expectPresentable(t, dashboard, 'the dialog of sending')
  await page.getByRole('button', { name: 'Send to 2 contacts now' }).click()
  await page.getByText('The broadcast is being sent.').waitFor()
  await page.locator('.badge', { hasText: 'Sent' }).waitFor()
  await expectEqual(t, () => page.evaluate('document.activeElement.tagName'), 'H1', 'the focus is not lost')
  t.equal(await readFigure(page, 'fact', 'Recipients'), '2')
  t.match(await readFigure(page, 'figure', 'Delivered'), /^2100% of those sent$/)
  await followLink(app)
  await page
    .getByRole('cell', { name: 'https://shop.example/spring' })
    .or(page.getByRole('rowheader', { name: 'https://shop.example/spring' }))
    .waitFor()
  await expectPresentable(t, dashboard, 'a broadcast that is sent')
  await dashboard.open('/broadcasts')
  await page.getByRole('link', { name: 'News in <b>May</b>' }).waitFor()
  await expectPresentable(t, dashboard, 'the list of broadcasts')
  await page.getByRole('link', { name: 'News in <b>May</b>' }).click()
  await page.getByRole('button', { name: 'Delete the broadcast' }).click()
  await page.getByLabel('to confirm').fill('News in <b>May</b>')
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the broadcast' }).click()
  await page.getByText('No broadcast yet').waitFor()
  t.same(dashboard.faults, [])
})

/** As a recipient does. */
async function followLink(app: TestDaemon): Promise<void> {
  const [email] = await app.rows<{ id: string }>('select id from emails where broadcast_id is not null')
  const query = new URLSearchParams({ url: 'https://shop.example/spring' })
  // Shortly after a delivery a click may be that of a scanner.
  app.advance(120_000)
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
  const answer = await app.rest('GET', `/v1/track/click/${email?.id}?${query}`, {
    key: null,
    headers: { 'user-agent': agent },
  })
  if (answer.status !== 302) throw new Error(answer.text)
}

t.test('a broadcast is paused, resumed and cancelled; another is scheduled and cancelled', { skip }, async (t) => {
  const world = await openWorld(t, { rcpt: '451 4.7.1 later' })
  const { app, dashboard, page } = world
  await writeDraft(world, 'Slow')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('button', { name: 'Send to 2 contacts now' }).click()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByText('The broadcast is paused.').waitFor()
  await page.getByText('Messages that have left the queue').waitFor()
  await expectPresentable(t, dashboard, 'a paused broadcast')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText('The broadcast continues.').waitFor()
  await page.getByRole('button', { name: 'Cancel the broadcast' }).click()
  await page.getByLabel('Type “Slow” to confirm').fill('Slow')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the broadcast' }).click()
  await page.getByText('The broadcast “Slow” is cancelled.').waitFor()
  await page.locator('.badge', { hasText: 'Cancelled' }).waitFor()

  await writeDraft(world, 'Later')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByLabel('Send at').fill('2020-01-01T10:00')
  await page.getByRole('button', { name: 'Schedule for about 2 contacts' }).click()
  await page.getByText('Must be a time in the future.').first().waitFor()
  await page.getByLabel('Send at').fill('')
  await page.getByLabel('Send at').press('1')
  await page.getByRole('button', { name: 'Send to 2 contacts now' }).click()
  await page.getByText('Complete the date and the time, or clear the field.').waitFor()
  t.match(await app.rows(`select status from broadcasts where name = 'Later'`), [{ status: 'draft' }])
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 16)
  await page.getByLabel('Send at').fill(tomorrow)
  await page.getByRole('button', { name: 'Schedule for about 2 contacts' }).click()
  await page.getByText('The broadcast is scheduled.').waitFor()
  t.match(await app.rows(`select status from broadcasts where name = 'Later'`), [{ status: 'scheduled' }])
  await page.getByRole('button', { name: 'Cancel the broadcast' }).click()
  await page.getByLabel('Type “Later” to confirm').fill('Later')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the broadcast' }).click()
  await page.getByText('The broadcast “Later” is cancelled.').waitFor()
  t.same(dashboard.faults, [])
})

/** Lets the next request with this method reach the server, and loses its answer. */
async function loseAnswer(page: Page, method: string): Promise<void> {
  let isLost = false
  await page.route(/\/v1\/broadcasts(\/[^/]+)?$/, async (route) => {
    if (isLost || route.request().method() !== method) return route.fallback()
    isLost = true
    await route.fetch()
    await route.abort('connectionreset')
  })
}

for (const source of ['blocks', 'html']) {
  t.test(`a draft of ${source} is saved once, although answers are lost`, { skip }, async (t) => {
    const { app, dashboard, page } = await openWorld(t)
    await dashboard.open('/broadcasts/new')
    await page.getByLabel('Name', { exact: true }).fill('May')
    await page.getByLabel('From').fill('"News"  <news@a.test>')
    await page.getByLabel('Reply to').fill('help@a.test')
    await page.getByLabel('Subject').fill('News')
    await loseAnswer(page, 'POST')
    if (source === 'html') await page.getByRole('button', { name: 'Write HTML instead' }).click()
    if (source === 'html') await page.getByLabel('HTML').fill('<p>Hello</p>')
    else await page.getByRole('textbox', { name: 'Mail' }).pressSequentially('Hello')
    await page.getByText('The server does not answer.').waitFor()
    await page.getByLabel('Subject').fill('News of May')
    await waitUntil('the second text is stored', () => isStored(app, 'News of May'))
    t.equal((await app.rows('select id from broadcasts')).length, 1, 'no second draft')

    await loseAnswer(page, 'PATCH')
    await page.getByLabel('Subject').fill('News of June')
    await waitUntil('the text is stored', () => isStored(app, 'News of June'))
    await page.getByText('The server does not answer.').waitFor()
    await page.getByLabel('Subject').fill('News of July')
    await waitUntil('the next text is stored too', () => isStored(app, 'News of July'))

    await loseAnswer(page, 'PATCH')
    await page.getByLabel('Subject').fill('News of August')
    await waitUntil('the text is stored', () => isStored(app, 'News of August'))
    await page.getByText('The server does not answer.').waitFor()
    const [draft] = await app.rows<{ id: string }>('select id from broadcasts')
    await app.rest('PATCH', `/v1/broadcasts/${draft?.id}`, { body: { subject: 'From elsewhere' } })
    await page.getByLabel('Subject').fill('News of September')
    await page.getByRole('button', { name: 'Keep my version' }).waitFor()
    t.equal(await isStored(app, 'From elsewhere'), true, 'a change by others is not overwritten')
  })
}

async function isStored(app: TestDaemon, subject: string): Promise<boolean> {
  return (await app.rows('select id from broadcasts where subject = ?', subject)).length === 1
}

t.test('every missing field of a draft is marked, and its page shows the footer', { skip }, async (t) => {
  const world = await openWorld(t)
  const { dashboard, page } = world
  for (const name of ['Save the draft', 'Save and send a test']) {
    await dashboard.open('/broadcasts/new')
    await page.getByRole('textbox', { name: 'Mail' }).waitFor()
    await page.getByRole('button', { name }).click()
    for (const label of ['Name', 'From', 'Subject']) {
      await expectEqual(t, () => page.getByLabel(label, { exact: true }).getAttribute('aria-invalid'), 'true', label)
    }
    await page.locator('.field-error', { hasText: 'Write the mail.' }).waitFor()
    await expectPresentable(t, dashboard, `a draft without content: ${name}`)
  }
  await writeDraft(world, 'May')
  await page.frameLocator('iframe').getByText('You get this email because you are subscribed.').waitFor()
  t.same(dashboard.faults, [])
})
