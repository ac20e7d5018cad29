/** An export becomes complete although the daemon is killed again and again while it is written. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import t from 'tap'
import { Agent, request } from 'undici'
import { databaseFile } from '../../src/base/storage/open.js'
import { bulkEmail } from '../helpers/database/bulk.js'
import { openTestDatabase } from '../helpers/database/database.js'
import { openSink } from '../helpers/smtp/scripted-sink.js'
import { waitUntil } from '../helpers/wait-until.js'
import { createReadyInstallation, serve } from './support/program.js'

const KILLS = 2
const EMAILS = 40_000

/** Copies of the one recipient and the one email that are there, under ids and addresses of their own. */
const copies = ['emails', 'recipients'].map((table) => {
  const own: Readonly<Record<string, string>> =
    table === 'emails'
      ? { id: `printf('e%06d', i)`, status: `'delivered'`, created_at: 'created_at + i' }
      : {
          id: `printf('r%06d', i)`,
          email_id: `printf('e%06d', i)`,
          address: `printf('n%d@b.test', i)`,
          status: `'delivered'`,
        }
  return { table, own }
})

t.test('SIGKILL while an export is written: each row is there once', async (t) => {
  const sink = await openSink()
  t.teardown(() => sink.close())
  const prepared = await createReadyInstallation(t, sink.port, '127.0.0.0/8')
  const database = await openTestDatabase(t, { file: databaseFile(prepared.dataDir) })
  const at = Date.now() - 86_400_000
  await database.commit(bulkEmail({ workspaceId: prepared.workspace, to: 'n0@b.test', at }).writes)
  await database.commit([
    { sql: 'delete from queue', parameters: [] },
    ...(await Promise.all(
      copies.map(async ({ table, own }) => {
        const columns = await database.read<{ name: string }>('select name from pragma_table_info(?)', [table])
        const names = columns.map(({ name }) => name)
        const sql = `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${EMAILS - 1})
        insert into ${table} (${names.join()}) select ${names.map((name) => own[name] ?? name).join()}
        from ${table} cross join n`
        return { sql, parameters: [] }
      }),
    )),
  ])
  let daemon = await serve(t, prepared)
  const ca = readFileSync(join(prepared.dataDir, 'tls', 'cert.pem'))
  const agent = new Agent({ connect: { ca, servername: 'localhost' } })
  t.teardown(() => agent.destroy())
  const answer = await request(`https://127.0.0.1:${daemon.apiPort}/v1/exports`, {
    dispatcher: agent,
    method: 'POST',
    headers: { authorization: `Bearer ${prepared.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'email_logs', from_date: '2020-01-01', to_date: '2100-01-01' }),
  })
  t.equal(answer.statusCode, 202)
  const stateOf = async () =>
    (await database.read<{ id: string; status: string; rows: number }>('select id, status, rows from exports', []))[0]
  let before = 0
  for (let kills = 0; kills < KILLS; kills += 1) {
    const state = await waitUntil('it has come further', async () => {
      const now = await stateOf()
      return now !== undefined && (now.rows > before || now.status !== 'processing') && now
    })
    before = state.rows
    daemon.signal('SIGKILL')
    t.equal(await daemon.ended, 'SIGKILL')
    daemon = await serve(t, prepared)
  }
  t.ok(before > 0)
  const done = await waitUntil(
    'it is completed',
    async () => ((await stateOf())?.status === 'completed' ? await stateOf() : false),
    60_000,
  )
  t.equal(done?.rows, EMAILS)
  const chunks = await database.read<{ bytes: Buffer }>('select bytes from export_chunks order by start_at', [])
  const rows = parse(Buffer.concat(chunks.map(({ bytes }) => bytes))) as string[][]
  t.equal(rows.length, EMAILS + 1)
  t.equal(new Set(rows.map((row) => row[3])).size, EMAILS + 1)
})
