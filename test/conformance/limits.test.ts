/** Limits and quotas of plans and of verification codes, as the document names them, reached over HTTPS. */
import t from 'tap'
import { openSmsGateway, smsSettings } from '../helpers/http/sms-gateway.js'
import { limits } from './rows/limits.js'
import { smsLimits, withoutProvider } from './rows/sms-limits.js'
import { proveCase } from './support/prove.js'
import { createWorld } from './support/world.js'

const plans = {
  monthly: { emails_per_month: 2 },
  daily: { emails_per_day: 2 },
  prepaid: { credits: 1 },
  slow: { requests_per_minute: 2 },
}

t.test('a limit that is reached is reported with its code and the time to retry', async (t) => {
  const one = await createWorld(t, { settings: { limits: { plans } } })
  for (const [plan, cases] of Object.entries(limits)) {
    const { status, err } = await one.app.cli('workspace', 'set-plan', one.app.workspaceId, plan)
    t.equal(status, 0, err)
    for (const given of cases) await proveCase(t, one, `plan ${plan}`, given)
  }
  t.same(one.app.errors, [])
})

for (const { says, limits, cases } of smsLimits) {
  t.test(`verification codes: ${says}`, async (t) => {
    const gateway = await openSmsGateway(t)
    const one = await createWorld(t, { settings: { sms: smsSettings(gateway, limits) } })
    for (const given of cases) await proveCase(t, one, says, given)
    t.equal(gateway.messages.length, cases.filter(({ refused }) => refused === undefined).length)
    t.same(one.app.errors, [])
  })
}

t.test('verification codes without a provider', async (t) => {
  const one = await createWorld(t)
  for (const given of withoutProvider) await proveCase(t, one, 'no provider', given)
  t.same(await one.app.rows('select id from sms_codes'), [], 'nothing is stored')
  t.same(one.app.errors, [])
})
