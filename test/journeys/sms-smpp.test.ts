/**
 * Verification codes through an SMSC of other authors (Debian's Net::SMPP) that is killed with SIGKILL and comes back
 * while codes are sent: each answer of the API is true, and no message is submitted twice.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createSelfSigned } from '../helpers/certificates.js'
import { type TestDaemon, testDaemon } from '../helpers/daemon/test-daemon.js'
import { temporaryFolder } from '../helpers/database/database.js'
import { freePort } from '../helpers/free-port.js'
import { netSmppServer, skipWithoutNetSmpp } from '../helpers/programs/net-smpp.js'
import { openSmsc } from '../helpers/sms/smsc.js'
import { waitUntil } from '../helpers/wait-until.js'

interface Submitted {
  readonly phone: string
  readonly octets: string
}

type Smsc = Awaited<ReturnType<typeof netSmppServer>>

const limits = {
  per_range_per_hour: 10_000,
  per_workspace_per_minute: 10_000,
  per_workspace_per_hour: 10_000,
  min_verified_percent: 0,
}

/** The simulated phones end in 1; other ends have other meanings to the SMSC. */
const phoneOf = (place: number): string => `+49151234${String(place).padStart(4, '0')}1`

async function openApp(t: Test, port: number, more: object = {}): Promise<TestDaemon> {
  const smpp = { url: `smpp://127.0.0.1:${port}`, system_id: 'posthorn', password: 'secret08', ...more }
  const sms = { provider: 'smpp', sender: 'Posthorn', allowed_countries: ['DE'], limits, smpp }
  return testDaemon(t, { level: 'debug', settings: { sms } })
}

async function send(app: TestDaemon, phone: string, template = 'code {code}'): Promise<number> {
  return (await app.rest('POST', '/v1/sms/verify/send', { body: { phone, template, code_length: 8 } })).status
}

async function check(app: TestDaemon, phone: string, code: string): Promise<string> {
  const answer = await app.rest('POST', '/v1/sms/verify/check', { body: { phone, code } })
  return answer.json<{ readonly status: string }>().status
}

const rowOf = async (app: TestDaemon, phone: string) =>
  (
    await app.rows<{ readonly status: string; readonly delivery: string; readonly reason: string | null }>(
      'select status, delivery, reason from sms_codes where phone = ? order by id desc',
      phone,
    )
  )[0]

async function listSubmitted(smsc: Smsc): Promise<readonly Submitted[]> {
  return smsc.listLines('"submit_sm"').map((line): Submitted => JSON.parse(line))
}

/** Digits and letters are the same octets in GSM 03.38 and ASCII. */
const codeIn = ({ octets }: Submitted): string =>
  /code (\d{8})/.exec(Buffer.from(octets, 'hex').toString('latin1'))?.[1] ?? ''

t.test('an SMSC that is killed twice while codes are sent', { skip: skipWithoutNetSmpp() }, async (t) => {
  const port = await freePort()
  const servers = [await netSmppServer(t, port, '1000')]
  const app = await openApp(t, port)
  const statuses = new Map<string, number>()
  for (const round of [1, 2, 3]) {
    const phones = Array.from({ length: 40 }, (_, place) => phoneOf(round * 1_000 + place))
    const current = servers.at(-1)
    const submit = async (phone: string): Promise<unknown> => statuses.set(phone, await send(app, phone))
    const sends = phones.slice(0, 20).map(submit)
    if (current !== undefined) await waitUntil('some messages', () => current.listLines('"submit_sm"').length >= 5)
    if (round === 2) {
      await Promise.all(sends)
      current?.signal('SIGSTOP') // a stopped process answers none of what follows, so these wait at the kill
    }
    sends.push(...phones.slice(20).map(submit))
    if (round < 3) {
      const [last] = phones.slice(-1)
      await waitUntil('the last of the messages', async () => (await rowOf(app, last ?? '')) !== undefined)
      current?.signal('SIGKILL')
      servers.push(await netSmppServer(t, port, `${round + 1}000`))
    }
    await Promise.all(sends)
  }
  const submitted = (await Promise.all(servers.map(listSubmitted))).flat()
  t.equal(new Set(submitted.map(({ phone }) => phone)).size, submitted.length, 'no message is submitted twice')
  const counts = { sent: 0, void: 0 }
  for (const [phone, status] of statuses) {
    const found = submitted.find((each) => `+${each.phone}` === phone)
    const row = await rowOf(app, phone)
    if (status === 200) {
      counts.sent += 1
      t.ok(found !== undefined && row?.status === 'pending', `${phone}: the SMSC has it`)
      if (found !== undefined) t.equal(await check(app, phone, codeIn(found)), 'verified')
    } else {
      counts.void += 1
      t.ok(status === 503 || status === 504, `${phone}: ${status}`)
      t.match(row, { status: 'void', delivery: 'failed', reason: status === 503 ? 'refused' : 'silent' })
      if (found !== undefined) t.equal(await check(app, phone, codeIn(found)), 'invalid', 'its code is void')
    }
  }
  t.ok(counts.sent >= 80 && counts.void >= 1, JSON.stringify(counts))
  const isDelivered = async (): Promise<boolean> => (await rowOf(app, phoneOf(3_039)))?.delivery === 'delivered'
  await waitUntil('the receipts of the last round', isDelivered)
  const log = app.lines.join('')
  t.notOk(
    submitted.some((each) => log.includes(codeIn(each))),
    'no line of the log has a code',
  )
  t.same(app.errors, [])
})

t.test('long texts, other letters, refusals and receipts', { skip: skipWithoutNetSmpp() }, async (t) => {
  const port = await freePort()
  const smsc = await netSmppServer(t, port, 'fff0')
  const app = await openApp(t, port)
  const [long, failing, refused] = ['+4915123456784', '+4915123456785', '+4915123456788']
  t.equal(await send(app, long, `Ваш код {code} ${'я'.repeat(100)}`), 200)
  t.equal(await send(app, failing), 200)
  t.equal(await send(app, refused), 503)
  await waitUntil(
    'receipts',
    async () =>
      (await rowOf(app, long))?.delivery === 'delivered' && (await rowOf(app, failing))?.delivery === 'failed',
  )
  t.match(await rowOf(app, failing), { status: 'pending', delivery: 'failed', reason: 'undelivered' })
  t.match(await rowOf(app, refused), { status: 'void', delivery: 'failed', reason: 'refused' })
  t.same(await app.rows('select part, message_id, state from sms_parts where state = ? order by part', 'delivered'), [
    { part: 1, message_id: 'FFF1', state: 'delivered' },
    { part: 2, message_id: 'FFF2', state: 'delivered' },
  ])
  const octets = (await listSubmitted(smsc)).slice(0, 2).map((each) => Buffer.from(each.octets, 'hex').subarray(6))
  const text = Buffer.concat(octets).swap16().toString('utf16le')
  t.equal(await check(app, long, /код (\d{8})/.exec(text)?.[1] ?? ''), 'verified')
  const types = await app.rows<{ readonly type: string }>(
    `select type from events where type like 'sms.%' order by type`,
  )
  t.same(
    types.map(({ type }) => type),
    ['sms.delivered', 'sms.failed', 'sms.failed', 'sms.sent', 'sms.sent', 'sms.verified'],
  )
})

t.test('TLS with the authority of ca_file, and without it', async (t) => {
  const tls = await createSelfSigned(['127.0.0.1'])
  const smsc = await openSmsc(t, { tls })
  const caFile = join(temporaryFolder(t), 'ca.pem')
  writeFileSync(caFile, tls.cert)
  const url = `smpps://127.0.0.1:${smsc.port}`
  const phone = phoneOf(1)
  t.equal(await send(await openApp(t, smsc.port, { url, ca_file: caFile }), phone), 200)
  const distrustful = await openApp(t, smsc.port, { url })
  t.equal(await send(distrustful, phone), 503)
  t.equal(smsc.listReceived('bind_transceiver').length, 1, 'the password was sent to the trusted SMSC alone')
  t.ok(distrustful.lines.some((line) => line.includes('self-signed certificate')))
})
