/** Lanes that are set aside until what they wait for is over. */
import t from 'tap'
import type { DomainName } from '../../../../src/base/mail/address.js'
import { type Block, type Lane, LaneRound } from '../../../../src/outbound/delivery/queue/lane-round.js'
import { bulkEmail } from '../../../helpers/database/bulk.js'

function lane(domain: string): Lane {
  const { entries } = bulkEmail({ workspaceId: 'ws_1', to: `r@${domain}`, at: 0 })
  const name = domain as DomainName
  return { workspaceId: 'ws_1', domain: name, priority: 1, entries: [...entries], hasMore: false, host: domain }
}

/** Domains below `busy.test` share one host, which is busy while `isBusy`. */
function world() {
  const state = { isBusy: true, judged: 0 }
  const block: Block = { key: 'busy', isOver: () => !state.isBusy }
  const judge = {
    isAllowed: () => true,
    findBlock: ({ domain }: { readonly domain: string }) => {
      state.judged += 1
      return state.isBusy && domain.endsWith('busy.test') ? block : null
    },
  }
  return { round: new LaneRound(), judge, state }
}

t.test('lanes of a busy host are judged once, and the first of them comes first again', async (t) => {
  const { round, judge, state } = world()
  for (let n = 0; n < 1000; n += 1) round.add(lane(`d${n}.busy.test`))
  t.ok(round.hasReady())
  t.equal(round.findNext(judge), undefined)
  t.notOk(round.hasReady(), 'nothing waits that could start but for its turn')
  t.equal(state.judged, 1000)
  round.add(lane('free.test'))
  for (let n = 0; n < 100; n += 1) t.equal(round.findNext(judge)?.domain, 'free.test')
  t.equal(state.judged, 1100)

  state.isBusy = false
  t.equal(round.findNext(judge)?.domain, 'd0.busy.test', 'it has waited for longest')
  t.equal(state.judged, 1102)
  round.add(lane('d0.busy.test'))
  t.equal(round.findNext(judge)?.domain, 'd1.busy.test', 'then it is the turn of the next')
  for (let n = 1; n < 1000; n += 1) round.delete(`d${n}.busy.test`)
  t.equal(round.findNext(judge)?.domain, 'free.test')
  t.equal(round.size, 2)
})

t.test('a lane whose first entry has changed is judged again', async (t) => {
  const { round, judge } = world()
  const one = lane('d.busy.test')
  round.add(one)
  t.equal(round.findNext(judge), undefined)
  one.entries.unshift(...lane('free.test').entries)
  t.equal(round.findNext(judge), undefined)
  round.recheck(one)
  t.equal(round.findNext(judge), one)
  round.recheck(one)
  t.equal(round.size, 1, 'one that is not set aside stays as it is')
})

t.test('those that wait for something else by now are set aside with it', async (t) => {
  const { round } = world()
  const keys = new Map([
    ['a.test', 'one'],
    ['b.test', 'one'],
  ])
  const over = new Set<string>()
  const findBlock = ({ domain }: { readonly domain: string }): Block | null => {
    const key = keys.get(domain) ?? 'none'
    return over.has(key) ? null : { key, isOver: () => over.has(key) }
  }
  const judge = { isAllowed: () => true, findBlock }
  round.add(lane('a.test'))
  round.add(lane('b.test'))
  t.equal(round.findNext(judge), undefined)
  keys.set('a.test', 'two')
  over.add('one')
  t.equal(round.findNext(judge)?.domain, 'b.test')
  over.add('two')
  t.equal(round.findNext(judge)?.domain, 'a.test')
})
