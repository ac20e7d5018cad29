/** The pages of templates: the list, the editor with its live preview, deletion. */
import t from 'tap'
import { testDaemon } from '../helpers/daemon/test-daemon.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

const SCRIPT = `<script>top.document.title='owned'</script><img src=x onerror="top.document.title='owned'">`

t.test('a template is written with a live preview, changed and deleted', { skip }, async (t) => {
  const app = await testDaemon(t)
  const dashboard = await openDashboard(t, app)
  const { page } = dashboard
  await dashboard.signIn()
  await dashboard.open('/templates')
  await page.getByText('No template yet').waitFor()
  await page.getByRole('link', { name: 'Create a template' }).click()
  await page.getByRole('button', { name: 'Create the template' }).click()
  await page.waitForSelector('input[name="name"][aria-invalid="true"]')

  await page.getByLabel('Name', { exact: true }).fill(`Welcome ${SCRIPT}`)
  await page.getByLabel('Subject').fill('Hello {{first_name}}')
  await page.getByRole('button', { name: 'Write HTML instead' }).click()
  await page.getByLabel('HTML').fill(`<p>Hello {{first_name}} of {{address.city|Rome}}</p>${SCRIPT}`)
  const frame = page.frameLocator('iframe')
  await frame.getByText('Hello {{first_name}} of Rome').waitFor()
  await page.getByText('Variables without a value').waitFor()
  await page.getByLabel('first_name').fill('<b>Ann</b>')
  await page.getByLabel('address.city').fill('Oslo')
  await frame.getByText('Hello <b>Ann</b> of Oslo').waitFor()
  await page.getByText('Variables without a value').waitFor({ state: 'detached' })
  await expectEqual(t, () => page.locator('.preview-subject strong').textContent(), 'Hello <b>Ann</b>')
  await page.getByRole('button', { name: 'Create the template' }).click()
  await page.getByText('is created.').waitFor()
  await page.getByRole('heading', { level: 1, name: `Welcome ${SCRIPT}` }).waitFor()
  await frame.getByText('Hello {{first_name}} of Rome').waitFor()
  await expectPresentable(t, dashboard, 'the editor of a template')

  await page.getByLabel('Subject').fill('')
  await page.getByLabel('HTML').fill('x'.repeat(1_048_600))
  await page.getByRole('button', { name: 'Save the template' }).click()
  await page.getByRole('alert').first().waitFor()
  await page.getByLabel('HTML').fill('<p>Bye</p>')
  await page.getByLabel('Subject').fill('Bye')
  await page.getByRole('button', { name: 'Save the template' }).click()
  await page.getByText('The template is saved.').waitFor()
  t.match(await app.rows('select subject, html, variables from templates'), [
    { subject: 'Bye', html: '<p>Bye</p>', variables: '[]' },
  ])

  await dashboard.open('/templates')
  await page.getByRole('link', { name: 'Welcome' }).waitFor()
  await expectPresentable(t, dashboard, 'the list of templates')
  await page.getByRole('link', { name: 'Welcome' }).click()
  await page.getByRole('button', { name: 'Delete the template' }).click()
  await page.getByLabel('to confirm').fill(`Welcome ${SCRIPT}`)
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the template' }).click()
  await page.getByText('No template yet').waitFor()
  t.not(await page.title(), 'owned')
  t.same(
    dashboard.faults.filter((fault) => !/sandbox|Content Security Policy/i.test(fault)),
    [],
    'what the frame refuses to run is all that the console names',
  )
})
