import t from 'tap'
import { Refusal } from '../../../src/base/mail/refusal.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { recoverCodes } from '../../../src/workspaces/sms/recover-codes.js'
import type { CodeRow } from '../../../src/workspaces/sms/sms-records.js'
import {
  accepted,
  createTestCodes,
  PHONE,
  refused,
  START,
  sendCode,
  silent,
  type TestCodes,
  testCodes,
  toWrongCode,
} from '../../helpers/sms/test-codes.js'

const codesOf = async ({ read }: Database): Promise<CodeRow[]> =>
  read<CodeRow>('select * from sms_codes order by id', [])
const eventsOf = async ({ read }: Database): Promise<{ type: string; data: string }[]> =>
  read('select type, data from events order by seq', [])

async function refusalOf(work: Promise<unknown>): Promise<Refusal> {
  return work.then(
    () => {
      throw new Error('not refused')
    },
    (error: unknown) => {
      if (error instanceof Refusal) return error
      throw error
    },
  )
}

const checkCode = (codes: TestCodes, code: string) => codes.check({ workspaceId: 'ws_1', phone: PHONE, code })

t.test('an accepted code is valid, and everything of it is stored but the code', async (t) => {
  const codes = await testCodes(t)
  codes.provider.answer = async () => ({ kind: 'accepted', messageIds: ['a', 'b'] })
  const metadata = { user: 'u1' }
  const phone = '+49 (0) 151 234-567.89'
  const template = 'Ihr Code: {code} ({minutes})'
  const sent = await codes.send({ workspaceId: 'ws_1', phone, template, codeLength: 8, expiryMinutes: 5, metadata })
  t.match(sent, { id: /^[0-9a-f-]{36}$/, phone: PHONE, expiresAt: START + 300_000 })
  const [message] = codes.messages
  t.match(message?.text.text, /^Ihr Code: \d{8} \(5\)$/)
  t.match(message, {
    id: sent.id,
    phone: PHONE,
    expiresAt: sent.expiresAt,
    receiptUrl: /\/receipts\/[0-9a-f-]{36}\/token$/,
  })
  const [row] = await codesOf(codes.database)
  t.match(row, {
    ...{ id: sent.id, workspace_id: 'ws_1', phone: PHONE, prefix: '+49151', country: 'DE' },
    ...{ status: 'pending', delivery: 'sent', attempts: 0, reason: null, encoding: 'gsm', segments: 1 },
    ...{ provider: 'http', created_at: START, sent_at: START, metadata: JSON.stringify(metadata) },
  })
  const parts = await codes.database.read('select part, message_id, state, provider, workspace_id from sms_parts', [])
  const part = { state: 'sent', provider: 'http', workspace_id: 'ws_1' }
  t.same(parts, [
    { part: 1, message_id: 'a', ...part },
    { part: 2, message_id: 'b', ...part },
  ])
  const [event] = await eventsOf(codes.database)
  t.same(
    { ...event, data: JSON.parse(event?.data ?? '') },
    {
      type: 'sms.sent',
      data: {
        ...{ sms_id: sent.id, phone: PHONE, country: 'DE', encoding: 'gsm', segments: 1, metadata },
        ...{ sent_at: '2030-01-01T00:00:00.000Z', expires_at: '2030-01-01T00:05:00.000Z' },
      },
    },
  )
  const code = /\d{8}/.exec(message?.text.text ?? '')?.[0] ?? ''
  const everything = JSON.stringify([await codesOf(codes.database), await eventsOf(codes.database), codes.lines])
  t.notMatch(everything, code, 'no record, event or log line has the code')
  t.notMatch(everything, 'Ihr Code', 'nor the text')
  t.same(
    codes.lines.map(({ msg }) => msg),
    ['code sent'],
  )
  t.match(codes.lines[0], {
    sms_id: sent.id,
    workspace_id: 'ws_1',
    phone: PHONE,
    country: 'DE',
    provider: 'http',
    ms: 0,
  })
  t.match(await checkCode(codes, code), { valid: true, status: 'verified' })
})

t.test('the provider gets its deadline, and the code is valid from its answer on', async (t) => {
  const codes = await testCodes(t)
  const first = await sendCode(codes)
  codes.clock.now += 1_000
  let during: unknown
  codes.provider.answer = async (message, deadline) => {
    t.equal(deadline, START + 13_000)
    during = [await checkCode(codes, message.text.text), await checkCode(codes, toWrongCode(first.code))]
    codes.clock.now += 2_000
    return accepted
  }
  const second = await sendCode(codes)
  t.match(during, [{ valid: false }, { valid: false }], 'not before')
  t.same(
    (await codesOf(codes.database)).map(({ status, attempts, sent_at }) => ({ status, attempts, sent_at })),
    [
      { status: 'replaced', attempts: 2, sent_at: START },
      { status: 'pending', attempts: 0, sent_at: START + 3_000 },
    ],
  )
  if (first.code !== second.code) t.match(await checkCode(codes, first.code), { valid: false, status: 'invalid' })
  t.match(await checkCode(codes, second.code), { valid: true })
})

t.test('a failed send leaves the older code valid', async (t) => {
  for (const [outcome, kind] of [
    [refused, 'unavailable'],
    [silent, 'no-answer'],
  ] as const) {
    const codes = await testCodes(t)
    const { code } = await sendCode(codes)
    codes.provider.answer = async () => outcome
    codes.clock.now += 1_000
    const refusal = await refusalOf(sendCode(codes))
    t.equal(refusal.kind, kind)
    t.notMatch(refusal.message + JSON.stringify(refusal.details), outcome.kind === 'accepted' ? '' : outcome.reason)
    t.match(codes.lines.at(-1), { msg: 'code not sent', level: 40, outcome: outcome.kind, reason: /subscriber|answer/ })
    const failed = (await codesOf(codes.database)).at(-1)
    t.match(failed, {
      status: 'void',
      delivery: 'failed',
      reason: outcome.kind,
      failed_at: START + 1_000,
      sent_at: null,
    })
    const event = (await eventsOf(codes.database)).at(-1)
    t.equal(event?.type, 'sms.failed')
    t.match(JSON.parse(event?.data ?? ''), { sms_id: failed?.id, reason: outcome.kind })
    const late = codes.messages.at(-1)?.text.text ?? ''
    if (late !== code)
      t.match(await checkCode(codes, late), { valid: false, status: 'invalid' }, 'the new code never is')
    t.match(await checkCode(codes, code), { valid: true, status: 'verified' })
  }
})

t.test('a provider that breaks its promises is silent', async (t) => {
  const codes = await testCodes(t, { clock: () => Date.now() })
  codes.provider.answer = async ({ text }) => {
    throw new TypeError(`cannot send ${text.text}`)
  }
  t.equal((await refusalOf(sendCode(codes))).kind, 'no-answer')
  const code = codes.messages[0]?.text.text ?? 'none'
  t.match(codes.lines.at(-1)?.['reason'], /TypeError/)
  t.notMatch(JSON.stringify(codes.lines), code)
})

t.test('a provider that never answers is given up', async (t) => {
  const codes = await testCodes(t, {
    // Nearly all of the time has gone by before the provider is asked.
    charger: {
      charge: async () => {
        codes.clock.now += 11_999
        return { writes: [], findRefusal: async () => null }
      },
    },
  })
  codes.provider.answer = () => new Promise(() => undefined)
  t.equal((await refusalOf(sendCode(codes))).kind, 'no-answer')
  t.match(await codesOf(codes.database), [{ status: 'void', reason: 'silent' }])
})

t.test('a provider is not asked when no time is left: the code could not be valid', async (t) => {
  const codes = await testCodes(t, {
    charger: {
      charge: async () => {
        codes.clock.now += 12_000
        return { writes: [], findRefusal: async () => null }
      },
    },
  })
  t.equal((await refusalOf(sendCode(codes))).kind, 'unavailable')
  t.same(codes.messages, [])
  t.match(await codesOf(codes.database), [{ status: 'void', reason: 'refused' }])
})

t.test('without a provider nothing is stored', async (t) => {
  const codes = await testCodes(t, { provider: null })
  t.equal((await refusalOf(sendCode(codes))).kind, 'unavailable')
  t.same(await codesOf(codes.database), [])
})

t.test('numbers and templates at fault are refused before anything is stored', async (t) => {
  const codes = await testCodes(t)
  const request = { workspaceId: 'ws_1', phone: PHONE, codeLength: 6, expiryMinutes: 10, metadata: null }
  const premium = await refusalOf(codes.send({ ...request, phone: '+33899123456', template: undefined }))
  t.match(premium, { kind: 'invalid-parameter', details: { field: 'phone', reason: 'country_not_allowed' } })
  const bare = await refusalOf(codes.send({ ...request, template: 'no placeholder' }))
  t.match(bare, { kind: 'invalid-parameter', details: { field: 'template' } })
  t.same(await codesOf(codes.database), [])
  t.same(codes.messages, [])
  t.match(
    codes.lines.map(({ msg, reason }) => [msg, reason]),
    [
      ['code refused', 'country_not_allowed'],
      ['code refused', 'invalid-parameter'],
    ],
  )
})

t.test('holds and limits refuse before the provider is asked', async (t) => {
  const held = new Refusal('rate-limited', 'held', { reason: 'prefix_held' })
  const codes = await testCodes(t, {
    watch: {
      findHold: async ({ workspaceId, phone, range, prefix, now }) => {
        t.same([workspaceId, phone, range, prefix, now], ['ws_1', PHONE, '+491512345', '+49151', START])
        return held
      },
    },
  })
  t.equal(await refusalOf(sendCode(codes)), held)

  const missing = { sql: 'update sms_codes set attempts = 9', parameters: [], rows: 1 }
  const full = new Refusal('rate-limited', 'full', { reason: 'phone_limit' })
  const limited = createTestCodes(codes.database, {
    charger: { charge: async () => ({ writes: [missing], findRefusal: async () => full }) },
  })
  t.equal(await refusalOf(sendCode(limited)), full)
  let asked = 0
  const lifted = createTestCodes(codes.database, {
    charger: { charge: async () => ({ writes: asked++ === 0 ? [missing] : [], findRefusal: async () => null }) },
  })
  await sendCode(lifted)
  t.equal(asked, 2, 'a limit that has room again when the miss is explained is charged again')
  t.same([codes.messages.length, limited.messages.length, lifted.messages.length], [0, 0, 1])
})

t.test('what is sent is counted in the commit that makes it valid', async (t) => {
  const counted: unknown[] = []
  const codes = await testCodes(t, {
    countSent: (workspaceId, segments, now) => {
      counted.push([workspaceId, segments, now])
      return [{ sql: "insert into service_state values ('sent', '1')", parameters: [] }]
    },
  })
  codes.provider.answer = async () => refused
  await refusalOf(sendCode(codes))
  codes.provider.answer = async () => accepted
  await sendCode(codes)
  t.same(counted, [['ws_1', 1, START]])
  t.equal((await codes.database.read("select * from service_state where key = 'sent'", [])).length, 1)
})

t.test('a deleted workspace sends nothing', async (t) => {
  const codes = await testCodes(t)
  t.equal((await refusalOf(sendCode(codes, { workspaceId: 'ws_gone' }))).kind, 'bad-credentials')
  t.same(codes.messages, [])
})

t.test('workspaces do not see the codes of others', async (t) => {
  const codes = await testCodes(t)
  const one = await sendCode(codes, { workspaceId: 'ws_1' })
  const two = await sendCode(codes, { workspaceId: 'ws_2' })
  if (one.code !== two.code) {
    t.match(await codes.check({ workspaceId: 'ws_2', phone: PHONE, code: one.code }), { valid: false })
  }
  t.match(await codes.check({ workspaceId: 'ws_1', phone: PHONE, code: one.code }), { valid: true })
  t.match(await codes.check({ workspaceId: 'ws_2', phone: PHONE, code: two.code }), { valid: true })
})

t.test('of two sends at the same moment the one that is accepted last is valid', async (t) => {
  const codes = await testCodes(t)
  const releases: (() => void)[] = []
  codes.provider.answer = () => new Promise((resolve) => releases.push(() => resolve(accepted)))
  const first = sendCode(codes)
  while (releases.length < 1) await new Promise(setImmediate)
  codes.clock.now += 5
  const second = sendCode(codes)
  while (releases.length < 2) await new Promise(setImmediate)
  codes.clock.now += 5
  releases[1]?.()
  const newer = await second
  codes.clock.now += 5
  t.match(await checkCode(codes, newer.code), { valid: true }, 'valid until the other one is accepted')
  releases[0]?.()
  const older = await first
  t.match(await checkCode(codes, toWrongCode(older.code)), { valid: false, message: /2 attempts are left/ })
  t.match(await checkCode(codes, older.code), { valid: true }, 'created first, accepted last')
  t.match(await checkCode(codes, older.code), { valid: false, status: 'invalid' })
})

t.test('codes of a sender that died are void after a start', async (t) => {
  const codes = await testCodes(t)
  const { code } = await sendCode(codes)
  let release = (): void => undefined
  codes.provider.answer = () =>
    new Promise((resolve) => {
      release = () => resolve(accepted)
    })
  codes.clock.now += 1_000
  const dying = refusalOf(sendCode(codes))
  while (codes.messages.length < 2) await new Promise(setImmediate)
  const deps = { ...codes.database, log: codes.log }
  t.equal(await recoverCodes(deps, { before: START + 1_000, now: START + 2_000 }), 0, 'too young')
  t.equal(await recoverCodes(deps, { before: START + 1_001, now: START + 2_000 }), 1)
  t.equal(await recoverCodes(deps, { before: START + 1_001, now: START + 2_000 }), 0, 'once')
  const [, row] = await codesOf(codes.database)
  t.match(row, { status: 'void', delivery: 'failed', reason: 'interrupted', failed_at: START + 2_000 })
  t.match(
    (await eventsOf(codes.database)).map(({ type }) => type),
    ['sms.sent', 'sms.failed'],
  )
  release()
  t.equal((await dying).kind, 'unavailable', 'a late answer does not revive it')
  t.equal((await codesOf(codes.database))[1]?.status, 'void')
  t.match(await checkCode(codes, code), { valid: true }, 'the older code is valid')
})
