/** The row of a node, for tests of what is shown of nodes. */
import type { NodeRow } from '../../../src/base/storage/postgres/node-rows.js'

/** A node that lives, but for what is given. */
export function nodeRow(given: Partial<NodeRow>): NodeRow {
  return {
    ...{
      name: 'one',
      state: 'working',
      version: '0.1.0',
      joined_at: 1_000,
      last_beat: 9_000,
      silence: 0.5,
      is_held: 1,
    },
    ...{ adopted_by: null, adopted_at: null, leads: 0, slot: 1, slots: '1' },
    ...given,
  }
}
