/** Sign-in, second factor, password links and sessions, as a person meets them. */
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser, PASSWORD } from '../helpers/http/browser-client.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { type Dashboard, expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual, expectMatch } from '../helpers/ui/expect-shown.js'
import { chooseInAccountMenu, fillSignIn, readCode, startSecondFactor } from '../helpers/ui/steps.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')
const OWNER = 'owner@a.test'

/** Milliseconds. */
const STEP = 30_000

t.test('a wrong password is refused, the right one leads to the page that was asked for', { skip }, async (t) => {
  const app = await testDaemon(t)
  await givePassword(app)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.open('/domains')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await expectPresentable(t, dashboard, 'the sign-in')
  await fillSignIn(page, OWNER, 'not the password')
  await page.getByRole('alert').waitFor()
  await fillSignIn(page, OWNER)
  await page.getByRole('heading', { level: 1, name: 'Domains' }).waitFor()
  await expectMatch(t, () => page.url(), /\/ui\/domains$/)
  t.equal(await page.evaluate('document.cookie'), '', 'scripts do not see the cookie')
  await chooseInAccountMenu(page, 'Sign out')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.same(dashboard.faults, [])
})

interface SecondFactor {
  readonly app: TestDaemon
  readonly dashboard: Dashboard
  readonly secret: string
  readonly codes: readonly string[]
}

/** Uses all but two, is warned, makes new recovery codes. */
async function replaceCodes(t: Test, { app, dashboard, secret, codes }: SecondFactor): Promise<string[]> {
  const { page } = dashboard
  await page.getByText('10 recovery codes are left.').waitFor()
  app.advance(2 * STEP)
  for (const code of codes.slice(0, 8)) t.equal((await openBrowser(app).signIn(OWNER, { code })).status, 201)
  await dashboard.open('/account')
  await page.getByText('2 recovery codes are left.').waitFor()
  await expectPresentable(t, dashboard, 'the account with few recovery codes')
  await page.getByRole('button', { name: 'Make new recovery codes' }).click()
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByLabel('Code from the app').fill('000000')
  await page.getByRole('button', { name: 'Make new codes' }).click()
  await page.waitForSelector('dialog input[name="code"][aria-invalid="true"]')
  await expectPresentable(t, dashboard, 'new recovery codes with a wrong code')
  app.advance(2 * STEP)
  await page.getByLabel('Code from the app').fill(readCode(app, secret))
  await page.getByRole('button', { name: 'Make new codes' }).click()
  await page.getByText('Keep these recovery codes').waitFor()
  const renewed = await page.locator('.codes code').allTextContents()
  await page.getByRole('button', { name: 'I have kept them' }).click()
  await page.getByText('10 recovery codes are left.').waitFor()
  return renewed
}

t.test('the second factor is set up, needed, and turned off', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await chooseInAccountMenu(page, 'Account')
  const secret = await startSecondFactor(page)
  await expectPresentable(t, dashboard, 'the set-up of the second factor')
  await page.getByLabel('Code from the app').fill('000000')
  await page.getByRole('button', { name: 'Turn it on' }).click()
  await page.waitForSelector('dialog input[name="code"][aria-invalid="true"]')
  await page.getByLabel('Code from the app').fill(readCode(app, secret))
  await page.getByRole('button', { name: 'Turn it on' }).click()
  await page.getByText('Keep these recovery codes').waitFor()
  const recovery = await page.locator('.codes code').allTextContents()
  t.equal(recovery.length, 10)
  await expectPresentable(t, dashboard, 'the recovery codes')
  await page.getByRole('button', { name: 'I have kept them' }).click()
  await page.getByText('Enabled', { exact: true }).waitFor()

  await chooseInAccountMenu(page, 'Sign out')
  await fillSignIn(page, OWNER)
  await page.getByRole('heading', { name: 'Second factor' }).waitFor()
  await expectPresentable(t, dashboard, 'the second factor')
  app.advance(STEP)
  await page.getByLabel('Code').fill(readCode(app, secret))
  await page.getByRole('button', { name: 'Sign in' }).click()
  const renewed = await replaceCodes(t, { app, dashboard, secret, codes: recovery })
  t.equal(new Set([...recovery, ...renewed]).size, 20)
  await page.getByRole('button', { name: 'Turn it off' }).click()
  await page.getByLabel('Your password').fill(PASSWORD)
  await page.getByLabel('Code').fill(renewed[0] ?? '')
  await page.getByRole('dialog').getByRole('button', { name: 'Turn it off' }).click()
  await page.getByText('The second factor is off.').waitFor()
  await page.getByRole('button', { name: 'Set it up' }).waitFor()
  t.same(dashboard.faults, [])
})

t.test('sessions are listed and ended, in this browser and in others', { skip }, async (t) => {
  const app = await testDaemon(t)
  const [here, there] = [await openDashboard(t, app), await openDashboard(t, app)]
  await here.signIn()
  await there.signIn()
  // This page loads nothing again by itself, and so a click finds the end of the session.
  await there.open('/keys')
  await here.open('/account')
  await here.page.getByText('This session').waitFor()
  await expectEqual(t, () => here.page.getByRole('button', { name: /^End the session/ }).count(), 1)
  await expectPresentable(t, here, 'the account')
  await here.page.getByRole('button', { name: /^End the session/ }).click()
  await here.page.getByText('The session has ended.').waitFor()
  await there.page.getByRole('link', { name: 'Members' }).click()
  await there.page.getByText('Your session has ended.').waitFor()
  await there.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.pass('it is shown')

  await here.page.getByRole('button', { name: 'Sign out everywhere' }).click()
  await here.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await here.page.reload()
  await here.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  t.same([here.faults, there.faults], [[], []])
})

t.test('a password is changed, and set by a link from the command line', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open('/account')
  const change = async (repeated: string): Promise<void> => {
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByLabel('New password', { exact: true }).fill('staple of the old town')
    await page.getByLabel('Repeat the new password').fill(repeated)
    await page.getByRole('button', { name: 'Change the password' }).click()
  }
  await page.getByLabel('Full name').fill('Ann <b>Lee</b>')
  await page.getByRole('button', { name: 'Change the name' }).click()
  await page.getByText('Your name is changed.').waitFor()
  await page.locator('.user-name', { hasText: 'Ann <b>Lee</b>' }).waitFor()
  await change('another one')
  await page.getByText('The two passwords differ.').waitFor()
  await expectEqual(t, () => page.evaluate('document.activeElement.name'), 'repeated_password')
  await page.getByLabel('New password', { exact: true }).fill('short')
  await page.getByRole('button', { name: 'Change the password' }).click()
  await page.getByText('Must have at least 12 characters.').waitFor()
  t.equal(await page.getByText('The two passwords differ.').count(), 1)
  await change('staple of the old town')
  await page.getByText('The password is changed.').waitFor()
  await expectEqual(t, () => page.getByLabel('Current password').inputValue(), '', 'no password stays in the page')
  await change('staple of the old town')
  await page.waitForSelector('input[name="current_password"][aria-invalid="true"]')
  await expectPresentable(t, dashboard, 'the account with a wrong password')
  await chooseInAccountMenu(page, 'Sign out')

  await dashboard.open('/set-password')
  await page.getByRole('heading', { name: 'The link is incomplete' }).waitFor()
  t.pass('it is shown')
  await dashboard.open('/forgotten-password')
  await page.getByLabel('E-mail address').fill('unknown@a.test')
  await page.getByRole('button', { name: 'Send the link' }).click()
  await page.getByText('If a user has this address').waitFor()
  await expectPresentable(t, dashboard, 'the answer to a forgotten password')

  const made = await app.cli('workspace', 'create', 'Second', '--email', 'new@a.test')
  const path = /\/ui(\/set-password#token=[\w-]+)/.exec(made.out)?.[1] ?? ''
  await dashboard.open(path)
  await page.getByText('Choose the password for the user new@a.test').waitFor()
  await expectPresentable(t, dashboard, 'the page of a link')
  for (const field of ['New password', 'Repeat the new password']) {
    await page.getByLabel(field, { exact: true }).fill('Password2026!')
  }
  await page.getByRole('button', { name: 'Set the password and sign in' }).click()
  await page.getByText('Must not be only a common word').waitFor()
  await page.getByLabel('New password', { exact: true }).fill(PASSWORD)
  await page.getByLabel('Repeat the new password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Set the password and sign in' }).click()
  await page.getByRole('button', { name: 'Account: new@a.test' }).waitFor()
  t.notMatch(page.url(), /token/)
  await dashboard.open(path)
  await page.getByText('The link was used already').waitFor()
  t.same(dashboard.faults, [])
})
