/** Whose turn it is, and what a workspace or failing endpoints may hold. */
import t from 'tap'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { paceAfterFailure } from '../../../src/workspaces/webhooks/endpoint-pace.js'
import { FairTurns } from '../../../src/workspaces/webhooks/fair-turns.js'
import { WebhookLane } from '../../../src/workspaces/webhooks/webhook-lane.js'
import type { Webhook } from '../../../src/workspaces/webhooks/webhook-records.js'

function buildWebhook(id: string, workspaceId: string): Webhook {
  return {
    id,
    workspace_id: workspaceId,
    url: 'https://a.test/',
    events: toJson(['email.sent'] as const),
    enabled: 1,
    disabled_reason: null,
    secret: 'whsec_AAAA',
    previous_secret: null,
    previous_secret_until: null,
    event_cursor: 0,
    failing_since: null,
    replay_day: 0,
    replayed: 0,
    created_at: 0,
    updated_at: 0,
    format: 'posthorn',
    content: 'none',
    headers: null,
    login: null,
    verification_key: null,
    verification_secret: null,
  }
}

function createLanes(...names: readonly (readonly [id: string, workspace: string])[]): readonly WebhookLane[] {
  const state = { cursors: new Map([[0, 0]]), nextDue: Number.POSITIVE_INFINITY }
  return names.map(([id, workspace]) => new WebhookLane(buildWebhook(id, workspace), '', state))
}

function takeAll(turns: FairTurns): { readonly ids: readonly string[]; readonly ends: readonly (() => void)[] } {
  const ids: string[] = []
  const ends: (() => void)[] = []
  while (turns.hasTurn) {
    const lane = turns.next()
    if (lane === null) continue
    ids.push(lane.ref.id)
    ends.push(turns.begin(lane))
  }
  return { ids, ends }
}

t.test('turns go round the workspaces, then round the webhooks of each', async (t) => {
  const turns = new FairTurns()
  for (const lane of createLanes(['a1', 'a'], ['a2', 'a'], ['a3', 'a'], ['b1', 'b'])) turns.add(lane)
  const { ids } = takeAll(turns)
  t.same(ids.slice(0, 8), ['a1', 'b1', 'a2', 'b1', 'a3', 'b1', 'a1', 'b1'])
})

t.test('slots are left for one more workspace, however many have slow endpoints', async (t) => {
  for (const [busy, each] of [
    [1, 192],
    [2, 109],
    [10, 24],
    [40, 6],
  ] as const) {
    const turns = new FairTurns()
    const names = Array.from({ length: busy + 1 }, (_, at): readonly [string, string] => [`h${at}`, `w${at}`])
    const [next, ...lanes] = createLanes(...names)
    if (next === undefined) throw new Error('no lanes')
    for (const lane of lanes) turns.add(lane)
    const { ids } = takeAll(turns)
    const counts = lanes.map(({ ref }) => ids.filter((id) => id === ref.id).length)
    t.ok(Math.max(...counts) - Math.min(...counts) <= 1 && Math.min(...counts) >= each, `${counts.join()}`)
    turns.add(next)
    t.ok(takeAll(turns).ids.length >= 2, `${busy} workspaces have left slots`)
    t.ok(turns.running <= 256)
  }
})

t.test('one workspace leaves a quarter of the slots to others', async (t) => {
  const turns = new FairTurns()
  const [one, other] = createLanes(['a1', 'a'], ['b1', 'b'])
  if (one === undefined || other === undefined) throw new Error('no lanes')
  turns.add(one)
  const { ends } = takeAll(turns)
  t.equal(ends.length, 192)
  turns.add(other)
  t.equal(turns.next(), other)
  ends[0]?.()
  turns.remove(other)
  t.equal(turns.next(), one, 'a lane that waits goes on when an attempt has ended')
})

t.test('endpoints that fail hold a quarter of the slots at most', async (t) => {
  const turns = new FairTurns()
  const names = Array.from({ length: 100 }, (_, at): readonly [string, string] => [`h${at}`, `w${at}`])
  const lanes = createLanes(...names)
  for (const lane of lanes) {
    lane.pace = paceAfterFailure(lane.pace, 0, 1)
    turns.add(lane)
  }
  const begun = new Set<string>()
  const ends: (() => void)[] = []
  while (turns.hasTurn) {
    const lane = turns.next()
    if (lane === null) continue
    turns.remove(lane)
    begun.add(lane.ref.id)
    ends.push(turns.begin(lane))
  }
  t.equal(begun.size, 64)
  for (const end of ends) end()
  t.equal(takeAll(turns).ids.length > 0, true, 'then those that waited')
  t.ok(turns.running <= 64)
})

t.test('the workspaces of one owner have the turns and slots of one', async (t) => {
  const owners = new Map([
    ['a', 'anna'],
    ['b', 'anna'],
  ])
  const turns = new FairTurns((workspaceId) => owners.get(workspaceId) ?? workspaceId)
  const lanes = createLanes(['a1', 'a'], ['b1', 'b'], ['c1', 'c'])
  for (const lane of lanes) turns.add(lane)
  const { ids } = takeAll(turns)
  t.same(ids.slice(0, 6), ['a1', 'c1', 'b1', 'c1', 'a1', 'c1'])
  const ofOther = ids.filter((id) => id === 'c1').length
  t.ok(Math.abs(ids.length - 2 * ofOther) <= 1, 'half of the slots, as beside one other workspace')
  // Given away while its lane is among those that are ready.
  const [first] = lanes
  if (first === undefined) return
  turns.add(first)
  owners.set('a', 'ben')
  turns.remove(first)
  for (const lane of lanes) turns.remove(lane)
  t.equal(turns.hasTurn, false, 'none stays behind')
})
