/** The pages of API keys: create one, use it, revoke it. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectMatch } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

t.test('a key is created, works, is shown once, and is revoked', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page, open } = dashboard
  await dashboard.signIn()
  await page.getByRole('link', { name: 'API keys' }).click()
  await page.getByRole('link', { name: 'Create a key' }).click()
  await page.getByLabel('Name').fill('shop <b>x</b>')
  await page.getByRole('checkbox', { name: 'Read Reads' }).check()
  await page.getByRole('checkbox', { name: 'Send Sends' }).uncheck()
  await page.getByLabel('Allowed networks').fill('127.0.0.0/8\nnonsense')
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.waitForSelector('textarea[name="allowed_networks"][aria-invalid="true"]')
  await expectPresentable(t, dashboard, 'the form of a key with an error')
  await page.getByLabel('Allowed networks').fill('127.0.0.0/8')
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.getByRole('heading', { name: 'The key is created' }).waitFor()
  const key = (await page.locator('.copy code').textContent()) ?? ''
  await expectPresentable(t, dashboard, 'the secret of a key')
  t.equal((await app.rest('GET', '/v1/emails', { key })).status, 200)
  t.equal((await app.rest('POST', '/v1/domains', { key, body: { domain: 'c.test' } })).status, 403, 'its scopes hold')

  const questions: string[] = []
  page.once('dialog', (question) => {
    questions.push(question.message())
    void question.dismiss()
  })
  await page.getByRole('link', { name: 'Domains' }).click()
  await expectMatch(t, async () => questions.join(), /^The key is shown only on this page, and you have not copied it/)
  t.match(page.url(), /\/keys\/new$/)
  await page.getByRole('link', { name: 'I have it: back to the list of keys' }).click()
  await page.getByRole('rowheader', { name: 'shop <b>x</b>' }).waitFor()
  t.notOk((await page.content()).includes(key), 'the list does not have the secret')
  await expectPresentable(t, dashboard, 'the list of keys')
  await page.getByRole('button', { name: 'Revoke shop <b>x</b>' }).click()
  await page.getByLabel('to confirm').fill('shop <b>x</b>')
  await page.getByRole('button', { name: 'Revoke the key' }).click()
  await page.getByText('is revoked.').waitFor()
  await page.getByText('Revoked', { exact: true }).waitFor()
  t.equal((await app.rest('GET', '/v1/emails', { key })).status, 401)
  await open('/keys')
  await page.getByText('Revoked', { exact: true }).waitFor()
  t.same(dashboard.faults, [])
})

t.test('the page of a new key shows the first email of this key, and of no other', { skip }, async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink } })
  const { page, open, signIn, faults } = await openDashboard(t, app)
  await signIn()
  await open('/keys/new')
  await page.getByLabel('Name').fill('shop')
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.getByText('Waiting for your first email').waitFor()
  const key = (await page.locator('.copy code').textContent()) ?? ''
  const send = async (subject: string, by: string): Promise<void> => {
    const body = { from: 'app@a.test', to: 'bob@b.test', subject, text: 'x' }
    const { id } = (await app.rest('POST', '/v1/emails', { key: by, body })).json<{ readonly id: string }>()
    await app.waitUntilSettled(id)
    if (subject !== 'Mine') return
    await app.daemon.database.commit([
      { sql: `update emails set status = 'complained' where id = ?`, parameters: [id] },
    ])
  }
  await send('Of others', app.key)
  const next = page.waitForResponse((response) => response.url().includes('/ui/api/emails?'))
  await next
  t.equal(await page.getByText('Of others').count(), 0)
  await send('Mine', key)
  await send('Mine too', key)
  await page.getByText(/: Mine$/).waitFor()
  t.equal(await page.getByText('Not delivered').count(), 0)
  t.same(faults, [])
})

t.test('a key that was copied is left without a question', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open('/keys/new')
  await page.getByLabel('Name').fill('shop')
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await page.getByRole('button', { name: 'Copy the key' }).click()
  await page.getByRole('button', { name: 'Copied the key' }).waitFor()
  const questions: string[] = []
  page.on('dialog', (question) => {
    questions.push(question.message())
    void question.dismiss()
  })
  await page.getByRole('link', { name: 'Domains' }).click()
  await page.getByRole('heading', { level: 1, name: 'Domains' }).waitFor()
  t.same(questions, [])
  t.same(dashboard.faults, [])
})
