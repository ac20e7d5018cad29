/** The pages of members and the audit log: invite, join in a second browser, change a role, transfer, remove. */
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { PASSWORD } from '../helpers/http/browser-client.js'
import { CHROMIUM } from '../helpers/programs/chromium.js'
import { skipWithout } from '../helpers/programs/skip-without.js'
import { openSink, type ScriptedSink } from '../helpers/smtp/scripted-sink.js'
import { type Dashboard, expectPresentable, openDashboard } from '../helpers/ui/dashboard.js'
import { expectEqual } from '../helpers/ui/expect-shown.js'
import { acceptInvitation } from '../helpers/ui/steps.js'

const skip = skipWithout(CHROMIUM.split('/').at(-1) ?? '')
const HOSTILE = '<img src=x onerror="document.title=1">'

interface World {
  readonly app: TestDaemon
  readonly sink: ScriptedSink
  readonly owner: Dashboard
}

async function openWorld(t: Test): Promise<World> {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const app = await testDaemon(t, { routes: { 'b.test': sink, 'a.test': sink } })
  await app.rest('PATCH', `/v1/workspaces/${app.workspaceId}`, { body: { name: HOSTILE } })
  const owner = await openDashboard(t, app)
  await owner.signIn()
  return { app, sink, owner }
}

async function invite(page: Page, email: string): Promise<void> {
  await page.getByRole('button', { name: 'Invite a person' }).click()
  await page.getByLabel('E-mail address').fill('no address')
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  await page.waitForSelector('input[name="email"][aria-invalid="true"]')
  await page.getByLabel('E-mail address').fill(email)
  await page.getByRole('radio', { name: /^Admin/ }).check()
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  await page.getByText(`The invitation of ${email} is sent.`).waitFor()
}

t.test(
  'a person is invited, joins in another browser, becomes the owner, and removes the former',
  { skip },
  async (t) => {
    const world = await openWorld(t)
    const { page } = world.owner
    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByText('No pending invitation').waitFor()
    await invite(page, 'nina@b.test')
    await page.getByRole('rowheader', { name: 'nina@b.test' }).waitFor()
    await expectPresentable(t, world.owner, 'members and invitations')

    const nina = await openDashboard(t, world.app)
    await world.sink.waitUntil(() => world.sink.messages.length === 1)
    const mail = world.sink.messages[0]?.raw ?? Buffer.alloc(0)
    await acceptInvitation(nina, { email: 'nina@b.test', name: `Nina ${HOSTILE}`, mail })
    await world.owner.open('/members')
    const person = page.getByRole('rowheader', { name: `Nina ${HOSTILE}` })
    await person.waitFor()
    await page.getByRole('button', { name: /^Change the role of Nina/ }).click()
    await page.getByRole('radio', { name: /^Member/ }).check()
    await expectPresentable(t, world.owner, 'the dialog of a role')
    await page.getByRole('button', { name: 'Change the role', exact: true }).click()
    await page.getByText('is a member now.').waitFor()
    await nina.open('/members')
    await nina.page.getByText('(you)').waitFor()
    await expectEqual(
      t,
      () => nina.page.getByRole('button', { name: 'Invite a person' }).count(),
      0,
      'her role counts at once',
    )
    await nina.open('/audit-log')
    await nina.page.getByText('Only the owner and admins see the audit log').waitFor()

    await page.getByRole('button', { name: /^Make Nina/ }).click()
    await page.getByLabel('to confirm').fill(HOSTILE)
    await page.getByLabel('Your password').fill('a wrong password')
    await page.getByRole('button', { name: 'Transfer the workspace' }).click()
    await page.waitForSelector('input[name="password"][aria-invalid="true"]')
    await expectPresentable(t, world.owner, 'the transfer with a wrong password')
    await page.getByLabel('Your password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Transfer the workspace' }).click()
    await page.getByText('owns the workspace now.').waitFor()
    await page.getByRole('button', { name: /^Make/ }).first().waitFor({ state: 'detached' })

    await nina.open('/members')
    await nina.page.getByRole('button', { name: 'Remove owner@a.test' }).click()
    await nina.page.getByLabel('to confirm').fill('owner@a.test')
    await nina.page.getByRole('button', { name: 'Remove the member' }).click()
    await nina.page.getByText('owner@a.test is removed.').waitFor()
    await world.owner.open('/members')
    await page.getByText('You do not belong to a workspace').waitFor()

    await nina.open('/audit-log')
    for (const sentence of [
      'removed the admin owner@a.test',
      `transferred the workspace from owner@a.test to Nina ${HOSTILE} (nina@b.test)`,
      `made Nina ${HOSTILE} (nina@b.test) a member`,
      'joined as an admin with the address nina@b.test',
      'invited nina@b.test as an admin',
      `renamed the workspace to “${HOSTILE}”`,
    ]) {
      await nina.page.getByText(sentence, { exact: true }).waitFor()
      t.pass(sentence)
    }
    await nina.page.getByText('invited nina@b.test as an admin').click()
    await nina.page.getByText('"action": "member.invited"').waitFor()
    await expectPresentable(t, nina, 'the audit log')
    t.same([world.owner.faults, nina.faults], [[], []])
  },
)

t.test('an invitation is cancelled, and the audit log is read in pages', { skip }, async (t) => {
  const { app, owner } = await openWorld(t)
  const { page } = owner
  await owner.open('/members')
  await invite(page, 'bob@b.test')
  await page.getByRole('button', { name: 'Cancel the invitation of bob@b.test' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('to confirm').fill('bob@b.test')
  await dialog.getByRole('button', { name: 'Cancel the invitation' }).click()
  await page.getByText('is cancelled.').waitFor()
  await page.getByText('No pending invitation').waitFor()

  for (let n = 0; n < 30; n += 1) {
    const made = await app.rest('POST', '/v1/api-keys', { body: { name: `key ${n} ${HOSTILE}` } })
    await app.rest('DELETE', `/v1/api-keys/${made.json<{ id: string }>().id}`)
  }
  await owner.open('/audit-log')
  await page.getByText(`revoked the key “key 29 ${HOSTILE}”`, { exact: true }).waitFor()
  await page.getByText('with the key').first().waitFor()
  await page.getByRole('button', { name: 'Next ›' }).click()
  await page.getByText('cancelled the invitation of bob@b.test').waitFor()
  await page.getByRole('button', { name: '‹ Previous' }).click()
  await page.getByText(`created the key “key 29 ${HOSTILE}”`, { exact: true }).waitFor()
  await expectEqual(t, () => page.title(), 'Audit log · Posthorn', 'hostile names stay text')
  t.same(owner.faults, [])
})

t.test('each action of the audit log has a sentence', async (t) => {
  const [actions = ''] =
    /export type AuditAction =[^/]*/.exec(readFileSync('src/workspaces/accounts/access/audit-log.ts', 'utf8')) ?? []
  const names = [...actions.matchAll(/'([a-z_]+\.[a-z_]+)'/g)].map(([, name]) => name ?? '')
  t.ok(names.length > 40, `${names.length} actions`)
  const sentences = readFileSync('src/ui/pages/audit-log/describe-act.ts', 'utf8')
  t.same(
    names.filter((name) => !sentences.includes(`'${name}'`)),
    [],
  )
})
