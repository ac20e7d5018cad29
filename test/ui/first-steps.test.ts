/** The first visit: the steps of a new workspace, samples that work as they are shown, and the documentation. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { freePort } from '../helpers/free-port.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { runProgram } from '../helpers/programs/run-program.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { type Dashboard, expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual, expectMatch } from '../helpers/ui/expect-shown.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')

/** A daemon whose public URL is its own address, as that of a service without a proxy. */
async function openWorld(t: Test): Promise<{ readonly app: TestDaemon; readonly dashboard: Dashboard }> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const port = await freePort()
  const app = await testDaemon(t, {
    routes: { 'b.test': sink },
    settings: { service: { public_url: `https://localhost:${port}` }, api: { listen: [`127.0.0.1:${port}`] } },
  })
  const dashboard = await openDashboard(t, app)
  await dashboard.signIn()
  return { app, dashboard }
}

t.test('a new workspace is led from its domain to its first email', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  const { commit } = app.daemon.database
  const ofOwn = (sql: string) => ({ sql: `${sql} where workspace_id = ?`, parameters: [app.workspaceId] })
  const setAge = (at: number) => ({ sql: 'update workspaces set created_at = ?', parameters: [at] })
  await commit([
    ofOwn('update api_keys set revoked_at = 1'),
    ofOwn(`update domains set status = 'pending'`),
    setAge(app.now()),
  ])
  await dashboard.open('/overview')
  await page.getByText('0 of 6 are done.').waitFor()
  await expectEqual(t, () => page.getByText('in order').count(), 0, 'nothing is called in order')
  await expectEqual(t, () => page.locator('.chart-title').count(), 0, 'no empty charts')
  await page.getByRole('rowheader', { name: 'CNAME' }).first().waitFor()
  await page.getByRole('button', { name: 'Check now' }).click()
  await page.locator('.notice').waitFor()
  await page.getByRole('button', { name: 'Close the notice' }).click()
  await expectPresentable(t, dashboard, 'the first steps')

  await page.getByRole('button', { name: 'Make the key' }).click()
  const key = (await page.locator('.note .copy code').textContent()) ?? ''
  await expectMatch(t, () => page.locator('.sample pre').textContent(), new RegExp(key), 'the sample has the key')
  await page.getByText('Posthorn refuses emails from a.test until').waitFor()
  await expectPresentable(t, dashboard, 'the first steps with a key')

  await commit([ofOwn(`update domains set status = 'verified'`)])
  await page.getByText('a.test is verified.').waitFor()
  const email = { from: 'hello@a.test', to: 'bob@b.test', subject: 'First one', text: 'hi' }
  t.equal((await app.rest('POST', '/v1/emails', { key, body: email })).status, 201)
  await page.locator('.step', { hasText: 'See it arrive' }).getByText('Delivered').waitFor()
  await page.getByText('4 of 6 are done.').waitFor()
  for (const name of ['Show the domain', 'Show the keys', 'Show the samples again', 'What happened to it']) {
    await page.getByRole('link', { name }).waitFor()
    t.pass(`a step that is done keeps its link: ${name}`)
  }
  await page.locator('.chart-title', { hasText: 'Mail by day' }).waitFor()

  await page.getByRole('button', { name: 'Hide the list' }).click()
  await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'Needs attention' }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Show the first steps' }).click()
  await page.getByText('4 of 6 are done.').waitFor()
  await commit([setAge(1)])
  await page.getByRole('heading', { name: 'First steps' }).waitFor({ state: 'detached' })
  t.same(dashboard.faults, [])
})

t.test('the samples of a new key send as they are', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  await dashboard.open('/keys/new')
  await page.getByLabel('Name').fill('shop')
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.getByRole('heading', { name: 'Send an email with it' }).waitFor()
  await page.getByText('Waiting for your first email').waitFor()
  await expectPresentable(t, dashboard, 'a new key with its samples')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Save the certificate' }).click(),
  ])
  await download.saveAs(join(app.folder, 'posthorn.pem'))
  for (const [title, program, file] of [
    ['curl', 'curl', 'send.sh'],
    ['Node.js', 'node', 'send.mjs'],
    ['Python', 'python3', 'send.py'],
    ['PHP', 'php', 'send.php'],
    ['SMTP', 'curl', 'smtp.sh'],
  ] as const) {
    await page.getByRole('tab', { name: title }).click()
    writeFileSync(join(app.folder, file), await readSample(page, title))
    if (skipWithout(program) !== false) continue
    await runSample(t, app, { title, program: file.endsWith('.sh') ? 'sh' : program, file })
  }
  await page.getByText('Hello from Posthorn', { exact: false }).first().waitFor()
  const story = page.getByRole('status').getByRole('link', { name: 'What happens to it' })
  await story.waitFor()
  await expectPresentable(t, dashboard, 'the email of a sample')
  // The page asks, because the key was not copied.
  page.once('dialog', (question) => void question.accept())
  await story.click()
  await page.getByRole('heading', { level: 1, name: 'Hello from Posthorn' }).waitFor()
  t.same(dashboard.faults, [])
})

async function readSample(page: Page, title: string): Promise<string> {
  await page.getByRole('button', { name: `Copy the sample in ${title}` }).waitFor()
  return (await page.locator('.sample pre').textContent()) ?? ''
}

interface SampleRun {
  readonly title: string
  readonly program: string
  readonly file: string
}

/** PHP needs a module for its sample, which not every machine has. */
async function runSample(t: Test, app: TestDaemon, { title, program, file }: SampleRun): Promise<void> {
  const count = async () => (await app.rows(`select id from emails where source <> 'service'`)).length
  const before = await count()
  const trust = program === 'node' ? 'NODE_EXTRA_CA_CERTS=posthorn.pem ' : ''
  const { stdout: out, stderr: err } = await runProgram([
    'sh',
    '-c',
    `cd '${app.folder}' && ${trust}${program} ${file}`,
  ])
  if (program === 'php' && `${out}${err}`.includes('undefined function curl_init')) return
  t.equal(await count(), before + 1, `the sample in ${title} sends: ${out} ${err}`)
}

t.test('each page links its help, and the help has no dead ends', { skip }, async (t) => {
  const { app, dashboard } = await openWorld(t)
  const { page } = dashboard
  const topics = new Set<string>()
  const paths = await page
    .locator('.navigation a')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href')))
  t.ok(paths.length > 15)
  for (const path of [...paths, '/ui/account', '/ui/emails/new']) {
    await dashboard.open((path ?? '').replace(/^\/ui/, ''))
    topics.add((await page.locator('.page-title .help-link').getAttribute('href')) ?? `no help at ${path}`)
  }
  for (const topic of topics) {
    await dashboard.open(topic.replace(/^\/ui/, ''))
    await expectEqual(t, () => page.getByText('Page not found').count(), 0, topic)
    const [, anchor] = topic.split('#')
    if (anchor !== undefined) await page.locator(`.help [id="${anchor}"]`).waitFor()
  }

  await dashboard.open('/help/simulator')
  const sample = page.locator('.help pre').filter({ hasText: 'curl' })
  await expectMatch(t, () => sample.textContent(), new RegExp(` ${app.config.service.public_url}/v1/emails `))
  await expectEqual(t, () => page.locator('.help pre', { hasText: ':1443' }).count(), 0, 'no port of the quickstart')

  await dashboard.open('/help')
  await page.getByRole('link', { name: 'domains', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Sending domains' }).waitFor()
  await expectPresentable(t, dashboard, 'a page of the documentation')
  await page.getByRole('link', { name: 'Documentation' }).click()
  await page.getByRole('heading', { level: 1, name: 'Documentation' }).waitFor()
  await expectEqual(t, () => page.getByText('I want to change the code').count(), 0, 'pages for developers stay away')
  t.same(dashboard.faults, [])
})
