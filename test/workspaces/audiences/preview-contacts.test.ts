/** How a preview of contacts spends its time: in steps, and on no more lines than it checks. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { MAX_CHECKED, previewContacts } from '../../../src/workspaces/audiences/preview-contacts.js'

const layout = { delimiter: null, hasHeader: true, columns: null }

async function countTurns(
  file: string,
): Promise<{ turns: number; found: Awaited<ReturnType<typeof previewContacts>> }> {
  let isDone = false
  const previewing = previewContacts(Buffer.from(file), layout).finally(() => {
    isDone = true
  })
  let turns = 0
  for (; !isDone; turns += 1) await nextTurn()
  return { turns, found: await previewing }
}

t.test('short lines, of which a few kilobytes have thousands, are checked in steps', async (t) => {
  await countTurns('email\na@b.test\n')
  const few = await countTurns(`email\n${'x\n'.repeat(10)}`)
  const many = await countTurns(`email\n${'x\n'.repeat(4_000)}`)
  t.match(many.found, { total: 4_000, checked: 4_000, refused: 4_000, refusals: { length: 100 } })
  t.ok(many.turns - few.turns >= 16, `${many.turns} turns, and ${few.turns} for ten lines`)
})

t.test('lines beyond those that it checks are counted', async (t) => {
  const { found, turns } = await countTurns(`email\n${'x\n'.repeat(MAX_CHECKED)}${'y\n'.repeat(20_000)}`)
  t.match(found, { total: MAX_CHECKED + 20_000, checked: MAX_CHECKED, refused: MAX_CHECKED })
  t.match(found.refusals.at(-1), { line: 101, field: 'email', value: 'x' })
  t.ok(turns < MAX_CHECKED / 250 + 60, `${turns} turns`)
})
