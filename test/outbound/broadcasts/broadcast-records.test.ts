/** Every change of state against every state: which takes place, and what it leaves behind. */
import t from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import { uuidv7 } from '../../../src/base/platform/ids.js'
import { tryCommit, type Write } from '../../../src/base/storage/db/write.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import {
  advanceCursor,
  type Broadcast,
  broadcastById,
  cancelBroadcast,
  changeDraft,
  type DraftColumns,
  finishBroadcast,
  finishCancelled,
  insertDraft,
  markSending,
  pauseBroadcast,
  removeBroadcast,
  resumeBroadcast,
  scheduleDraft,
  startScheduled,
} from '../../../src/outbound/broadcasts/broadcast-records.js'
import { insertAudience } from '../../../src/workspaces/audiences/audiences.js'
import { insertContact, newContactOf } from '../../../src/workspaces/audiences/contacts.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const { database } = await temporaryDatabase(t)
const { read, commit } = database
const workspaceId = 'ws_a'
const audienceId = uuidv7(1)
const START = 1_000_000

const content: DraftColumns = {
  name: 'news',
  audience_id: audienceId,
  sender: toJson({ address: parseAddress('news@a.test'), name: '' }),
  reply_to: toJson([]),
  subject: 'hello',
  html: null,
  text: 'hello',
  template_id: null,
  blocks: null,
}

type State = Broadcast['status'] | 'cancelled and finished' | 'sending and expanded'

/** A broadcast in this state, with version 7. */
async function inState(state: State): Promise<Broadcast> {
  const id = uuidv7(START)
  await commit([insertDraft({ ...content, id, workspaceId, now: START })])
  const [status = '', more = ''] = state.split(' and ')
  const finished = status === 'sent' || more === 'finished' ? START + 2 : null
  const sql = `update broadcasts set status = ?, finished_at = ?, expanded = ?, scheduled_for = ?, version = 7,
    cursor = 'c', waits_until = 1, note = 'n' where id = ?`
  await commit([{ sql, parameters: [status, finished, more === 'expanded' ? 1 : 0, START + 100, id] }])
  return (await broadcastById(read, { workspaceId, id }))[0] as Broadcast
}

const states: readonly State[] = [
  'draft',
  'scheduled',
  'sending',
  'sending and expanded',
  'paused',
  'sent',
  'cancelled',
  'cancelled and finished',
]

interface Change {
  readonly write: (row: Broadcast) => Write
  readonly takesPlaceIn: readonly State[]
  readonly leaves: Partial<Broadcast> | null
}

const now = START + 200
const refOf = ({ id }: Broadcast) => ({ workspaceId, id })
const forgotten = { waits_until: null, note: null }

const changes: Readonly<Record<string, Change>> = {
  changeDraft: {
    write: (row) => changeDraft({ ...content, ...refOf(row), name: 'new', version: 7, now }),
    takesPlaceIn: ['draft'],
    leaves: { name: 'new', status: 'draft', version: 8, updated_at: now },
  },
  removeBroadcast: {
    write: (row) => removeBroadcast({ ...refOf(row), version: 7 }),
    takesPlaceIn: ['draft', 'scheduled', 'sent', 'cancelled and finished'],
    leaves: null,
  },
  scheduleDraft: {
    write: (row) => scheduleDraft({ ...refOf(row), version: 7, keyId: 'k', at: START + 300, now }),
    takesPlaceIn: ['draft'],
    leaves: { status: 'scheduled', scheduled_for: START + 300, key_id: 'k', started_at: null, ceiling: '', version: 8 },
  },
  markSending: {
    write: (row) => markSending({ ...refOf(row), version: 7, keyId: 'k', now }),
    takesPlaceIn: ['draft'],
    leaves: { status: 'sending', started_at: now, key_id: 'k', version: 8 },
  },
  startScheduled: {
    write: (row) => startScheduled({ ...refOf(row), now }),
    takesPlaceIn: ['scheduled'],
    leaves: { status: 'sending', started_at: now, version: 8 },
  },
  'startScheduled before its time': {
    write: (row) => startScheduled({ ...refOf(row), now: START + 99 }),
    takesPlaceIn: [],
    leaves: {},
  },
  pauseBroadcast: {
    write: (row) => pauseBroadcast({ ...refOf(row), note: 'why', now }),
    takesPlaceIn: ['sending', 'sending and expanded'],
    leaves: { status: 'paused', note: 'why', waits_until: null, cursor: 'c', version: 8 },
  },
  resumeBroadcast: {
    write: (row) => resumeBroadcast({ ...refOf(row), now }),
    takesPlaceIn: ['paused'],
    leaves: { ...forgotten, status: 'sending', cursor: 'c', version: 8 },
  },
  cancelBroadcast: {
    write: (row) => cancelBroadcast({ ...refOf(row), now }),
    takesPlaceIn: ['scheduled', 'sending', 'sending and expanded', 'paused'],
    leaves: { ...forgotten, status: 'cancelled', version: 8 },
  },
  finishBroadcast: {
    write: (row) => finishBroadcast({ ...refOf(row), now }),
    takesPlaceIn: ['sending and expanded'],
    leaves: { ...forgotten, status: 'sent', finished_at: now, version: 8 },
  },
  finishCancelled: {
    write: (row) => finishCancelled({ ...refOf(row), now }),
    takesPlaceIn: ['cancelled'],
    leaves: { status: 'cancelled', finished_at: now, version: 8 },
  },
  advanceCursor: {
    write: (row) => advanceCursor({ ...refOf(row), from: 'c', to: 'd', expanded: 1, waitsUntil: 5, note: 'full' }),
    takesPlaceIn: ['sending', 'sending and expanded'],
    leaves: { cursor: 'd', expanded: 1, waits_until: 5, note: 'full', version: 7 },
  },
  'advanceCursor from another place': {
    write: (row) => advanceCursor({ ...refOf(row), from: 'b', to: 'd', expanded: 0, waitsUntil: null, note: null }),
    takesPlaceIn: [],
    leaves: {},
  },
}

for (const [name, { write, takesPlaceIn, leaves }] of Object.entries(changes)) {
  t.test(name, async (t) => {
    for (const state of states) {
      const row = await inState(state)
      const foreign = write({ ...row, workspace_id: 'ws_b' })
      const elsewhere = {
        ...foreign,
        parameters: foreign.parameters.map((one) => (one === workspaceId ? 'ws_b' : one)),
      }
      t.equal(await tryCommit(commit([elsewhere])), false, `${state}: never in another workspace`)
      t.equal(await tryCommit(commit([write(row)])), takesPlaceIn.includes(state), state)
      const [after] = await broadcastById(read, refOf(row))
      if (!takesPlaceIn.includes(state)) t.same(after, row, `${state}: nothing has changed`)
      else if (leaves === null) t.equal(after, undefined)
      else t.match(after, leaves)
    }
  })
}

t.test('a change of a draft that was read before another change misses', async (t) => {
  const row = await inState('draft')
  const stale = { ...refOf(row), version: 6, keyId: null, now }
  for (const write of [
    changeDraft({ ...content, ...stale }),
    markSending(stale),
    scheduleDraft({ ...stale, at: now }),
    removeBroadcast(stale),
  ]) {
    t.equal(await tryCommit(commit([write])), false)
  }
})

t.test('the ceiling is the newest contact of the audience at the start', async (t) => {
  await commit([
    insertAudience({
      id: audienceId,
      workspace_id: workspaceId,
      name: 'a',
      description: null,
      created_at: 1,
      updated_at: 1,
    }),
  ])
  const add = async (address: string, audience: string | null, at: number): Promise<string> => {
    const contact = newContactOf({ workspaceId, audienceId: audience, email: parseAddress(address), now: at })
    await commit([insertContact(contact)])
    return contact.id
  }
  await add('a@b.test', audienceId, 10)
  const newest = await add('b@b.test', audienceId, 20)
  await add('c@b.test', null, 30)
  for (const [state, write] of [
    ['draft', changes['markSending']],
    ['scheduled', changes['startScheduled']],
  ] as const) {
    const row = await inState(state)
    if (write !== undefined) await commit([write.write(row)])
    t.equal((await broadcastById(read, refOf(row)))[0]?.ceiling, newest)
  }
})

t.test('a broadcast is finished by its cancellation only if it has not started', async (t) => {
  for (const [state, finished] of [
    ['scheduled', now],
    ['sending', null],
    ['paused', null],
  ] as const) {
    const row = await inState(state)
    await commit([cancelBroadcast({ ...refOf(row), now })])
    t.equal((await broadcastById(read, refOf(row)))[0]?.finished_at, finished, state)
  }
})

t.test('it does not end while an entry of it is in the queue', async (t) => {
  for (const [state, write] of [
    ['sending and expanded', finishBroadcast],
    ['cancelled', finishCancelled],
  ] as const) {
    const row = await inState(state)
    const sql = `insert into queue (id, email_id, workspace_id, recipient, domain, priority, attempts, enqueued_at,
      next_attempt_at, leased, held, noticed, broadcast_id) values (?, 'e', ?, 'a@b.test', 'b.test', 2, 0, 1, 1, 0, 0, 0, ?)`
    await commit([{ sql, parameters: [row.id, workspaceId, row.id] }])
    t.equal(await tryCommit(commit([write({ ...refOf(row), now })])), false, state)
    await commit([{ sql: 'delete from queue where id = ?', parameters: [row.id] }])
    t.equal(await tryCommit(commit([write({ ...refOf(row), now })])), true)
  }
})
