/** GET /v1/usage: the verification codes of the workspace, and the mail that tells its administrators of a hold. */
import t from 'tap'
import { SERVICE_WORKSPACE } from '../../../../src/base/storage/tables/tables.js'
import { ConversionWatch } from '../../../../src/workspaces/sms/conversion-watch.js'
import { countSent } from '../../../../src/workspaces/sms/sms-usage.js'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { rowOf } from '../../../helpers/database/rows.js'
import { waitUntil } from '../../../helpers/wait-until.js'

t.test('codes are counted by day for their own workspace', async (t) => {
  const app = await testDaemon(t, { settings: { sms: { limits: { per_workspace_per_day: 77 } } } })
  const { commit } = app.daemon.database
  const now = app.now()
  const today = new Date(now).toISOString().slice(0, 10)
  await commit([...countSent(app.workspaceId, 3, now), ...countSent(app.workspaceId, 1, now)])
  const usage = async (key: string): Promise<unknown> =>
    (await app.rest('GET', '/v1/usage', { key })).json<{ readonly sms: unknown }>().sms
  t.strictSame(await usage(app.key), {
    ...{ sms_sent: 2, segments: 4, limit_per_day: 77 },
    days: [{ date: today, sms_sent: 2, segments: 4 }],
  })
  t.strictSame(await usage(app.otherKey), { sms_sent: 0, segments: 0, limit_per_day: 77, days: [] })
})

t.test('a hold is mailed to the administrators of the workspace', async (t) => {
  const app = await testDaemon(t)
  const { read, commit } = app.daemon.database
  const [workspaceId, prefix, now] = [app.workspaceId, '+43660', app.now()]
  const row = rowOf(read)
  const code = { workspace_id: workspaceId, prefix, status: 'expired', created_at: now - 600_000 }
  const codes = Array.from({ length: 20 }, (_, place) => row('sms_codes', { ...code, id: `sms_${place}` }))
  await commit(await Promise.all(codes))
  const watch = new ConversionWatch({ read, commit }, { warn: () => undefined }, () => app.config.sms)
  const refusal = await watch.findHold({ workspaceId, prefix, range: '+436601234', phone: '+4366012345678', now })
  t.equal(refusal?.details['reason'], 'prefix_held')
  const [mail] = await waitUntil('the notice is queued', async () => {
    const rows = await app.rows<{ subject: string }>(
      `select subject from emails where workspace_id = ? and subject like '%+43660%'`,
      SERVICE_WORKSPACE,
    )
    return rows.length > 0 && rows
  })
  t.equal(mail?.subject, 'Verification codes to +43660 are held')
  t.strictSame(app.errors, [])
})
