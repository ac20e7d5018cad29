/** The nodes as metrics, which come and go with them. */
import t from 'tap'
import type { NodeRow } from '../../../src/base/storage/postgres/node-rows.js'
import { reportNodes } from '../../../src/operations/monitoring/node-metrics.js'
import { createMetrics } from '../../../src/operations/monitoring/registry.js'
import { nodeRow } from '../../helpers/database/node-row.js'
import { parseMetrics } from '../../helpers/parse-metrics.js'

t.test('nodes are shown while they are known', async (t) => {
  let nodes: readonly NodeRow[] = []
  let censuses = 0
  const metrics = createMetrics((error) => t.fail(String(error)))
  reportNodes(metrics, {
    countLiving: () => Math.max(1, nodes.length),
    listNodes: async () => nodes,
    readCensus: async () => {
      censuses += 1
      return { nodes: new Map([['one', 7]]) }
    },
  })
  const scrape = async (): Promise<Record<string, number>> =>
    Object.fromEntries(parseMetrics(await metrics.render()).samples.map(({ series, value }) => [series, value]))
  t.same(await scrape(), { posthorn_nodes_living: 1 }, 'as on SQLite')
  t.equal(censuses, 0)
  nodes = [
    nodeRow({ leads: 1, silence: -0.1 }),
    nodeRow({ name: 'two', version: '0.2.0', is_held: 0, last_beat: 0, silence: 2e9, adopted_by: 'one' }),
  ]
  t.same(await scrape(), {
    posthorn_nodes_living: 2,
    'posthorn_node_info{name="one",state="working",version="0.1.0",leads="yes",adopted_by=""}': 1,
    'posthorn_node_info{name="two",state="stopped",version="0.2.0",leads="no",adopted_by="one"}': 1,
    'posthorn_node_silence_seconds{name="one"}': 0,
    'posthorn_node_queue_entries{name="one"}': 7,
    'posthorn_node_queue_entries{name="two"}': 0,
  })
  nodes = nodes.slice(0, 1)
  t.equal(Object.keys(await scrape()).length, 4)
})
