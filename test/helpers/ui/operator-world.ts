/** A daemon whose owner is the operator and signed in to the dashboard; all mail to b.test and google.com is deferred. */
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { type TestDaemon, testDaemon } from '../daemon/test-daemon.js'
import { openSink } from '../smtp/scripted-sink.js'
import { type Dashboard, openDashboard } from './dashboard.js'
import { openGroup } from './steps.js'

/** In replies. */
export const HOSTILE = '<img src=x onerror=alert(1)>'

interface World {
  readonly app: TestDaemon
  readonly dashboard: Dashboard
}

export async function openOperatorWorld(t: Test): Promise<World> {
  const sink = await openSink({ script: { rcpt: () => `450 4.2.0 later ${HOSTILE}` } })
  t.teardown(() => sink.close())
  const plans = { small: { emails_per_month: 5 } }
  const app = await testDaemon(t, {
    routes: { 'b.test': sink, 'google.com': sink },
    level: 'info',
    settings: { limits: { plans } },
  })
  await app.cli('workspace', 'set-operator', app.workspaceId)
  const dashboard = await openDashboard(t, app)
  await dashboard.signIn()
  await openGroup(dashboard.page, 'Operator')
  return { app, dashboard }
}

/** How each entry of the queue is held, oldest first. */
export const listHolds = async (app: TestDaemon): Promise<string[]> =>
  (await app.rows<{ held: number }>('select held from queue order by id')).map(({ held }) => String(held))

export async function expectText(page: Page, text: string): Promise<void> {
  await page.getByText(text).first().waitFor()
}
