/** Receipts through the real listener: what gateways send, wrong tokens, limits, and faults of the storage. */
import { createSecretKey } from 'node:crypto'
import t, { type Test } from 'tap'
import { StorageFault } from '../../../../src/base/storage/db/write.js'
import { readReceiptReport, receiptRoutes } from '../../../../src/servers/api/sms/receipts.js'
import type { Receipt } from '../../../../src/workspaces/sms/provider.js'
import { buildReceiptUrl } from '../../../../src/workspaces/sms/receipt-url.js'
import { findFaults, request, startTestApi, type TestApi, type TestApiOptions } from '../../../helpers/http/test-api.js'
import type { WireAnswer } from '../../../helpers/http/wire.js'

const secret = createSecretKey(Buffer.alloc(32, 3))
const ID = '0197b9e5-5c1c-7cf4-8d1f-0b6a2f6f4a10'
const path = buildReceiptUrl(secret, '', ID)
const wrongPath = path.replace(/.{4}$/, (end) => (end === 'aaaa' ? 'bbbb' : 'aaaa'))

interface Received extends TestApi {
  readonly receipts: Receipt[]
  readonly report: (body: string, type: string, where?: string) => Promise<WireAnswer>
}

async function startReceipts(t: Test, options: TestApiOptions = {}, fault?: Error): Promise<Received> {
  const receipts: Receipt[] = []
  const applyReceipt = async (receipt: Receipt): Promise<'applied'> => {
    if (fault !== undefined) throw fault
    receipts.push(receipt)
    return 'applied'
  }
  const api = await startTestApi(t, { ...options, routes: receiptRoutes({ secret, sms: { applyReceipt } }) })
  const report: Received['report'] = async (body, type, where = path) => {
    const client = await api.connect()
    client.send(
      `${request(`POST ${where}`, `Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`)}${body}`,
    )
    const answer = await client.answer()
    client.socket.destroy()
    return answer
  }
  return { ...api, receipts, report }
}

const form = 'application/x-www-form-urlencoded'
const receiptOf = (state: Receipt['state'], reason: string): Receipt => ({
  ...{ provider: 'http', messageIds: [], smsId: ID, state },
  reason,
})

t.test('what gateways report, in their own forms', async (t) => {
  const api = await startReceipts(t)
  const twilio = (status: string, code = ''): string =>
    new URLSearchParams({
      ...{ SmsSid: 'SM1', SmsStatus: status, MessageStatus: status, To: '+4915123456789', MessageSid: 'SM1' },
      ...{
        AccountSid: 'AC1',
        From: '+15557122661',
        ApiVersion: '2010-04-01',
        ...(code === '' ? {} : { ErrorCode: code }),
      },
    }).toString()
  const cases: readonly (readonly [string, string, Receipt | null])[] = [
    [twilio('delivered'), form, receiptOf('delivered', 'delivered')],
    [twilio('undelivered', '30003'), form, receiptOf('failed', 'undelivered, code 30003')],
    [twilio('failed', '30008'), `${form}; charset=utf-8`, receiptOf('failed', 'failed, code 30008')],
    [twilio('sent'), form, null],
    [twilio('queued'), form, null],
    [
      '{"message_uuid":"a","status":"rejected","error":{"name":"1050"}}',
      'application/json',
      receiptOf('failed', 'rejected, code 1050'),
    ],
    [
      '{"msisdn":"49151","status":"delivered","err-code":"0"}',
      'application/json',
      receiptOf('delivered', 'delivered, code 0'),
    ],
    ['id=s1&status=delivered&delivered=2026-01-01', form, receiptOf('delivered', 'delivered')],
    ['{"status":{"name":"Undelivered"}}', 'text/plain', receiptOf('failed', 'Undelivered')],
    ['stat=DELIVRD&err=000', 'text/plain', receiptOf('delivered', 'DELIVRD, code 000')],
    ['nonsense', 'text/plain', null],
    ['{"status":', 'application/json', null],
    ['', form, null],
  ]
  for (const [body, type, expected] of cases) {
    const answer = await api.report(body, type)
    t.same([answer.status, answer.body], [204, ''], body)
    t.same(api.receipts.splice(0), expected === null ? [] : [expected], body)
  }
  t.same(findFaults(api.log), [])
})

t.test('a report in the query, under all paths; a HEAD reports nothing', async (t) => {
  const api = await startReceipts(t)
  for (const prefix of ['/v1', '/api/v1', '']) {
    const where = path.replace('/v1', prefix)
    t.equal((await api.ask(`GET ${where}?status=DELIVERED&id=7&id=8`)).status, 204)
    t.same(api.receipts.splice(0), [receiptOf('delivered', 'DELIVERED')])
  }
  t.equal((await api.ask(`HEAD ${path}?status=delivered`)).status, 204)
  t.equal((await api.ask(`GET ${path}`)).status, 204)
  t.same(api.receipts, [])
  await api.report('state=expired', form, `${path}?state=delivered`)
  t.same(api.receipts, [receiptOf('failed', 'expired')], 'the body counts before the query')
  t.equal((await api.ask(`DELETE ${path}`)).status, 405)
})

t.test('a wrong token is answered 404, before the body is read', async (t) => {
  const api = await startReceipts(t)
  const other = path.replace(/0(?=\/)/, '1')
  for (const where of [
    wrongPath,
    other,
    `${path}a`,
    path.slice(0, -1),
    path.toUpperCase().replace('/V1/SMS/RECEIPTS', '/v1/sms/receipts'),
  ]) {
    const answer = await api.report('MessageStatus=delivered', form, where)
    t.equal(answer.status, 404, where)
    t.match(JSON.parse(answer.body), { error: { code: 'not_found' } })
  }
  t.equal((await api.ask(`POST ${wrongPath}`, 'Content-Length: 1000000')).status, 404)
  t.same(api.receipts, [])
})

t.test('the log has neither tokens nor what a gateway must not write', async (t) => {
  const api = await startReceipts(t)
  await api.report(`status=${encodeURIComponent(`failed${'x'.repeat(500)}`)}`, form)
  await api.report(`status=failed&err=${encodeURIComponent(`a\r\nb\u0000${'y'.repeat(500)}`)}`, form)
  t.same(api.receipts, [receiptOf('failed', `failed, code a  b ${'y'.repeat(95)}`)])
  await api.report('status=failed', form, wrongPath)
  const token = path.slice(path.lastIndexOf('/') + 1)
  const text = JSON.stringify(api.log)
  t.notOk(text.includes(token))
  t.ok(text.includes('/sms/receipts/:id/:token'))
})

t.test('a body of 16 KB is read, a longer one refused', async (t) => {
  const api = await startReceipts(t)
  const start = 'status=delivered&x='
  const body = start + 'x'.repeat(16_384 - start.length)
  t.equal((await api.report(body, form)).status, 204)
  t.equal(api.receipts.length, 1)
  t.equal((await api.report(`${body}x`, form)).status, 413)
  t.equal(api.receipts.length, 1)
})

t.test('limits of clients without a key count wrong tokens, and keep no receipt away', async (t) => {
  const api = await startReceipts(t, { unauthenticatedRequests: 3 })
  for (let count = 0; count < 20; count += 1) t.equal((await api.report('status=delivered', form)).status, 204)
  const statuses: number[] = []
  for (let count = 0; count < 5; count += 1)
    statuses.push((await api.report('status=delivered', form, wrongPath)).status)
  t.same(statuses, [404, 404, 404, 429, 429])
  t.equal((await api.report('status=delivered', form)).status, 204, 'from the same address')
  t.equal(api.receipts.length, 21)
})

t.test('a fault of the storage is answered 503: the gateway should repeat the report', async (t) => {
  const api = await startReceipts(t, {}, new StorageFault('SQLITE_FULL', 'the disk is full'))
  const answer = await api.report('MessageStatus=delivered', form)
  t.equal(answer.status, 503)
  t.match(JSON.parse(answer.body), { error: { code: 'service_unavailable' } })
})

t.test('words of states', async (t) => {
  const stateOf = (word: string): string | undefined => readReceiptReport(new Map([['status', word]]))?.state
  for (const word of ['delivered', 'DELIVRD', 'Delivered', 'DeliveredToTerminal', 'delivered to handset', 'SUCCESS']) {
    t.equal(stateOf(word), 'delivered', word)
  }
  for (const word of [
    'failed',
    'UNDELIV',
    'undelivered',
    'REJECTD',
    'Rejected',
    'EXPIRED',
    'deleted',
    'not_delivered',
    'delivery-failed',
  ]) {
    t.equal(stateOf(word), 'failed', word)
  }
  for (const word of [
    '',
    'sent',
    'queued',
    'ACCEPTD',
    'ENROUTE',
    'UNKNOWN',
    'buffered',
    '200',
    'constructor',
    'deliver',
  ]) {
    t.equal(stateOf(word), undefined, word)
  }
  t.equal(
    readReceiptReport(
      new Map([
        ['messagestatus', 'sent'],
        ['status', 'delivered'],
      ]),
    ),
    null,
    'the first field counts',
  )
})
