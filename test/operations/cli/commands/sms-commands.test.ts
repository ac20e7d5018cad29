/** `posthorn sms …` beside a daemon, through a gateway. */
import t, { type Test } from 'tap'
import type { SmsHoldsTable } from '../../../../src/base/storage/tables/sms-tables.js'
import { type TestDaemon, testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { openSmsGateway, type SmsGateway, smsSettings } from '../../../helpers/http/sms-gateway.js'

const PHONE = '+4915123456701'

async function setUp(t: Test): Promise<{ app: TestDaemon; gateway: SmsGateway; workspace: readonly string[] }> {
  const gateway = await openSmsGateway(t)
  const app = await testDaemon(t, { settings: { sms: smsSettings(gateway) } })
  return { app, gateway, workspace: ['--workspace', app.workspaceId] }
}

t.test('a code is sent and checked', async (t) => {
  const { app, gateway, workspace } = await setUp(t)
  const sent = await app.cli('sms', 'send', '+49 151 234567-01', ...workspace)
  t.match(sent, {
    status: 0,
    out: /^the provider took over the message to \+4915123456701 \([0-9a-f-]{36}\)\nthe code is valid until \S+: /,
  })
  t.match(gateway.messages[0]?.body, /^Your verification code is \d{6}, valid for 10 minutes\.$/)
  t.match(await app.cli('sms', 'check', PHONE, 'wrong', ...workspace), {
    status: 1,
    out: /^invalid: .*2 attempts are left/,
  })
  const code = gateway.codeFor(PHONE) ?? ''
  const checked = await app.cli('sms', 'check', PHONE, code, ...workspace, '--json')
  t.match(checked.json(), { valid: true, status: 'verified' })
  t.equal(checked.status, 0)

  const options = ['--template', '{code}!{minutes}', '--code-length', '8', '--expiry-minutes', '5']
  const other = await app.cli('sms', 'send', PHONE, ...options, ...workspace, '--json')
  t.match(other.json(), { id: /^[0-9a-f-]{36}$/, phone: PHONE, status: 'sent', expires_at: /Z$/ })
  t.match(gateway.messages[1]?.body, /^\d{8}!5$/)
  const body = { phone: PHONE, code: gateway.codeFor(PHONE) }
  t.match((await app.rest('POST', '/v1/sms/verify/check', { body })).json(), { valid: true }, 'the daemon knows it')
})

t.test('what goes wrong is one line, and the exit status 1 or 2', async (t) => {
  const { app, gateway, workspace } = await setUp(t)
  const run = (...words: readonly string[]) => app.cli('sms', ...words, ...workspace)
  t.match(await run('send', '+4915123456798'), {
    status: 1,
    err: /^posthorn: the SMS provider did not accept the message\n$/,
  })
  t.match(await run('send', '+33612345678'), { status: 1, err: /^posthorn: phone: [^\n]*\n$/ })
  t.match(await run('send', PHONE, '--template', 'Hi'), {
    status: 1,
    err: /^posthorn: template: must contain \{code\}\n$/,
  })
  t.match(await run('send'), { status: 2, err: /PHONE is missing/ })
  t.match(await run('send', PHONE, '--code-length', '9'), {
    status: 2,
    err: /--code-length: found "9", allowed: .* 4 to 8/,
  })
  t.match(await run('send', PHONE, '--expiry-minutes', 'x'), { status: 2, err: /allowed: a whole number from 1 to 60/ })
  t.match(await run('check', PHONE), { status: 2, err: /CODE is missing/ })
  t.match(await run('check', PHONE, '1'.repeat(21)), { status: 1, err: /code: must have 1 to 20 characters/ })
  t.match(await run('check', '12', '1234'), { status: 1, err: /^posthorn: phone: / })
  t.match(await app.cli('sms', 'send', PHONE), { status: 1, err: /several workspaces, choose one/ })
  t.same(gateway.messages, [])
  const bare = await testDaemon(t)
  t.match(await bare.cli('sms', 'send', PHONE, '--workspace', bare.workspaceId), {
    status: 1,
    err: /^posthorn: no SMS provider is configured\n$/,
  })
})

async function hold(app: TestDaemon, workspaceId: string, prefix: string): Promise<void> {
  const row: SmsHoldsTable = {
    ...{ workspace_id: workspaceId, prefix, held_at: app.now(), until_at: app.now() + 3_600_000 },
    ...{ sent: 40, verified: 1, released_at: null },
  }
  const columns = Object.keys(row)
  const sql = `insert into sms_holds (${columns.join()}) values (${columns.map(() => '?').join()})`
  await app.daemon.database.commit([{ sql, parameters: Object.values(row) }])
}

t.test('held prefixes are listed and released', async (t) => {
  const { app, gateway, workspace } = await setUp(t)
  t.match(await app.cli('sms', 'holds'), { status: 0, out: /\n0 held\n$/ })
  for (const id of [app.workspaceId, app.otherWorkspaceId]) await hold(app, id, '+49151')
  await hold(app, app.workspaceId, '+1212')
  t.match(await app.cli('sms', 'holds'), {
    out: /^WORKSPACE +PREFIX .*\nws_\S+ +\+\d+ +\S+Z +\S+Z +40 +1\n.*\n3 held\n$/s,
  })
  const listed = (await app.cli('sms', 'holds', ...workspace, '--json')).json() as { readonly data: readonly object[] }
  t.equal(listed.data.length, 2)
  t.match(listed.data[0], { workspace_id: app.workspaceId, sent: 40, verified: 1 })

  const send = () => app.rest('POST', '/v1/sms/verify/send', { body: { phone: PHONE } })
  t.match((await send()).json(), { error: { code: 'rate_limit_exceeded', details: { reason: 'prefix_held' } } })
  t.match(await app.cli('sms', 'release', '+49151', ...workspace), {
    status: 0,
    out: /may send codes to \+49151 again\n$/,
  })
  t.equal((await send()).status, 200)
  t.equal(gateway.messages.length, 1)
  t.match(await app.cli('sms', 'release', '+49151', ...workspace), { status: 1, err: /\+49151 is not held/ })
  t.match(await app.cli('sms', 'release', '49151'), { status: 0, out: new RegExp(`^${app.otherWorkspaceId} `) }, 'all')
  t.match(await app.cli('sms', 'holds'), { out: /\n1 held\n$/ })
  const acts = await app.rows<{ target: string }>(`select target from audit_log where action = 'sms.hold_released'`)
  t.same(acts, [{ target: '+49151' }, { target: '+49151' }])
})
