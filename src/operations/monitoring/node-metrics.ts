/** The nodes on a database of PostgreSQL, as this one sees them. On SQLite there is one daemon, and it has no name. */
import type { NodeRow } from '../../base/storage/postgres/node-rows.js'
import { hasBeat, stateOf } from '../../base/storage/postgres/node-view.js'
import type { QueueCensus } from '../../records/messages/queue/queue-census.js'
import type { Metrics } from './registry.js'

/** Nodes with series. */
const MAX_NODES = 100

interface ReportedNodes {
  readonly countLiving: () => number
  /** Empty on SQLite. */
  readonly listNodes: () => Promise<readonly NodeRow[]>
  readonly readCensus: () => Promise<Pick<QueueCensus, 'nodes'>>
}

export function reportNodes(metrics: Metrics, { countLiving, listNodes, readCensus }: ReportedNodes): void {
  const living = metrics.gauge({
    name: 'posthorn_nodes_living',
    help: 'Daemons that live and work on the database; 1 on SQLite.',
  })
  const byName = { label: 'name', max: MAX_NODES }
  const info = metrics.infoGauge({
    name: 'posthorn_node_info',
    help: 'Nodes on a PostgreSQL database by their state and version; leads is yes or no, adopted_by the name of another node.',
    ...{ labels: ['name', 'state', 'version', 'leads', 'adopted_by'], max: MAX_NODES },
  })
  const silence = metrics.namedGauge({
    name: 'posthorn_node_silence_seconds',
    help: 'Time since the last beat of a node, by the clock of the database server; none of a node that was adopted when it was silent.',
    ...byName,
  })
  const entries = metrics.namedGauge({
    name: 'posthorn_node_queue_entries',
    help: 'Entries of the queue by the node that sends them.',
    ...byName,
  })
  metrics.onScrape(async () => {
    living.set([], countLiving())
    const nodes = await listNodes()
    info.replace(
      nodes.map((node) => [
        ...[node.name, stateOf(node), node.version],
        ...[node.leads === 1 ? 'yes' : 'no', node.adopted_by ?? ''],
      ]),
    )
    silence.replace(nodes.filter(hasBeat).map((node) => [node.name, Math.max(0, node.silence)]))
    if (nodes.length === 0) return
    const counts = (await readCensus()).nodes
    entries.replace(nodes.map(({ name }) => [name, counts.get(name) ?? 0]))
  })
}
