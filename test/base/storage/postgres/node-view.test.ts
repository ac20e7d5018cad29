/** The state of a node as it is shown, and values that an adoption takes away. */
import t from 'tap'
import { showNodes, stateOf } from '../../../../src/base/storage/postgres/node-view.js'
import { nodeRow } from '../../../helpers/database/node-row.js'

t.test('a node that does not live is silent, or has stopped', async (t) => {
  t.equal(stateOf(nodeRow({})), 'working')
  t.equal(stateOf(nodeRow({ state: 'drained' })), 'drained')
  t.equal(stateOf(nodeRow({ silence: 11 })), 'silent')
  t.equal(stateOf(nodeRow({ state: 'drained', is_held: 0 })), 'stopped')
})

t.test('each node has its entries, and one that was adopted has no beat', async (t) => {
  const nodes = [nodeRow({ leads: 1 }), nodeRow({ name: 'two', is_held: 0, last_beat: 0, adopted_by: 'one' })]
  const entries = new Map([
    ['', 7],
    ['one', 3],
  ])
  t.same(showNodes(nodes, entries), [
    {
      ...{ name: 'one', state: 'working', version: '0.1.0', entries: 3, leads: true, adopted_by: null },
      ...{ last_beat: '1970-01-01T00:00:09.000Z', started_at: '1970-01-01T00:00:01.000Z' },
    },
    {
      ...{ name: 'two', state: 'stopped', version: '0.1.0', entries: 0, leads: false, adopted_by: 'one' },
      ...{ last_beat: null, started_at: '1970-01-01T00:00:01.000Z' },
    },
  ])
})
