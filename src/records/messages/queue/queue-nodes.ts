/** Finds the nodes that have entries in the queue, for walks over the entries of all nodes. */
import { prepareRead, type Read } from '../../../base/storage/db/prepared.js'

/** Reads the next node in one step of an index. */
const nextNodeInQueue = prepareRead<{ after: string }>()(({ db, slot }) =>
  db.selectFrom('queue').select('node').where('node', '>', slot('after')).orderBy('node').limit(1),
)

/** Lists them in order. The first has no name: SQLite has no other, and commands write for it. */
export async function listQueueNodes(read: Read): Promise<readonly string[]> {
  const nodes = ['']
  for (let after = ''; ; ) {
    const [next] = await nextNodeInQueue(read, { after })
    if (next === undefined) return nodes
    after = next.node
    nodes.push(after)
  }
}
