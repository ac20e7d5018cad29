/** The page of the workspace: its name, another one, its deletion, and what a member is not offered. */
import t from 'tap'
import { parseAddress } from '../../src/base/mail/address.js'
import { uuidv7 } from '../../src/base/platform/ids.js'
import { insertMember } from '../../src/workspaces/accounts/people/members.js'
import { insertUser } from '../../src/workspaces/accounts/people/users.js'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

const HOSTILE = 'Shop <img src=x onerror=document.title=1>'
const ADDRESS = 'Shop & <b>Co</b>\n1 High Street'

interface Saved {
  readonly language: string
  readonly name: string
  readonly postal_address: string
}

t.test('a workspace is renamed, another one is created and deleted', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await page.getByRole('link', { name: 'Workspace', exact: true }).click()
  await page.getByLabel('URL of a picture').fill('http://x.test/logo.png')
  await page.getByRole('button', { name: 'Save the settings' }).click()
  await page.waitForSelector('input[name="icon_url"][aria-invalid="true"]')
  await expectPresentable(t, dashboard, 'the workspace with a wrong URL')
  await page.getByLabel('URL of a picture').fill('https://x.test/logo.png')
  await page.getByLabel('Name', { exact: true }).fill(HOSTILE)
  await page.getByRole('button', { name: 'Save the settings' }).click()
  await page.getByText('The settings are saved.').waitFor()
  await page.locator('.workspace-name', { hasText: HOSTILE }).waitFor()
  t.match((await app.rest('GET', `/v1/workspaces/${app.workspaceId}`)).json(), {
    data: { name: HOSTILE, icon_url: 'https://x.test/logo.png' },
  })

  await page.getByLabel('Language of recipients').selectOption('Deutsch')
  await page.getByLabel('Postal address').fill(ADDRESS)
  await page.getByRole('button', { name: 'Save the settings' }).click()
  const read = async () => (await app.rest('GET', `/v1/workspaces/${app.workspaceId}`)).json<{ data: Saved }>().data
  await expectEqual(t, async () => (await read()).postal_address, ADDRESS)
  t.match(await read(), { language: 'de', name: HOSTILE })
  await expectPresentable(t, dashboard, 'the workspace with its language and address')

  await page.getByRole('link', { name: 'Create another workspace' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Second')
  await expectPresentable(t, dashboard, 'the form of a workspace')
  await page.getByRole('button', { name: 'Create the workspace' }).click()
  await page.getByText('The workspace “Second” is created.').waitFor()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  const choice = page.getByLabel('Workspace', { exact: true })
  const chosen = (): Promise<unknown> =>
    page.evaluate('document.querySelector(".workspace-switch option:checked").label')
  t.equal(await chosen(), 'Second')
  await page.getByRole('link', { name: 'Workspace', exact: true }).click()
  await page.getByRole('button', { name: 'Delete Second' }).click()
  const confirm = page.getByRole('dialog').getByRole('button', { name: 'Delete the workspace' })
  await expectEqual(t, () => confirm.isDisabled(), true, 'the name is not typed in yet')
  await expectPresentable(t, dashboard, 'the deletion of a workspace')
  await page.getByLabel('Type “Second” to confirm').fill('Second')
  await confirm.click()
  await page.getByText('The workspace “Second” is deleted.').waitFor()
  await page.locator('.workspace-name', { hasText: HOSTILE }).waitFor()
  await expectEqual(t, () => choice.count(), 0, 'one is left')
  await page.locator('h1:focus', { hasText: 'Overview' }).waitFor()
  await expectEqual(t, () => page.title(), 'Overview · Posthorn')
  t.same(dashboard.faults, [])
})

t.test(
  'a member is offered no settings, and nobody the deletion of the workspace of the operator',
  { skip },
  async (t) => {
    const app = await testDaemon(t)
    t.equal((await app.cli('workspace', 'set-operator', app.workspaceId)).status, 0)
    const dashboard = await openDashboard(t, app)
    const { page } = dashboard
    await dashboard.signIn()
    await dashboard.open('/workspace')
    await page.getByText('posthorn workspace set-operator').waitFor()
    await expectEqual(t, () => page.getByRole('button', { name: 'Delete Own' }).count(), 0)
    const owner = uuidv7(app.now())
    const { workspaceId } = app
    await app.rest('PATCH', `/v1/workspaces/${workspaceId}`, { body: { postal_address: ADDRESS } })
    await app.daemon.database.commit([
      { sql: `update members set role = 'member' where workspace_id = ?`, parameters: [workspaceId] },
      insertUser({
        id: owner,
        email: parseAddress('ann@a.test'),
        full_name: 'Ann',
        password_hash: null,
        created_at: 0,
      }),
      insertMember({ id: uuidv7(app.now()), workspace_id: workspaceId, user_id: owner, role: 'owner', joined_at: 0 }),
    ])
    await dashboard.open('/workspace')
    await page.getByText('Your role').waitFor()
    await page.locator('.fact', { hasText: 'Shop & <b>Co</b>' }).waitFor()
    await expectEqual(t, () => page.getByRole('button', { name: 'Save the settings' }).count(), 0)
    await expectEqual(t, () => page.getByRole('heading', { name: 'Delete the workspace' }).count(), 0)
    t.same(dashboard.faults, [])
  },
)
