/** Receipts on a real database: every order of them against a model, at the same moment, too early, and repeated. */
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { StorageFault } from '../../../src/base/storage/db/write.js'
import { ReceiptApplier } from '../../../src/workspaces/sms/apply-receipt.js'
import type { Receipt } from '../../../src/workspaces/sms/provider.js'
import type { CodeRow } from '../../../src/workspaces/sms/sms-records.js'
import { PHONE, refused, START, sendCode, testCodes } from '../../helpers/sms/test-codes.js'
import { waitUntil } from '../../helpers/wait-until.js'

interface Receipts extends Awaited<ReturnType<typeof testCodes>> {
  readonly apply: ReceiptApplier['apply']
  readonly codeOf: (id: string) => Promise<CodeRow | undefined>
  readonly partsOf: (id: string) => Promise<readonly string[]>
  readonly eventsOf: (
    id: string,
  ) => Promise<readonly { readonly type: string; readonly data: Readonly<Record<string, unknown>> }[]>
}

async function testReceipts(t: Test): Promise<Receipts> {
  const codes = await testCodes(t)
  const { read, commit } = codes.database
  const receipts = new ReceiptApplier({ read, commit, clock: () => codes.clock.now, log: codes.log })
  t.teardown(() => receipts.stop())
  return {
    ...codes,
    apply: (receipt) => receipts.apply(receipt),
    codeOf: async (id) => (await read<CodeRow>('select * from sms_codes where id = ?', [id]))[0],
    partsOf: async (id) =>
      (await read<{ state: string }>('select state from sms_parts where sms_id = ? order by part', [id])).map(
        ({ state }) => state,
      ),
    eventsOf: async (id) =>
      (await read<{ type: string; data: string }>('select type, data from events order by seq', []))
        .map(({ type, data }) => ({ type, data: JSON.parse(data) as Record<string, unknown> }))
        .filter(({ data }) => data['sms_id'] === id),
  }
}

const ofPart = (messageId: string, state: Receipt['state']): Receipt => ({
  ...{ provider: 'http', messageIds: [messageId], smsId: null, state },
  reason: 'stat:X',
})
const ofCode = (smsId: string, state: Receipt['state']): Receipt => ({
  ...{ provider: 'http', messageIds: [], smsId, state },
  reason: 'X',
})

let serial = 0

/** A phone that no code was sent to; a code with a message of so many parts. */
async function sendParts(
  app: Receipts,
  count: number,
): Promise<{ readonly id: string; readonly ids: readonly string[] }> {
  serial += 1
  const ids = Array.from({ length: count }, (_, place) => `m${serial}-${place + 1}`)
  app.provider.answer = async () => ({ kind: 'accepted', messageIds: ids })
  const { id } = await sendCode(app, { phone: `+49151${String(serial).padStart(8, '0')}` })
  return { id, ids }
}

t.test('delivered, with its time and one event', async (t) => {
  const app = await testReceipts(t)
  const { id, ids } = await sendParts(app, 1)
  app.clock.now = START + 5_000
  t.equal(await app.apply(ofPart(ids[0] ?? '', 'delivered')), 'applied')
  app.clock.now = START + 9_000
  for (const state of ['delivered', 'failed'] as const) {
    t.equal(await app.apply(ofPart(ids[0] ?? '', state)), 'applied', 'a repeated one, and one that comes later')
    t.equal(await app.apply(ofCode(id, state)), 'applied')
  }
  t.match(await app.codeOf(id), {
    ...{ status: 'pending', delivery: 'delivered', delivered_at: START + 5_000 },
    ...{ failed_at: null, reason: null },
  })
  const [sent, delivered, ...others] = await app.eventsOf(id)
  t.equal(sent?.type, 'sms.sent')
  t.match(delivered, {
    type: 'sms.delivered',
    data: { sms_id: id, country: 'DE', delivered_at: new Date(START + 5_000).toISOString() },
  })
  t.same(others, [])
})

t.test('failed: the code stays valid, and a later "delivered" changes nothing', async (t) => {
  const app = await testReceipts(t)
  const { id, code } = await sendCode(app)
  t.equal(await app.apply(ofCode(id, 'failed')), 'applied')
  t.equal(await app.apply(ofCode(id, 'delivered')), 'applied')
  t.match(await app.codeOf(id), { status: 'pending', delivery: 'failed', reason: 'undelivered', failed_at: START })
  t.same(
    (await app.eventsOf(id)).map(({ type, data }) => [type, data['reason']]),
    [
      ['sms.sent', undefined],
      ['sms.failed', 'undelivered'],
    ],
  )
  t.match(await app.check({ workspaceId: 'ws_1', phone: PHONE, code }), { valid: true })
  const line = app.lines.find(({ msg }) => msg === 'receipt: not delivered')
  t.match(line, { sms_id: id, workspace_id: 'ws_1', reason: 'X' })
  t.notOk(JSON.stringify(app.lines).includes(`"${code}"`))
})

t.test('a receipt never revives a code whose send failed', async (t) => {
  const app = await testReceipts(t)
  app.provider.answer = async () => refused
  await t.rejects(sendCode(app))
  const [{ id } = { id: '' }] = app.messages
  const before = await app.codeOf(id)
  t.match(before, { status: 'void', delivery: 'failed', reason: 'refused' })
  t.equal(await app.apply(ofCode(id, 'delivered')), 'applied')
  t.same(await app.codeOf(id), before)
  t.equal((await app.eventsOf(id)).length, 1)
})

interface Model {
  readonly parts: ('sent' | 'delivered' | 'failed')[]
  delivery: 'sent' | 'delivered' | 'failed'
}

function applyToModel(model: Model, part: number | null, state: 'delivered' | 'failed'): void {
  if (part === null) {
    if (model.delivery !== 'sent') return
    model.delivery = state
    for (const [place, each] of model.parts.entries()) if (each === 'sent') model.parts[place] = state
    return
  }
  if (model.parts[part] !== 'sent') return
  model.parts[part] = state
  if (model.delivery !== 'sent') return
  if (state === 'failed') model.delivery = 'failed'
  else if (model.parts.every((each) => each === 'delivered')) model.delivery = 'delivered'
}

const states = fc.constantFrom('delivered' as const, 'delivered' as const, 'delivered' as const, 'failed' as const)
const sequences = fc.integer({ min: 0, max: 5 }).chain((count) =>
  fc.record({
    count: fc.constant(count),
    receipts: fc.array(
      fc.tuple(
        fc.oneof({ weight: 5, arbitrary: fc.nat(Math.max(0, count - 1)) }, { weight: 1, arbitrary: fc.constant(null) }),
        states,
      ),
      { maxLength: 12 },
    ),
  }),
)

t.test('any receipts, one after the other, leave what the model says', async (t) => {
  const app = await testReceipts(t)
  const outcomes = { sent: 0, delivered: 0, failed: 0 }
  const walk = async ({
    count,
    receipts,
  }: {
    count: number
    receipts: (readonly [number | null, 'delivered' | 'failed'])[]
  }) => {
    const { id, ids } = await sendParts(app, count)
    const model: Model = { parts: ids.map(() => 'sent'), delivery: 'sent' }
    for (const [part, state] of receipts) {
      const messageId = part === null ? undefined : ids[part]
      await app.apply(messageId === undefined ? ofCode(id, state) : ofPart(messageId, state))
      applyToModel(model, messageId === undefined ? null : part, state)
    }
    await checkCode(t, app, id, model)
    outcomes[model.delivery] += 1
  }
  await fc.assert(fc.asyncProperty(sequences, walk))
  t.ok(Math.min(...Object.values(outcomes)) > 20, JSON.stringify(outcomes))
})

async function checkCode(t: Test, app: Receipts, id: string, { parts, delivery }: Model): Promise<void> {
  const code = await app.codeOf(id)
  const events = (await app.eventsOf(id)).map(({ type }) => type)
  const found = { parts: await app.partsOf(id), delivery: code?.delivery, status: code?.status, events }
  const expected = {
    parts,
    delivery,
    status: 'pending',
    events: ['sms.sent', ...(delivery === 'sent' ? [] : [`sms.${delivery}`])],
  }
  if (JSON.stringify(found) !== JSON.stringify(expected)) t.same(found, expected)
  const isTimed =
    (code?.delivered_at !== null) === (delivery === 'delivered') &&
    (code?.failed_at !== null) === (delivery === 'failed')
  if (!isTimed) t.fail(JSON.stringify(code))
}

t.test('receipts of all parts at the same moment', async (t) => {
  const app = await testReceipts(t)
  for (let round = 0; round < 30; round += 1) {
    const { id, ids } = await sendParts(app, 8)
    const twice = [...ids, ...ids].map((messageId) => app.apply(ofPart(messageId, 'delivered')))
    t.same(new Set(await Promise.all(twice)), new Set(['applied']))
    await checkCode(t, app, id, { parts: ids.map(() => 'delivered'), delivery: 'delivered' })
  }
  for (let round = 0; round < 30; round += 1) {
    const { id, ids } = await sendParts(app, 6)
    await Promise.all(
      ids.map((messageId, place) => app.apply(ofPart(messageId, place === round % 6 ? 'failed' : 'delivered'))),
    )
    const parts = ids.map((_, place) => (place === round % 6 ? ('failed' as const) : ('delivered' as const)))
    await checkCode(t, app, id, { parts, delivery: 'failed' })
  }
  t.equal(app.lines.filter(({ level }) => level > 30).length, 0)
})

t.test('a receipt that comes before the answer of the provider is applied after it', async (t) => {
  const app = await testReceipts(t)
  const early: (string | Error)[] = []
  app.provider.answer = async ({ id }) => {
    early.push(await app.apply(ofCode(id, 'delivered')), await app.apply(ofPart('early', 'delivered')))
    return { kind: 'accepted', messageIds: ['early'] }
  }
  const { id } = await sendCode(app)
  t.same(early, ['unknown', 'unknown'])
  t.equal((await app.codeOf(id))?.delivery, 'sent')
  await waitUntil('the early receipt is applied', async () => (await app.codeOf(id))?.delivery === 'delivered')
  t.same(await app.partsOf(id), ['delivered'])
})

t.test('of several ids that a message may have, the first that is known counts', async (t) => {
  const app = await testReceipts(t)
  const known = await sendParts(app, 1)
  const second = await sendParts(app, 1)
  const messageIds = ['unknown', ...known.ids, ...second.ids]
  t.equal(await app.apply({ ...ofPart('', 'delivered'), messageIds }), 'applied')
  t.same([(await app.codeOf(known.id))?.delivery, (await app.codeOf(second.id))?.delivery], ['delivered', 'sent'])
  app.provider.answer = async () => {
    t.equal(await app.apply({ ...ofPart('', 'delivered'), messageIds: ['255', 'ff'] }), 'unknown')
    return { kind: 'accepted', messageIds: ['ff'] }
  }
  const { id } = await sendCode(app)
  await waitUntil('the early receipt is applied', async () => (await app.codeOf(id))?.delivery === 'delivered')
})

t.test('a provider that uses an id again means the newest message', async (t) => {
  const app = await testReceipts(t)
  app.provider.answer = async () => ({ kind: 'accepted', messageIds: ['again'] })
  const older = await sendCode(app)
  app.clock.now = START + 1_000
  const newer = await sendCode(app)
  t.equal(await app.apply(ofPart('again', 'delivered')), 'applied')
  t.same([(await app.codeOf(older.id))?.delivery, (await app.codeOf(newer.id))?.delivery], ['sent', 'delivered'])
  t.equal(await app.apply({ ...ofPart('again', 'failed'), provider: 'smpp' }), 'unknown', "another provider's")
})

t.test('a code that is gone is not waited for', async (t) => {
  const app = await testReceipts(t)
  const { id } = await sendCode(app)
  await app.database.commit([{ sql: 'delete from sms_codes', parameters: [] }])
  t.equal(await app.apply(ofCode(id, 'delivered')), 'unknown')
  t.equal((await app.eventsOf(id)).length, 1)
})

t.test('a fault of the storage is passed on, so that the provider repeats the receipt', async (t) => {
  const app = await testReceipts(t)
  const { id } = await sendCode(app)
  const { read } = app.database
  const full = new StorageFault('SQLITE_FULL', 'the disk is full')
  const receipts = new ReceiptApplier({ read, commit: () => Promise.reject(full), clock: () => START, log: app.log })
  await t.rejects(receipts.apply(ofCode(id, 'delivered')), full)
  t.equal((await app.codeOf(id))?.delivery, 'sent')
})
