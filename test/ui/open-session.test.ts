/** Pages that are open while rights or the workspace change: what they still offer is refused, or goes where it belongs. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { addMember } from '../helpers/ui/add-member.js'
import { openDashboard } from '../helpers/ui/dashboard.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

t.test('a form that was open before the role was lowered changes nothing', { skip }, async (t) => {
  const app = await testDaemon(t)
  await addMember(app, 'ann@a.test', 'admin')
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn('ann@a.test')
  await dashboard.open('/webhooks/new')
  await page.getByLabel('URL').fill('https://hook.example/')
  await page.getByRole('checkbox', { name: 'email.delivered' }).check()
  const lower = `update members set role = 'member' where user_id = (select id from users where email = 'ann@a.test')`
  await app.daemon.database.commit([{ sql: lower, parameters: [] }])
  await page.getByRole('button', { name: 'Create the webhook' }).click()
  await page.getByText(/^Not permitted: the role "member"/).waitFor()
  t.same(await app.rows('select 1 from webhooks'), [])
  await page.getByRole('link', { name: 'Webhooks' }).first().click()
  await page.getByText('No webhook yet').waitFor()
  t.same(dashboard.faults, [])
})

t.test('each tab stays in its workspace when another one changes it', { skip }, async (t) => {
  const app = await testDaemon(t)
  const made = await app.cli('workspace', 'create', 'Second', '--email', 'owner@a.test')
  t.equal(made.status, 0, made.err)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await page.getByLabel('Workspace', { exact: true }).selectOption({ label: 'Own' })
  await dashboard.open('/audiences/new')
  await page.getByLabel('Name').fill('Of the first')

  const other = await dashboard.context.newPage()
  await other.goto(page.url().replace('/audiences/new', '/'))
  await other.getByLabel('Workspace', { exact: true }).selectOption({ label: 'Second' })
  await other.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await other.getByRole('link', { name: 'Audiences' }).click()
  await other.getByText('No audience yet').waitFor()

  await page.getByRole('button', { name: 'Create the audience' }).click()
  await page.getByRole('heading', { level: 1, name: 'Of the first' }).waitFor()
  t.same(await app.rows('select workspace_id from audiences'), [{ workspace_id: app.workspaceId }])
  await other.reload()
  await other.getByText('No audience yet').waitFor()
  // An address of the first workspace is none of the second.
  await other.goto(page.url())
  await other.getByRole('alert').waitFor()
  t.notMatch(await other.locator('main').textContent(), /Of the first/)
  t.same(dashboard.faults, [])
})
