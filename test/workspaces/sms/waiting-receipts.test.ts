/** Receipts that wait: when they are tried, when they are dropped, and that a stop ends it all. */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import type { Receipt } from '../../../src/workspaces/sms/provider.js'
import { WaitingReceipts } from '../../../src/workspaces/sms/waiting-receipts.js'

const receipt = (messageId: string): Receipt => ({
  ...{ provider: 'smpp', messageIds: [messageId], smsId: null },
  ...{ state: 'delivered' as const, reason: '' },
})

interface Line {
  readonly fields: unknown
  readonly text: string
}

function openWaiting(
  t: Test,
  tryReceipt: (receipt: Receipt) => Promise<boolean>,
): { waiting: WaitingReceipts; lines: Line[] } {
  const lines: Line[] = []
  const write = (fields: unknown, text?: string): void => void lines.push({ fields, text: text ?? '' })
  const waiting = new WaitingReceipts({ info: write, warn: write }, tryReceipt)
  t.teardown(() => waiting.stop())
  return { waiting, lines }
}

/** Moves the timers on, with a turn of the event loop after each quarter of a second. */
async function pass(seconds: number): Promise<void> {
  for (let quarter = 0; quarter < seconds * 4; quarter += 1) {
    mock.timers.tick(250)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

t.beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'Date'] }))
t.afterEach(() => mock.timers.reset())

t.test('a receipt is tried for a minute, then dropped', async (t) => {
  const begun = Date.now()
  const tries: number[] = []
  const { waiting, lines } = openWaiting(t, async () => {
    tries.push(Date.now() - begun)
    return false
  })
  waiting.add(receipt('a'))
  await pass(120)
  t.same(tries, [250, 750, 1_750, 3_750, 7_750, 15_750, 31_750, 60_000])
  const fields = { provider: 'smpp', message_id: 'a', state: 'delivered', why: 'no message with this id was sent' }
  t.same(lines, [{ fields, text: 'a receipt was dropped' }])
})

t.test('one that is applied is not tried again, and one that fails is', async (t) => {
  const results: readonly (() => boolean)[] = [
    () => false,
    () => {
      throw new Error('the disk is full')
    },
    () => true,
  ]
  let tries = 0
  const { waiting, lines } = openWaiting(t, async () => results[tries++]?.() ?? true)
  waiting.add(receipt('a'))
  await pass(120)
  t.equal(tries, 3)
  t.same(
    lines.map(({ text }) => text),
    ['a receipt cannot be applied now'],
  )
})

t.test('at most 10,000 wait, and a stop drops them', async (t) => {
  let tries = 0
  const { waiting, lines } = openWaiting(t, async () => {
    tries += 1
    return false
  })
  for (let count = 0; count < 10_000; count += 1) waiting.add(receipt(`m${count}`))
  t.equal(lines.length, 0)
  for (let count = 0; count < 500; count += 1) waiting.add(receipt('surplus'))
  t.same(lines.splice(0), [
    { fields: { provider: 'smpp', waiting: 10_000 }, text: 'too many receipts wait: others are dropped' },
  ])
  await pass(1)
  t.equal(tries, 20_000)
  t.same(lines, [{ fields: { dropped: 500 }, text: 'receipts can wait again' }])
  await waiting.stop()
  await pass(120)
  waiting.add(receipt('later'))
  await pass(120)
  t.equal(tries, 20_000)
})
