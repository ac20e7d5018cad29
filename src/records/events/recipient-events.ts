/**
 * Reads the events about one recipient, newest first or oldest first.
 *
 * Recipients come in any order. In one index of all recipients, every event would therefore change a different page,
 * which costs more than the event. A *block* is 131,072 events in a row. The index begins with the block of the log that
 * contains the event. So all writes stay within the pages of the newest block, and a reader looks into one block after the
 * other.
 */
import { sql } from 'kysely'
import { equalsIgnoringCase } from '../../base/storage/db/dialect.js'
import { prepareLongRead, prepareRead, type Read } from '../../base/storage/db/prepared.js'
import { waitForStep } from '../../base/storage/db/stepped-walk.js'
import type { EventType } from '../../base/storage/tables/email-tables.js'

/** The values of `seq` in a block, the same as in the index (`storage/schema/events.ts`). */
const BLOCK_SIZE = 131_072
/** The most blocks that one step looks into. */
const BLOCK_STEP = 100

/** The order of `seq`: `desc` is newest first. */
export type Order = 'asc' | 'desc'

interface RecipientPage {
  readonly workspaceId: string
  /** Upper and lower case are equal. */
  readonly recipient: string
  readonly types: readonly EventType[]
  /** The range of `seq`: the first value is inside, the second outside. */
  readonly from: number
  readonly before: number
  readonly order: Order
  readonly limit: number
}

interface SeqRow {
  readonly seq: number
}

/** Returns up to `limit` events. `from` and `before` may lie in the log or next to it. */
export async function firstOfRecipient(read: Read, page: RecipientPage): Promise<readonly SeqRow[]> {
  const newest = blockOf(page.before - 1)
  const oldest = blockOf(page.from)
  const found: SeqRow[] = []
  for (let passed = 0; passed <= newest - oldest && found.length < page.limit; passed += 1) {
    found.push(
      ...(await readBlock(read, { ...page, block: page.order === 'desc' ? newest - passed : oldest + passed })),
    )
    if (passed % BLOCK_STEP === BLOCK_STEP - 1) await waitForStep()
  }
  return found.slice(0, page.limit)
}

function blockOf(seq: number): number {
  return Math.floor(seq / BLOCK_SIZE)
}

type BlockPage = RecipientPage & { readonly block: number }

/** Reads events in their order. */
async function readBlock(read: Read, { types, order, ...page }: BlockPage): Promise<readonly SeqRow[]> {
  if ((await anyInBlock(read, page)).length === 0) return []
  const found = (await Promise.all(types.map(async (type) => seqsInBlock[order](read, { ...page, type })))).flat()
  return found.sort((one, other) => (order === 'desc' ? other.seq - one.seq : one.seq - other.seq))
}

type BlockKey = Pick<BlockPage, 'workspaceId' | 'recipient' | 'block'>

const isInBlock = ({ slot }: { readonly slot: (name: 'block') => number }) =>
  sql<boolean>`"seq" / ${sql.lit(BLOCK_SIZE)} = ${slot('block')}`

const anyInBlock = prepareLongRead<BlockKey>()((builder) =>
  builder.db
    .selectFrom('events')
    .select('seq')
    .where(isInBlock(builder))
    .where('workspace_id', '=', builder.slot('workspaceId'))
    .where(equalsIgnoringCase('recipient', builder.slot('recipient')))
    .limit(1),
)

type BlockType = BlockKey & Pick<BlockPage, 'from' | 'before' | 'limit'> & { readonly type: EventType }

const seqsInBlock = { asc: prepareSeqsInBlock('asc'), desc: prepareSeqsInBlock('desc') } as const

function prepareSeqsInBlock(order: Order) {
  return prepareRead<BlockType>()((builder) =>
    builder.db
      .selectFrom('events')
      .select('seq')
      .where(isInBlock(builder))
      .where('workspace_id', '=', builder.slot('workspaceId'))
      .where(equalsIgnoringCase('recipient', builder.slot('recipient')))
      .where('type', '=', builder.slot('type'))
      .where('seq', '>=', builder.slot('from'))
      .where('seq', '<', builder.slot('before'))
      .orderBy('seq', order)
      .limit(builder.slot('limit')),
  )
}
