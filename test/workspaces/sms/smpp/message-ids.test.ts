/** Ids of receipts in other notations than those of responses. */
import t from 'tap'
import { MessageIds } from '../../../../src/workspaces/sms/smpp/message-ids.js'

t.test('a recent id is found in any notation', async (t) => {
  const cases: readonly (readonly [response: string, receipt: string])[] = [
    ['a1-b2', 'a1-b2'],
    ['abc1', '43969'],
    ['ABC1', '0000043969'],
    ['0000ABC1', '43969'],
    ['43969', 'ABC1'],
    ['43969', '0000abc1'],
    ['0043969', '43969'],
    ['43969', '0000043969'],
    ['ABC1', 'abc1'],
    ['ffffffffffffffff', '18446744073709551615'],
  ]
  for (const [response, receipt] of cases) {
    const ids = new MessageIds()
    ids.recordId(response)
    t.same(ids.listCandidates(receipt), [response], `${receipt} for ${response}`)
  }
})

t.test('the receipt of a recent message is never taken for another one', async (t) => {
  const ids = new MessageIds()
  for (let id = 1; id <= 40; id += 1) ids.recordId(String(id))
  for (let id = 1; id <= 40; id += 1) t.same(ids.listCandidates(String(id)), [String(id)])
  t.same(ids.listCandidates('99'), ['99'], 'ids are known to be written alike')
})

t.test('for older messages the id itself comes first', async (t) => {
  const ids = new MessageIds()
  t.same(ids.listCandidates('255'), ['255', 'ff', 'FF', '000000ff', '000000FF', '597', '00000255'])
  t.same(ids.listCandidates('00ff'), ['00ff', '255', 'ff', 'FF', '000000ff', '000000FF'])
  t.same(ids.listCandidates('a-b'), ['a-b'])
  t.same(ids.listCandidates('9'.repeat(41)), ['9'.repeat(41)])
})

t.test('the oldest ids are forgotten', async (t) => {
  const ids = new MessageIds(2)
  for (const id of ['f1', 'f2', 'f3']) ids.recordId(id)
  t.same(ids.listCandidates('243'), ['f3'])
  t.ok(ids.listCandidates('241').length > 1)
})
