/** How a preview of contacts spends its time: in steps, and on no more lines than it checks. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t, { type Test } from 'tap'
import { parseAddress } from '../../../src/base/mail/address.js'
import type { Database } from '../../../src/base/storage/db/database.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { insertAudience } from '../../../src/workspaces/audiences/audiences.js'
import { insertContact, newContactOf } from '../../../src/workspaces/audiences/contacts.js'
import { importContacts } from '../../../src/workspaces/audiences/import-contacts.js'
import {
  MAX_CHECKED,
  MAX_CHECKED_CELLS,
  MAX_CHECKED_TEXT,
  previewContacts,
} from '../../../src/workspaces/audiences/preview-contacts.js'
import { createDirectJournal } from '../../../src/workspaces/imports/direct-import.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const read = async () => []
const about = { read, workspaceId: 'ws_1', audienceId: 'a', resubscribe: false, now: 0 }
const layout = { delimiter: null, hasHeader: true, columns: null, encoding: null }

async function countTurns(
  file: string,
): Promise<{ turns: number; found: Awaited<ReturnType<typeof previewContacts>> }> {
  let isDone = false
  const previewing = previewContacts(Buffer.from(file), { layout, leaveOut: [], about }).finally(() => {
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

/** The most characters of JSON that are parsed in one turn of the event loop. */
async function findLongestTurn(t: Test, work: () => Promise<unknown>): Promise<number> {
  const { parse } = JSON
  let [now, most] = [0, 0]
  JSON.parse = (text: string, ...more) => {
    now += text.length
    most = Math.max(most, now)
    return parse(text, ...more)
  }
  t.teardown(() => Object.assign(JSON, { parse }))
  let isDone = false
  const working = work().finally(() => {
    isDone = true
  })
  for (; !isDone; now = 0) await nextTurn()
  await working
  JSON.parse = parse
  return most
}

const quote = (cell: string): string => `"${cell.replaceAll('"', '""')}"`
const lists = (length: number): string => `{"a":[${'[],'.repeat(Math.floor(length / 3) - 4)}[]]}`

t.test('a turn parses some kilobytes of metadata, however much the lines and the contacts have', async (t) => {
  const file = (length: number): Buffer =>
    Buffer.from(
      ['email,metadata', ...Array.from({ length: 200 }, (_, n) => `u${n}@b.test,${quote(lists(length))}`)].join('\n'),
    )
  const preview = (bytes: Buffer, found = read) =>
    previewContacts(bytes, { layout, leaveOut: [], about: { ...about, read: found } })
  const most = await findLongestTurn(t, async () => {
    t.match(await preview(file(120_000)), { total: 200, checked: 70, refused: 70 })
    t.match(await preview(file(16_000)), { added: 200 })
    t.match(await preview(file(40_000)), { refused: 200 })
  })
  t.ok(most < 200_000, `${most} characters`)
})

async function createAudience(t: Test, count: number): Promise<Database> {
  const { database } = await temporaryDatabase(t)
  const workspace = "insert into workspaces (id, name, slug, plan, created_at) values ('ws_1', 'w', 'w', 'free', 0)"
  const audience = { id: 'a', workspace_id: 'ws_1', name: 'A', description: null, created_at: 0, updated_at: 0 }
  await database.commit([{ sql: workspace, parameters: [] }, insertAudience(audience)])
  const text = 'x'.repeat(16_000)
  for (let n = 0; n < count; n += 100) {
    const contacts = Array.from({ length: 100 }, (_, at) => ({
      ...newContactOf({ ...about, email: addressOf(n + at) }),
      metadata: toJson({ text: `${n + at}${text}` }),
    }))
    await database.commit(contacts.map((contact) => insertContact(contact)))
  }
  return database
}

const addressOf = (n: number) => parseAddress(`u${n}@b.test`)

t.test('a preview holds what the file says, and not the contacts that it reads', async (t) => {
  const count = 1_500
  const database = await createAudience(t, count)
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const heldBytes = (): number => {
    collect()
    return process.memoryUsage().heapUsed
  }
  const before = heldBytes()
  let [reads, most] = [0, 0]
  const counting: typeof database.read = async (...request) => {
    reads += 1
    if (reads % 5 === 0) most = Math.max(most, heldBytes() - before)
    return database.read(...request)
  }
  const lines = Array.from({ length: count }, (_, n) => `u${n}@b.test,Ann,1`)
  const file = Buffer.from(['email,first_name,plan', ...lines].join('\n'))
  const found = await previewContacts(file, { layout, leaveOut: [], about: { ...about, read: counting } })
  t.match(found, { updated: count, checked: count })
  t.ok(reads >= 30 && most > 0 && most < 12_000_000, `${most} bytes of ${count * 16_000} in ${reads} reads`)
  const turn = await findLongestTurn(t, () =>
    previewContacts(file, { layout, leaveOut: [], about: { ...about, read: database.read } }),
  )
  t.ok(turn < 100_000, `${turn} characters of stored metadata in a turn`)
})

t.test('lines that have the same address are judged as the import judges them', async (t) => {
  const database = await createAudience(t, 100)
  await database.commit([
    { sql: "update contacts set subscribed = 0 where email in ('u1@b.test', 'u2@b.test')", parameters: [] },
  ])
  const pick = <T>(values: readonly T[], n: number): T | undefined => values[n % values.length]
  const lines = Array.from({ length: 3_000 }, (_, n) => {
    const at = (n * 7919) % 130
    const metadata = pick(
      ['', '', quote('{"a":1}'), quote('{"b":{"c":[1]}}'), quote(`{"big":"${'y'.repeat(9_000)}"}`)],
      n * 31 + (n >> 3),
    )
    const address = n % 5 === 0 ? `U${at}@b.test` : `u${at}@b.test`
    return [address, pick(['', 'Ann', 'Bob'], n >> 2), pick(['', 'yes', 'no', 'yes'], n >> 4), metadata].join(',')
  })
  const file = Buffer.from(['email,first_name,subscribed,metadata', ...lines].join('\n'))
  for (const resubscribe of [false, true]) {
    const preview = await previewContacts(file, {
      layout,
      leaveOut: [],
      about: { ...about, resubscribe, read: database.read },
    })
    const request = { workspaceId: 'ws_1', audienceId: 'a', resubscribe, leaveOut: [] }
    const report = await importContacts(
      { ...database, read: database.read, commit: database.commit, clock: () => 1 },
      { ...request, layout: { ...layout, encoding: 'utf-8' } },
      file,
      createDirectJournal(database.read, 'ws_1'),
    )
    t.match(preview, report)
    t.ok(
      report.updated > 100 && report.unchanged > 100 && report.refused > 100,
      JSON.stringify({ ...report, refusals: [] }),
    )
  }
})

t.test('fewer long lines are checked', async (t) => {
  const { found } = await countTurns(`email,text\n${`a@b.test,${'x'.repeat(10_000)}\n`.repeat(1_000)}`)
  t.match(found, { total: 1_000, checked: Math.ceil(MAX_CHECKED_TEXT / 10_008) })
})
