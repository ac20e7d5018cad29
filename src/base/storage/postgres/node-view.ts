/** The nodes as commands, pages and metrics show them. */
import { formatTimestamp } from '../../platform/clock.js'
import { isLiving, type NodeRow } from './node-rows.js'

/** `drained` and `draining` are as the operator asked; others adopt a node that is `silent` or `stopped` after a while. */
export const shownStates = ['working', 'draining', 'drained', 'silent', 'stopped'] as const
type ShownState = (typeof shownStates)[number]

interface ShownNode {
  readonly name: string
  readonly state: ShownState
  readonly version: string
  /** Null if the node was adopted because it was silent. */
  readonly last_beat: string | null
  readonly started_at: string
  /** Entries of its queue. */
  readonly entries: number
  readonly leads: boolean
  readonly adopted_by: string | null
}

export function stateOf(node: NodeRow): ShownState {
  if (isLiving(node)) return node.state
  return node.is_held === 0 ? 'stopped' : 'silent'
}

/** An adoption takes the beat of a silent node away. */
export function hasBeat({ last_beat: lastBeat }: Pick<NodeRow, 'last_beat'>): boolean {
  return lastBeat > 0
}

/** `entries` are those of all queues, by node. */
export function showNodes(nodes: readonly NodeRow[], entries: ReadonlyMap<string, number>): readonly ShownNode[] {
  return nodes.map((node) => ({
    name: node.name,
    state: stateOf(node),
    version: node.version,
    last_beat: hasBeat(node) ? formatTimestamp(node.last_beat) : null,
    started_at: formatTimestamp(node.joined_at),
    entries: entries.get(node.name) ?? 0,
    leads: node.leads === 1,
    adopted_by: node.adopted_by,
  }))
}
