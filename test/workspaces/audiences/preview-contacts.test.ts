/** How a preview of contacts spends its time: in steps, and on no more lines than it checks. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { ContactPlan } from '../../../src/workspaces/audiences/contact-plan.js'
import { MAX_CHECKED, MAX_CHECKED_CELLS, previewContacts } from '../../../src/workspaces/audiences/preview-contacts.js'

const read = async () => []
const about = { read, workspaceId: 'ws_1', audienceId: 'a', resubscribe: false, now: 0 }
const layout = { delimiter: null, hasHeader: true, columns: null }

async function countTurns(
  file: string,
): Promise<{ turns: number; found: Awaited<ReturnType<typeof previewContacts>> }> {
  let isDone = false
  const previewing = previewContacts(Buffer.from(file), { layout, leaveOut: [], plan: new ContactPlan(about) }).finally(
    () => {
      isDone = true
    },
  )
  let turns = 0
  for (; !isDone; turns += 1) await nextTurn()
  return { turns, found: await previewing }
}

t.test('short lines, of which a few kilobytes have thousands, are checked in steps', async (t) => {
  await countTurns('email\na@b.test\n')
  const few = await countTurns(`email\n${'x\n'.repeat(10)}`)
  const many = await countTurns(`email\n${'x\n'.repeat(4_000)}`)
  t.match(many.found, { total: 4_000, checked: 4_000, refused: 4_000, refusals: { length: 100 } })
  t.ok(many.turns - few.turns >= 15, `${many.turns} turns, and ${few.turns} for ten lines`)
})

t.test('lines beyond those that it checks are counted', async (t) => {
  const { found, turns } = await countTurns(`email\n${'x\n'.repeat(MAX_CHECKED)}${'y\n'.repeat(20_000)}`)
  t.match(found, { total: MAX_CHECKED + 20_000, checked: MAX_CHECKED, refused: MAX_CHECKED })
  t.match(found.refusals.at(-1), { line: 101, field: 'email', value: 'x' })
  t.ok(turns < MAX_CHECKED / 250 + 60, `${turns} turns`)
})

t.test('fewer lines of a wide file are checked', async (t) => {
  const columns = 200
  const header = ['email', ...Array.from({ length: columns - 1 }, (_, n) => `c${n}`)].join(',')
  const { found } = await countTurns(`${header}\n${`a@b.test${',1'.repeat(columns - 1)}\n`.repeat(4_000)}`)
  t.match(found, {
    total: 4_000,
    checked: MAX_CHECKED_CELLS / columns,
    added: 1,
    unchanged: MAX_CHECKED_CELLS / columns - 1,
  })
})

t.test('equal refusals are counted together, whatever their number', async (t) => {
  const { found } = await countTurns(`email\n${'x\n'.repeat(600)}a@b.test\n${'\u200b@b.test\n'.repeat(2)}`)
  t.match(found, { refused: 602, added: 1, refusals: { length: 100 } })
  t.match(found.refusal_reasons, [
    { field: 'email', count: 600, lines: [2, 3, 4, 5, 6], value: 'x' },
    { field: 'email', count: 2, lines: [603, 604] },
  ])
})
